"""The command line: what it prints, what it writes, and its exit status."""

import hashlib
import json
import re
import signal
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
import pytest

from eightfold import Session, synth
from eightfold.campaign import campaign
from eightfold.cli.operator_list import describe_all
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.program import Stopped
from eightfold.run.report.result import RunJson
from eightfold.sim.simulator.toolchain import Simulator
from tests.support.command import Call, printed, refusal, saved
from tests.support.documented import check_fields
from tests.support.models.networks import INPUT, person_detect

DIGITS = IMPORT_ROOT / "examples" / "digits"
MODEL = str(DIGITS / "digits.tflite")


def test_run_compares_and_says_what_was_shown(call: Call) -> None:
    out = printed(call, "run", MODEL, "--compare")
    assert "DEPTHWISE_CONV_2D" in out
    assert out.endswith(
        "18 operators in golden; every tensor equals LiteRT's reference kernels bit for bit\n"
    )


def test_run_takes_inputs_and_writes_outputs(tmp_path: Path, call: Call) -> None:
    report = tmp_path / "report.json"
    output = tmp_path / "deep" / "out.npz"
    arguments = ["--input", DIGITS / "sample.npz", "--json", report, "--output", output]
    printed(call, "run", MODEL, *arguments, "--all-tensors")
    data = json.loads(report.read_text())
    check_fields(data, RunJson)
    assert (data["seed"], data["input_file"]) == (None, str(DIGITS / "sample.npz"))
    assert (data["cycles"], data["mismatches"]) == (None, None)
    with np.load(output) as archive, np.load(DIGITS / "sample.npz") as sample:
        np.testing.assert_array_equal(archive["tensor_0"], sample["tensor_0"])
        assert len(archive.files) > 18


def test_seeds_draw_different_inputs(tmp_path: Path, call: Call) -> None:
    drawn = []
    for seed in ("0", "0", "1"):
        path = tmp_path / "out.npz"
        call("run", MODEL, "--seed", seed, "--output", path, "--all-tensors")
        with np.load(path) as archive:
            drawn.append(archive["tensor_0"])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


def test_json_goes_to_standard_output_alone(call: Call) -> None:
    out = printed(call, "run", MODEL, "--json", "-")
    assert json.loads(out)["backend"] == "golden"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "missing.tflite"], "missing.tflite"),
        (["run", MODEL, "--input", "missing.npz"], "--input missing.npz: cannot be read"),
        (["run", MODEL, "--input", MODEL], "cannot be read as .npz, which numpy.savez writes"),
        (["run", MODEL, "--config", "huge"], "no such preset"),
        (["run", MODEL, "--backend", "fpga"], "'fpga' is not one of"),
        (["run", MODEL, "--seed", "x"], "not a valid integer"),
        (["run", MODEL, "--output", "/dev/null/out.npz"], "cannot be written"),
        (["run", MODEL, "--compare", "--reference", "onnx"], "'onnx' is not one of"),
        (["run", MODEL, "--stall", "0.1"], "stall needs a simulation, not golden"),
        (["run", MODEL, "--trace", "waves.vcd"], "trace needs a simulation, not golden"),
        (["run", MODEL, "--no-rewrite", "all"], "no_rewrite needs a simulation, not golden"),
        (["run", MODEL, "--no-cascade"], "no_cascade needs a simulation, not golden"),
        (["run", MODEL, "--baud", "9600"], "baud and patience are of backend board; leave them"),
        (["run", MODEL, "--input", "in.npz", "--seed", "0"], "that --input gives; leave one of"),
        (["run", MODEL, "--html", "-"], "--html -: standard output takes --json alone"),
        (["run", "net.npz", "--config", "huge"], "no such preset"),
        (["estimate", MODEL, "--memory", "latency=1,latency=2"], "gives a field twice; leave one"),
        (["verilog", "--unit", "gpu"], "no such unit; use one of requantizer"),
        (["simulate"], "No such command 'simulate'"),
        (["run"], "Missing argument 'MODEL'"),
    ],
    ids=lambda value: " ".join(Path(v).name for v in value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_exit_status_2(
    arguments: list[str], message: str, call: Call
) -> None:
    assert message in refusal(call, *arguments)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--output", "m.tflite"], "--output m.tflite: would overwrite MODEL"),
        (["--json", "x/../m.tflite"], "--json x/../m.tflite: would overwrite MODEL"),
        (["--input", "in.npz", "--html", "in.npz"], "--html in.npz: would overwrite --input"),
        (["--config", "c.toml", "--json", "c.toml"], "--json c.toml: would overwrite --config"),
        (["--output", "o.vcd", "--trace", "o.vcd"], "--trace o.vcd: would overwrite --output"),
    ],
)
def test_nothing_that_is_read_or_written_is_overwritten(
    options: list[str], named: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path, Path(MODEL).read_bytes(), "m.tflite")
    assert f"{named}; name another file" in refusal(call, "run", "m.tflite", *options)
    assert [*tmp_path.iterdir()] == [path] and path.read_bytes() == Path(MODEL).read_bytes()


