"""``eightfold campaign`` as a person uses it: begun, stopped in every way, resumed, repeated."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from eightfold.campaign.records import digest_of
from eightfold.common.files import IMPORT_ROOT
from tests.support.command import Call, printed, refusal

SMALL = ("run", "operators", "--operators", "RELU", "--cases", "12")
LONG = ("run", "operators", "--operators", "ADD,RELU", "--cases", "700")  # 8 units of half a second

pytestmark = pytest.mark.slow


def start(
    *words: str,
    variables: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
    group: str = "campaign",
) -> subprocess.Popen[str]:
    """Start a command of its own process group."""
    return subprocess.Popen(
        [sys.executable, "-m", "eightfold.cli.main", group, *words],
        env={**os.environ, "PYTHONPATH": str(IMPORT_ROOT), **(variables or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=before,
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a command; return its status and what it printed."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def command(*words: str, **options) -> tuple[int, str, str]:
    """Run a command to its end; one that starts no workers can be called in this process."""
    return end(start(*words, **options))


def query(folder: Path, text: str) -> list[tuple]:
    """Return rows of a campaign's database."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as connection:
        return connection.execute(text).fetchall()


def start_and_wait(folder: Path) -> subprocess.Popen[str]:
    """Start a long campaign, and wait until some of its units have ended, and not all."""
    process = start(*LONG, "--out", str(folder))
    while process.poll() is None:
        with suppress(sqlite3.Error):
            if query(folder, "SELECT COUNT(*) FROM units WHERE state = 'done'")[0][0] >= 2:
                return process
        time.sleep(0.05)
    pytest.fail("it ended before")


