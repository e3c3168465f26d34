"""A pytest plugin: how a test that failed with a simulation is repeated, and its waves."""

import re
import shlex
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from eightfold.sim.simulator.runner import BenchFailed, Watch, watched

_WATCH = pytest.StashKey[Watch]()

REPEATED = ("seed", "models_folder")
"""Options that a repeating command needs, by the names of their values."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what concerns simulations."""
    group = parser.getgroup("eightfold", "Eightfold")
    group.addoption(
        "--waves",
        action="store_true",
        help="run a test that failed with a simulation once more, and record the waves of that "
        "simulation in build/waves/<test id>.fst, or .vcd where FST cannot be written",
    )
    group.addoption(
        "--bench-test",
        metavar="NAME",
        help="of each test's first simulation, run only this test of the bench, as the command "
        "that repeats a failure says",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count the simulations of each test."""
    watch = Watch(testcase=item.config.getoption("bench_test"))
    item.stash[_WATCH] = watch
    with watched(watch):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say how to repeat a failure with a simulation, and record its waves if asked to."""
    report = yield
    watch = item.stash.get(_WATCH, None)
    if call.when == "call" and report.failed and watch is not None and watch.count:
        failure = call.excinfo.value if call.excinfo else None
        test = failure.test if isinstance(failure, BenchFailed) else watch.testcase
        report.sections.append(("repeat", _command(item, test if watch.count == 1 else None)))
        if item.config.getoption("waves"):
            report.sections.append(("waves", _record(item, watch.count - 1, test)))
    return report


def _command(item: pytest.Item, test: str | None) -> str:
    """Return the command that runs this case alone."""
    words = ["python", "-m", "pytest", item.nodeid]
    if test or (test := item.config.getoption("bench_test")):
        words += ["--bench-test", test]
    for name in REPEATED:
        value = item.config.getoption(name, None)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


def _record(item: pytest.Item, which: int, test: str | None) -> str:
    """Run a test once more; return a line that says where the waves are of its simulation."""
    folder = item.config.rootpath / "build" / "waves"
    trace = folder / re.sub(r"[^\w.=+-]+", "_", item.nodeid).strip("_")
    with watched(Watch(which=which, testcase=test, trace=trace)) as watch:
        verdict = _run_again(item)
    if watch.written is None or not watch.written.exists():
        return f"none: when run again, the test {verdict} before that simulation"
    return "; ".join(filter(None, (f"{_relative(watch.written)}: the test {verdict}", watch.note)))


def _run_again(item: pytest.Item) -> str:
    try:
        item.runtest()
    except (Exception, pytest.fail.Exception, pytest.skip.Exception):
        return "failed again"
    return "passed this time"


def _relative(path: Path) -> Path:
    """Return a path as it is shorter to type from here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
