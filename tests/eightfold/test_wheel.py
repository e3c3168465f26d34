"""An installed Eightfold owns one import name, and works with what its extras bring."""

import json
import re
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from tests.support.installation import Installation, build, install

pytestmark = pytest.mark.slow  # builds a wheel, and a simulator from nothing

DIGITS = IMPORT_ROOT / "examples" / "digits" / "digits.tflite"

MODULES = """
import json, sys
from eightfold.cli.main import main
try:
    main()
finally:
    loaded = {n: m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "eightfold"}
    print("loaded", json.dumps(loaded), file=sys.stderr)
"""
"""The command line, which says at its end where it has come from."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def complete(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Everything that a run needs, behind a stranger's packages with names that ours had."""
    strangers = tmp_path_factory.mktemp("strangers")
    for name in ("boards", "conformance", "golden", "hw", "sim", "tests", "examples"):
        (strangers / name).mkdir()
        (strangers / name / "__init__.py").write_text(f'raise ImportError("a stranger\'s {name}")')
    return install(
        wheel, tmp_path_factory.mktemp("complete"), {"rtl", "compare", "report"}, strangers
    )


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """What ``pip install eightfold`` brings."""
    return install(wheel, tmp_path_factory.mktemp("base"), set())


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_has_one_name_and_all_that_is_under_it(wheel: Path) -> None:
    found = names(wheel)
    assert {name.partition("/")[0] for name in found} == {"eightfold", "eightfold-0.1.0.dist-info"}
    for folder in ("boards", "conformance", "golden", "hw", "sim"):
        sources = IMPORT_ROOT / folder
        modules = {
            f"eightfold/{folder}/{path.relative_to(sources).as_posix()}"
            for path in sources.rglob("*.py")
        }
        assert len(modules) > 3
        assert modules <= found
    for data in (
        "sim/verilog/eightfold_system.v",
        "boards/serial_bench.cpp",
        "cli/operators.json",
        "conformance/c/sources/eightfold_golden.h",
        "run/report/templates/base.html.j2",
        "networks/digits.tflite",
        "py.typed",
    ):
        assert f"eightfold/{data}" in found
    for path in (IMPORT_ROOT / "constraints").iterdir():
        assert f"eightfold/synth/constraints/{path.name}" in found