def test_devices_take_any_number_of_outputs(call: Call) -> None:
    printed(call, "run", MODEL, "--output", "/dev/null", "--json", "/dev/null")


def test_a_truncated_model_is_one_line_and_exit_status_2(tmp_path: Path, call: Call) -> None:
    path = saved(tmp_path, Path(MODEL).read_bytes()[:5000], "cut.tflite")
    assert "cut.tflite" in refusal(call, "run", path)


def test_a_single_array_is_told_how_to_become_an_input(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "in.npy"
    np.save(path, np.zeros((1, 8, 8, 1), np.int8))
    err = refusal(call, "run", MODEL, "--input", path)
    assert "numpy.savez('in.npz', tensor_0=numpy.load('in.npy'))" in err


def test_a_comparison_that_fails_ends_with_1(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    from eightfold.operators import run_operator

    def wrong(graph, operator, values, reference="litert"):
        outputs = run_operator(graph, operator, values, reference)
        return [tensor ^ 1 for tensor in outputs] if operator.index == 0 else outputs

    monkeypatch.setattr("eightfold.operators.run.run_operator", wrong)
    status, out, _ = call("run", MODEL, "--compare")
    assert status == 1
    assert "elements differ from LiteRT: first at operator 0 CONV_2D" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-elements", "63"], "tensor 0 'image' has 64 elements; the limit is 63; "),
        (["--max-memory", "1K"], "the limit is 0.0 MB; use a smaller model, or a higher --max-mem"),
        (["--max-memory", "2X"], "'2X' is not a number of bytes such as 500M or 2G"),
        (["--max-memory", "0"], "'0' is not a number of bytes"),
    ],
)
@pytest.mark.parametrize("command", ["run", "compile", "estimate"])
def test_models_beyond_a_limit_are_refused(
    command: str, options: list[str], message: str, tmp_path: Path, call: Call
) -> None:
    more = ["-o", tmp_path / "out"] if command == "compile" else []
    assert message in refusal(call, command, MODEL, *more, *options)


@pytest.mark.parametrize("arguments", [[], ["--help"]], ids=["nothing", "--help"])
def test_help_lists_the_commands(arguments: list[str], call: Call) -> None:
    out = printed(call, *arguments)
    lines = [line.split() for line in out.splitlines()]
    for command in ("run", "check", "verilog", "synth"):
        assert any(line[:1] == [command] for line in lines)


@pytest.mark.parametrize(
    ("arguments", "seeds"),
    [((), [1, 2, 3]), (("--seeds", 2), [1, 2]), (("--seed", 7, "--seed", 1, "--seed", 7), [7, 1])],
    ids=["default", "count", "chosen"],
)
def test_synth_takes_a_number_of_seeds_or_the_seeds(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str | int, ...], seeds: list[int], call: Call
) -> None:
    taken: list[int] = []
    monkeypatch.setattr(synth, "main_jobs", lambda *_, **options: taken.extend(options["seeds"]))
    assert (call("synth", *arguments)[0], taken) == (0, seeds)