def outcomes(folder: Path) -> dict[str, str]:
    """Return what every unit gave, without time and place."""
    return dict(query(folder, "SELECT record, digest FROM units WHERE state = 'done'"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a campaign that nobody has stopped."""
    folder = tmp_path_factory.mktemp("whole") / "campaign"
    status, _, err = command(*LONG, "--out", str(folder))
    assert (status, err) == (0, "")
    assert query(folder, "SELECT verdict, COUNT(*) FROM cases") == [("passed", 1400)]
    return folder


def test_ctrl_c_leaves_a_folder_that_resumes(tmp_path: Path, whole: Path) -> None:
    folder = tmp_path / "campaign"
    process = start_and_wait(folder)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to workers as well
    advice = f"eightfold campaign resume {folder} goes on"
    assert end(process) == (130, "", f"eightfold: interrupted; {advice}\n")
    assert 0 < len(outcomes(folder)) < 8
    status, _, err = command("resume", str(folder))
    assert (status, err) == (0, "")
    assert outcomes(folder) == outcomes(whole)
    assert query(folder, "SELECT COUNT(*) FROM cases") == [(1400,)]
    ends = [why for (why,) in query(folder, "SELECT why FROM sessions ORDER BY started")]
    assert ends == ["interrupted", "complete"]


@pytest.mark.long  # tests/eightfold/campaign/test_engine.py kills schedulers and workers
def test_power_taken_away_loses_nothing(tmp_path: Path, whole: Path) -> None:
    folder = tmp_path / "campaign"
    process = start_and_wait(folder)
    parent = psutil.Process(process.pid)
    for each in (*parent.children(recursive=True), parent):
        with suppress(psutil.NoSuchProcess):
            each.kill()
    assert end(process)[0] == -signal.SIGKILL
    before = outcomes(folder)
    assert 0 < len(before) < 8
    assert command("resume", str(folder))[0] == 0
    assert outcomes(folder) == outcomes(whole)
    assert query(folder, "SELECT COUNT(*) FROM cases") == [(1400,)]


@pytest.mark.long  # dask's own watch of a parent; the power's loss is the shorter test
def test_its_own_death_takes_its_workers_along(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    process = start_and_wait(folder)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    end(process)
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


@pytest.mark.long
def test_a_full_disk_is_one_line_and_what_has_run_is_kept(tmp_path: Path, whole: Path) -> None:
    folder = tmp_path / "campaign"
    assert command(*LONG, "--budget", "1ms", "--out", str(folder))[0] == 1
    room = (folder / "results.sqlite").stat().st_size + (1 << 14)

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    status, _, err = command("resume", str(folder), before=fill)
    assert status == 2
    assert err.count("\n") == 1
    assert err.startswith(f"eightfold: {folder / 'results.sqlite'}: ")
    assert len(outcomes(folder)) < 8
    assert command("resume", str(folder))[0] == 0
    assert outcomes(folder) == outcomes(whole)


BROKEN_KERNEL = """
import eightfold.operators
import eightfold.operators.run as kernels

right = kernels.run_operator

def wrong(graph, operator, values, reference="litert"):
    results = right(graph, operator, values, reference)
    if operator.name == "RELU" and results[0].size > 6:
        results[0] = results[0].copy()
        results[0].flat[6] ^= 1
    return results

kernels.run_operator = eightfold.operators.run_operator = wrong
"""


def test_a_broken_kernel_is_found_and_the_command_that_repeats_it_fails_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "sitecustomize.py").write_text(BROKEN_KERNEL, encoding="utf-8")
    variables = {"PYTHONPATH": f"{tmp_path / 'broken'}{os.pathsep}{IMPORT_ROOT}"}
    folder = tmp_path / "campaign"
    status, out, err = command(
        "run", "operators", "--operators", "RELU,TANH", "--cases", "60", "--out", str(folder),
        variables=variables,
    )  # fmt: skip
    assert (status, err) == (1, "")
    assert "failed" in out
    rows = query(folder, "SELECT operator, seed, message FROM cases WHERE verdict = 'failed'")
    assert rows
    assert {operator for operator, *_ in rows} == {"RELU"}
    name = f"operators-RELU-{rows[0][1]}-golden"
    repeat = (folder / "failures" / name / "repeat.txt").read_text(encoding="utf-8").split()
    assert repeat == ["eightfold", "campaign", "repeat", str(folder), name]
    status, out, _ = command(*repeat[2:], variables=variables)
    assert status == 1
    assert out.startswith(f"{name}: failed, run alone\n{rows[0][2]}\n")
    assert command(*repeat[2:])[0] == 0  # the right kernel


@pytest.mark.long
def test_campaigns_are_put_together(tmp_path: Path, call: Call) -> None:
    parts = [tmp_path / name for name in ("first", "second")]
    for seed, part in enumerate(parts):
        assert command(*SMALL, "--seed", str(100 * seed), "--out", str(part))[0] == 0
    both = tmp_path / "both"
    printed(call, "campaign", "merge", *parts, parts[0], "-o", both)
    assert outcomes(both) == outcomes(parts[0]) | outcomes(parts[1])
    assert query(both, "SELECT COUNT(*) FROM cases") == [(24,)]
    with closing(sqlite3.connect(parts[1] / "results.sqlite")) as connection, connection:
        connection.execute("UPDATE cases SET message = 'another' WHERE seed = 100")
        cases = connection.execute("SELECT operator, seed, verdict, message FROM cases").fetchall()
        connection.execute("UPDATE units SET digest = ?", (digest_of(cases, {}, None),))
    status, out, _ = call("campaign", "merge", both, parts[1], "-o", tmp_path / "wrong")
    assert status == 1
    assert out.startswith("operators-RELU-100..111-golden: gave something else")


@pytest.mark.long
def test_the_same_twice_at_once_gives_the_same_twice(tmp_path: Path) -> None:
    temporary, precious = tmp_path / "temporary", tmp_path / "precious"
    temporary.mkdir()
    precious.write_text("precious")
    # Whatever names of a run could be guessed.
    for operator in ("ADD", "RELU"):
        name = f"eightfold-hung-operators-{operator}-0..199-golden.txt"
        (temporary / name).symlink_to(precious)
    before = sorted(temporary.iterdir())
    variables = {"TMPDIR": str(temporary)}
    ran = ("operators", "--operators", "ADD,RELU", "--cases", "200", "--workers", "2")
    asked = ("--adapter", "golden", "--claims", "MAXIMUM,MINIMUM", "--workers", "1")
    folders = [tmp_path / f"campaign{number}" for number in range(2)]
    runs = [start("run", *ran, "--out", str(path), variables=variables) for path in folders]
    runs += [start("run", *asked, variables=variables, group="conform") for _ in range(2)]
    ends = [end(process) for process in runs]
    assert [status for status, *_ in ends] == [0, 0, 0, 0], ends
    assert ends[2][:2] == ends[3][:2]
    assert outcomes(folders[0]) == outcomes(folders[1])
    assert sorted(temporary.iterdir()) == before  # nothing is left
    assert precious.read_text() == "precious"


def fresh(*words: str) -> tuple[str, ...]:
    return ("run", *words, "--out", "{new}")


WRONG = {
    "a campaign is there": ((*SMALL, "--out", "{old}"), "has a campaign; resume it by"),
    "no campaign": (("resume", "{new}"), "no campaign; eightfold campaign run --out"),
    "no such case": (("repeat", "{old}", "nothing"), "no case nothing"),
    "golden has no waves": (
        ("repeat", "{old}", "operators-RELU-3-golden", "--trace", "a.vcd"),
        "golden has no waves",
    ),
    "operator": (fresh("operators", "--operators", "RELU,LSTM,GRU"), "no operator GRU, LSTM"),
    "backend": (fresh("faults"), "suite faults does not run on golden"),
    "suite": (fresh("nonsense"), "no suite nonsense; the suites are "),
    "option of another suite": (
        fresh("operators", "streams", "--coverage"),
        "--coverage: suite streams does not know it; its options are --cases, --seed, --backend",
    ),
    "cases of another suite": (
        fresh("operators", "--cases", "networks=3"),
        "--cases networks=3: networks is none of the suites that are to run",
    ),
    "cases of what has all": (
        fresh("proofs", "--cases", "3"),
        "--cases 3: suite proofs has all cases that there are",
    ),
    "no number": (fresh("hostile", "--cases", "few"), "not of the form N or "),
    "number of many digits": (fresh("hostile", "--cases", "9" * 5000), "not of the form N or "),
    "large seed": (fresh("networks", "--seed", f"{1 << 63}"), "is not in the range"),
    "one file twice": (
        ("report", "{old}", "--json", "{new}", "--html", "{new}"),
        "new: would overwrite --html; name another file",
    ),
    "suite without cases": (
        fresh("operators", "--operators", ","),
        "suite operators: no cases; ask for others, or leave it out",
    ),
    "operator of golden alone": (
        fresh("operators", "--operators", "DEQUANTIZE,ADD", "--backend", "verilator"),
        "the accelerator does not compute DEQUANTIZE; use --backend golden",
    ),
    "budget": (fresh(*SMALL[1:], "--budget", "soon"), "--budget soon: is not a time"),
    "cluster option": (
        fresh(*SMALL[1:], "--cluster-option", "queue=sim"),
        "--cluster-option needs --cluster",
    ),
    "both": (
        fresh(*SMALL[1:], "--scheduler", "tls://a:1", "--cluster", "lsf"),
        "--scheduler has its own workers",
    ),
    "no keys": (fresh(*SMALL[1:], "--scheduler", "tls://a:1"), "needs --keys DIR"),
    "place": ((*SMALL, "--out", "/proc/here"), "/proc/here: cannot be made: "),
}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small campaign that has run."""
    folder = tmp_path_factory.mktemp("old") / "campaign"
    assert command(*SMALL, "--out", str(folder))[0] == 0
    return folder


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_line(name: str, old: Path, tmp_path: Path, call: Call) -> None:
    words, told = WRONG[name]
    found = [word.format(old=old, new=tmp_path / "new") for word in words]
    assert told in refusal(call, "campaign", *found)
    assert not (tmp_path / "new").exists()


def test_list_says_what_would_run(tmp_path: Path, call: Call) -> None:
    out = printed(call, "campaign", *LONG, "--out", tmp_path / "new", "--list")
    assert "700" in out
    assert "1,400" in out
    assert not (tmp_path / "new").exists()


def test_the_current_state_of_one_that_was_stopped_is_told(tmp_path: Path, call: Call) -> None:
    folder = tmp_path / "campaign"
    status, out, _ = command(*SMALL, "--budget", "1ms", "--out", str(folder))
    assert status == 1, "what has not run has not passed"
    assert f"stopped: budget; eightfold campaign resume {folder} goes on" in out
    told = out.partition("\n")[2]
    assert told.startswith("incomplete: 0 of 12 cases")
    assert call("campaign", "report", folder)[:2] == (1, told)
    assert call("campaign", "merge", folder, "-o", tmp_path / "both")[:2] == (1, told)