def description(wheel: Path) -> Message:
    """Return the metadata of a wheel; the long description is its payload."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        return message_from_bytes(archive.read(name))


def test_the_first_steps_of_the_description_are_those_of_the_wheel(
    wheel: Path, base: Installation
) -> None:
    text = description(wheel).get_payload()
    assert isinstance(text, str)
    steps = re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0].splitlines()
    assert steps[0] == "pip install eightfold"  # here without an index, by the fixture
    assert steps[1].startswith("eightfold run digits ")
    for step in steps[1:]:
        program, *arguments = step.partition(" #")[0].split()
        done = base.run(program, *arguments)
        assert (done.returncode, done.stderr) == (0, ""), step
    assert "make run" not in text
    assert not re.search(r"pip install '?\.", text)
    assert ".venv" not in text


def test_the_description_stands_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (network,) = (name for name in archive.namelist() if name.endswith("digits.tflite"))
        assert archive.read(network) == DIGITS.read_bytes()
    metadata = description(wheel)
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert text.startswith("# Eightfold\n")
    places = re.findall(r"\]\(([^)]*)\)", text)
    assert places
    assert all(place.startswith("https://") for place in places)
    assert "![" not in text
    assert "<!--" not in text
    assert metadata["Author"] == "Eightfold developers"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def test_the_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path / "sdist")) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    again = build("wheel", tmp_path / "wheel", tmp_path / "eightfold-0.1.0")
    assert names(again) == names(wheel)


def test_synthesis_finds_its_devices_without_a_checkout(complete: Installation) -> None:
    program = "from eightfold.synth import FAMILIES, Device; print(*map(Device.load, FAMILIES))"
    done = complete.run("python", "-c", program)
    assert done.returncode == 0, done.stderr
    assert "FREQUENCY PORT" in done.stdout


@pytest.mark.parametrize("backend", ["golden", "verilator"])
@pytest.mark.usual(names=["golden"])
def test_the_digits_run_among_strangers(complete: Installation, backend: str) -> None:
    command = ["run", str(DIGITS), "--compare", "--backend", backend, "--config", "nano"]
    done = complete.run("python", "-c", MODULES, *command, "--json", "-", "--html", "run.html")
    assert done.returncode == 0, done.stderr
    page = (complete.cwd / "run.html").read_text("utf-8")
    assert ('<section id="timeline">' in page) == (backend == "verilator")
    report = json.loads(done.stdout)
    assert report["mismatches"] == 0
    places = {each["where"] for each in report["operators"]}
    assert places == {"golden" if backend == "golden" else "hardware"}
    loaded = json.loads(done.stderr.rpartition("loaded ")[2])
    assert "eightfold.golden.quantization" in loaded
    assert ("eightfold.sim.simulator.runner" in loaded) == (backend == "verilator")
    for name, file in loaded.items():
        assert Path(file).is_relative_to(complete.packages), name


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["--help"], "Usage: "),
        (["--version"], "0.1.0"),
        (["doctor"], "pip install 'eightfold[rtl]'"),
        (["info", "digits"], "probabilities"),
        (["run", "digits"], "operators in golden"),
        (["verilog", "--help"], "accelerator"),
        (["check", str(DIGITS)], "conform to the spec"),
        (["estimate", str(DIGITS)], "CONV_2D"),
        (["compile", str(DIGITS), "-o", "compiled"], "commands.bin"),
        (["ops"], "CONV_2D"),
        (["header"], "#define"),
        (["golden-c", "-o", "golden-c"], "eightfold_requantize.c"),
        (["vectors", "requantizer", "-o", "vectors"], "2569 cases of requantizer"),
        (["conform", "judge", "--help"], "eightfold conform judge vectors --results results"),
        (["run", str(DIGITS)], "operators in golden"),
    ],
    ids=lambda each: " ".join(each[:1]) if isinstance(each, list) else "",
)
@pytest.mark.usual(count=8)
def test_the_base_needs_no_extra(base: Installation, command: list[str], said: str) -> None:
    done = base.run("eightfold", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["verilog"], "verilog needs amaranth, *'eightfold[rtl]'"),
        (["synth"], "synth needs amaranth, *'eightfold[synth]'"),
        (
            ["run", str(DIGITS), "--backend", "verilator"],
            "backend verilator needs amaranth, *'eightfold[rtl]'",
        ),
        (
            ["run", str(DIGITS), "--html", "run.html"],
            "an HTML page needs jinja2, *'eightfold[report]'",
        ),
        (
            ["conform", "run", "--adapter", "golden"],
            "conform run needs distributed, *'eightfold[campaign]'",
        ),
        (["campaign", "run", "files", "."], "campaign needs amaranth, *'eightfold[campaign]'"),
        (["run", str(DIGITS), "--compare"], "compare needs ai-edge-litert, *'eightfold[compare]'"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_a_missing_extra_is_named(base: Installation, command: list[str], line: str) -> None:
    done = base.run("eightfold", *command)
    expected = line.replace("*", "which is not installed: pip install ")
    assert (done.returncode, done.stderr, done.stdout) == (2, f"eightfold: {expected}\n", "")


def test_a_session_names_the_extra_too(base: Installation) -> None:
    program = (
        "from eightfold import InputError, Session\n"
        "try:\n"
        f"    Session('icarus').run({str(DIGITS)!r})\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    done = base.run("python", "-c", program)
    assert "'eightfold[rtl]'" in done.stdout, done.stderr


def test_suites_that_test_this_hardware_come_with_a_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        text = archive.read(name).decode()
    assert "conform = eightfold.conformance.commands:conform" in text
    assert "files = eightfold.campaign.files:SUITE" in text
    assert not re.search(r"\blab\b", text)