def lines_at(width: int, *arguments: str, call: Call) -> list[str]:
    """Return what a command prints on a terminal of so many columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        status, out, _ = call(*arguments)
    assert status == 0
    return click.unstyle(out).splitlines()


@pytest.mark.slow
def test_a_narrow_terminal_shows_every_number(call: Call) -> None:
    _, out, _ = call("estimate", MODEL, "--json")
    estimated = [f"{each['cycles']:,}" for each in json.loads(out)["operators"]]
    lines = lines_at(40, "estimate", MODEL, call=call)
    assert max(map(len, lines)) <= 40
    rows = [line.split() for line in lines if line.startswith("│")]
    assert [row[-2] for row in rows[:-1]] == estimated
    assert {"DEPTHWISE_CONV_2D", "total"} < {word for row in rows for word in row}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run"], "# operator output MACs where"),
        (["run", "--compare"], "# operator output MACs where mismatches"),
        (["estimate"], "# operator output MACs done cycles worked utilisation where"),
    ],
    ids=["golden", "compared", "estimated"],
)
def test_a_table_has_no_column_without_a_value(
    arguments: list[str], expected: str, call: Call
) -> None:
    command, *options = arguments
    (heading,) = (
        line for line in lines_at(120, command, MODEL, *options, call=call) if line.startswith("┃")
    )
    assert heading.replace("┃", " ").split() == expected.split()


def test_a_narrow_terminal_shows_every_word_of_the_operators(call: Call) -> None:
    lines = lines_at(40, "ops", call=call)
    assert max(map(len, lines[:-1])) <= 40
    shown = "".join("".join(lines).split())
    for each in describe_all():
        for name, text in (("limits", each.limits), ("elementspercycle", each.rate)):
            assert not text or f"{name}:{''.join(text.split())}" in shown
        assert f"exactreference:{each.reference}" in shown


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_usual_terminals_show_a_few_lines_of_each_operator(width: int, call: Call) -> None:
    lines = lines_at(width, "ops", call=call)
    assert max(map(len, lines)) <= width
    assert len(lines) < 3 * len(describe_all())
    starts = [number for number, line in enumerate(lines) if re.match("[A-Z][A-Z_0-9]+ ", line)]
    descriptions = describe_all()
    assert [lines[start].split()[0] for start in starts] == [each.name for each in descriptions]
    for each, start, stop in zip(descriptions, starts, [*starts[1:], None], strict=True):
        words = " ".join(lines[start:stop]).split()
        assert not set(each.limits.split()) - set(words)
        assert not set(each.rate.split()) - set(words)
        short = each.reference.removeprefix("eightfold.golden.")
        assert (short in words or each.reference in words) == (width >= 120)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 5, 20])
def test_no_terminal_is_too_narrow(width: int, call: Call) -> None:
    for command in (["run", MODEL], ["estimate", MODEL], ["ops"]):
        assert lines_at(width, *command, call=call)


@pytest.fixture(params=["builds_of", "go_on"])
def interrupted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt what runs a campaign: while simulators are built, or later."""

    def stop(*_: Any, **__: Any) -> NoReturn:
        raise Stopped(signal.SIGINT)

    monkeypatch.setattr(campaign, request.param, stop)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("name", ["A", "two words"])
def test_a_campaign_names_the_command_that_goes_on(tmp_path: Path, call: Call, name: str) -> None:
    folder = tmp_path / name
    words = ["campaign", "run", "operators", "--operators", "ADD", "--cases", "1", "--out", folder]
    status, _, err = call(*words)
    shown = f"'{folder}'" if " " in name else folder
    line = f"eightfold: interrupted; eightfold campaign resume {shown} goes on\n"
    assert (status, err) == (130, line)


