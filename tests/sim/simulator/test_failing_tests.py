"""What a person gets of a test that fails with a simulation: message, repeating command, waves."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.sim.simulator.toolchain import icarus_available

pytestmark = [
    pytest.mark.slow,  # each starts pytest anew
    pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed"),
]

TESTS = """
from pathlib import Path

import pytest

from eightfold.sim.simulator.runner import run_bench
from tests.support.hardware.faulty_stage import Fault, FaultyStage


def run(simulator, fault, seed, testcase=("a_word_per_cycle", "passes_words_on")):
    settings = {"fault": Fault[fault].value, "idle": 0.0, "stall": 0.2, "words": 20}
    folder = Path("BENCHES")
    return run_bench(
        FaultyStage,
        "stage_bench",
        simulator,
        parameters=settings,
        seed=seed,
        testcase=testcase,
        python_path=[folder],
    ).report


@pytest.mark.parametrize("seed", [3])
@pytest.mark.parametrize("fault", ["NONE", "CHANGES_WORD"])
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_stage(simulator, fault, seed):
    run(simulator, fault, seed)


def test_compares_itself():
    run("icarus", "NONE", 0)
    assert run("icarus", "NONE", 1)["taken"] == 29


def test_without_a_simulation():
    assert 1 == 2
"""

LIBRARIES_ARE_MISSING = """
from eightfold.sim.simulator import waves

waves.links = lambda library: False
"""


@pytest.fixture
def folder(tmp_path):
    benches = IMPORT_ROOT / "tests" / "support" / "hardware"
    (tmp_path / "test_stage.py").write_text(TESTS.replace("BENCHES", str(benches)))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def run_pytest(folder, *arguments):
    environment = os.environ | {
        "PYTHONPATH": str(IMPORT_ROOT),
        "PYTEST_ADDOPTS": "-p tests.support.simulations -p no:cacheprovider",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def repeating(text):
    """Return the arguments of pytest that the only failure's message says."""
    (command,) = re.findall(r"^python -m pytest (.*)$", text, re.MULTILINE)
    return shlex.split(command)


def waves(folder):
    return sorted(path.name for path in folder.rglob("build/waves/*"))


def test_a_failure_is_repeated_alone_by_the_command_that_it_states(folder):
    status, text = run_pytest(folder, "-k", "icarus and stage")
    assert (status, "1 failed, 1 passed" in text) == (1, True)
    assert "o: word 5 of 28 differs: got 4, expected 5; seed 3" in text
    assert waves(folder) == []
    command = repeating(text)
    name = "test_stage.py::test_stage[icarus-CHANGES_WORD-3]"
    assert command == [name, "--bench-test", "passes_words_on"]
    status, again = run_pytest(folder, *command)
    assert (status, "1 failed" in again) == (1, True)
    assert "o: word 5 of 28 differs: got 4, expected 5; seed 3" in again
    assert repeating(again) == command
    (log,) = set(re.findall(r"log: (\S+)", again))
    assert "a_word_per_cycle" not in Path(log).read_text()


def test_waves_are_of_the_failing_case_alone(folder):
    status, text = run_pytest(folder, "-k", "icarus and stage", "--waves")
    assert status == 1
    assert waves(folder) == ["test_stage.py_test_stage_icarus-CHANGES_WORD-3.fst"]
    (file,) = folder.rglob("*.fst")
    assert file.read_bytes()[:9] == b"\0" + (329).to_bytes(8, "big")
    assert f"build/waves/{file.name}: the test failed again\n" in text


def test_a_test_that_compares_itself_is_recorded_too(folder):
    status, text = run_pytest(folder, "-k", "compares", "--waves")
    assert (status, waves(folder)) == (1, ["test_stage.py_test_compares_itself.fst"])
    assert repeating(text) == ["test_stage.py::test_compares_itself"]


def test_a_test_without_a_simulation_is_left_alone(folder):
    status, text = run_pytest(folder, "-k", "without", "--waves")
    assert (status, waves(folder)) == (1, [])
    assert "python -m pytest" not in text


@pytest.mark.long  # compiles Verilator's library for VCD; test_waves.py has the line
def test_where_fst_cannot_be_written_waves_are_vcd_and_one_line_says_why(folder):
    (folder / "conftest.py").write_text(LIBRARIES_ARE_MISSING)
    status, text = run_pytest(folder, "-k", "verilator and CHANGES", "--waves")
    assert (status, waves(folder)) == (1, ["test_stage.py_test_stage_verilator-CHANGES_WORD-3.vcd"])
    (file,) = folder.rglob("*.vcd")
    assert "$enddefinitions" in file.read_text()
    line = (
        f"build/waves/{file.name}: the test failed again; Verilator needs liblz4-dev and "
        "zlib1g-dev for FST: apt-get install liblz4-dev zlib1g-dev\n"
    )
    assert line in text