@pytest.mark.usefixtures("interrupted")
def test_a_conformance_run_without_a_folder_says_that_nothing_is_kept(
    tmp_path: Path, call: Call
) -> None:
    words = ["conform", "run", "--adapter", "golden", "--claims", "ADD"]
    status, _, err = call(*words)
    line = "eightfold: interrupted; nothing is kept; --out DIR keeps what was answered\n"
    assert (status, err) == (130, line)
    status, _, err = call(*words, "--out", tmp_path / "run")
    line = f"eightfold: interrupted; eightfold campaign resume {tmp_path}/run goes on\n"
    assert (status, err) == (130, line)


def report_of(path: Path, *arguments: object, call: Call) -> dict[str, Any]:
    """Return the report of ``eightfold run`` with some arguments."""
    assert call("run", *arguments, "--json", path)[0] == 0
    return json.loads(path.read_text("utf-8"))


def repeated(report: dict[str, Any], folder: Path) -> list[object]:
    """Return the arguments that repeat a run, from its report alone."""
    config = folder / "again.toml"
    sizes = report["configuration"].items()
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in sizes))
    seeded = report["seed"] is not None
    arguments = [report["model"], "--config", config]
    arguments += ["--seed", report["seed"]] if seeded else ["--input", report["input_file"]]
    for name in ("backend", "reference", "fallback", "stall", "netlist"):
        arguments += [f"--{name}", report[name]] if report[name] else []
    for name in ("compare", "all_tensors", "fast"):
        arguments += [f"--{name.replace('_', '-')}"] if report[name] else []
    return arguments


def result_of(report: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same whenever a run is repeated."""
    return {key: report[key] for key in report if key not in ("seconds", "config")}


def test_every_field_is_documented(tmp_path: Path, call: Call) -> None:
    report = report_of(tmp_path / "a.json", MODEL, "--compare", call=call)
    check_fields(report, RunJson)
    assert (report["seed"], report["versions"]["simulator"]) == (0, None)
    assert report["model_sha256"] == hashlib.sha256(Path(MODEL).read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False], ids=["input", "seed"])
def test_a_run_is_repeated_from_its_report(tmp_path: Path, call: Call, given: bool) -> None:
    model, inputs = tmp_path / "model.tflite", tmp_path / "in.npz"
    model.write_bytes(person_detect())
    np.savez(inputs, input=np.arange(36, dtype=np.int8).reshape(1, 6, 6, 1))
    chosen = ["--input", inputs] if given else ["--seed", 5]
    first = report_of(
        tmp_path / "a.json", model, *chosen, "--config", "nano", "--compare", call=call
    )
    second = report_of(tmp_path / "b.json", *repeated(first, tmp_path), call=call)
    assert result_of(first) == result_of(second)
    other = report_of(tmp_path / "c.json", model, "--seed", 6, call=call)
    assert other["inputs"] != first["inputs"]
    assert other["outputs"] != first["outputs"]


@pytest.mark.slow
@pytest.mark.usual(names=["verilator"])
def test_a_simulation_is_repeated_from_its_report(
    tmp_path: Path, call: Call, simulator: Simulator
) -> None:
    model = saved(tmp_path, person_detect())
    chosen = ["--seed", 5, "--config", "nano", "--backend", simulator, "--stall", 0.2]
    first = report_of(tmp_path / "a.json", model, *chosen, call=call)
    assert first["versions"]["simulator"].startswith(simulator)
    assert first["cycles"] > 0
    second = report_of(tmp_path / "b.json", *repeated(first, tmp_path), call=call)
    assert result_of(first) == result_of(second)


def test_what_is_hashed_are_the_elements_in_order() -> None:
    image = np.arange(36, dtype=np.int8).reshape(1, 6, 6, 1)
    turned = np.asfortranarray(image[:, ::-1])
    with Session() as session:
        given = [session.run(person_detect(), {INPUT: array}) for array in (image, turned)]
    hashes = [result.as_json()["inputs"][0]["sha256"] for result in given]
    assert hashes == [
        hashlib.sha256(bytes(range(36))).hexdigest(),
        hashlib.sha256(image[:, ::-1].tobytes()).hexdigest(),
    ]
