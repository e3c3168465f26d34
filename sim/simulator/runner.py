"""Run cocotb benches on Verilator or Icarus, in a process of their own, with a clear verdict."""

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.progress import OnProgress, Progress
from eightfold.sim.simulator.build import Design, Model, build_model
from eightfold.sim.simulator.cache import check_room, make_private, writable_cache
from eightfold.sim.simulator.limits import ENVIRONMENT, limits, ran_out
from eightfold.sim.simulator.simulators import make_runner
from eightfold.sim.simulator.toolchain import VHDL_SIMULATORS, Simulator, check_simulator
from eightfold.sim.simulator.waves import missing_for_fst, wave_format


@dataclass
class Watch:
    """What a caller sees of the simulations of `run_bench`, and may ask of one that is run again.

    pytest's plugin uses it: a failing test is run again, and the simulation that failed in it
    records waves.

    - ``which``: number of the simulation that is asked for something, the first one's 0.
    - ``testcase``: the only test of its bench that it runs; None: those that the caller names, or
      all.
    - ``trace``: where it records waves, without a suffix, which is that of the best format; None:
      nowhere.
    - ``note``: why it is no better format: one line, or nothing.
    """

    which: int = 0
    testcase: str | None = None
    trace: Path | None = None
    count: int = field(default=0, init=False)
    written: Path | None = field(default=None, init=False)
    note: str = field(default="", init=False)

    def order(
        self, simulator: Simulator, trace: Path | None, testcase: str | Sequence[str] | None
    ) -> tuple[Path | None, str | Sequence[str] | None]:
        """Return trace and tests of the next simulation, whose caller asks for those given."""
        asked = self.count == self.which
        self.count += 1
        if asked and self.trace is not None and trace is None:
            self.note = missing_for_fst(simulator)
            suffix = ".vcd" if self.note else ".fst"
            trace = self.written = self.trace.with_name(self.trace.name + suffix)
        return trace, (self.testcase if asked and self.testcase else testcase)


_watches: list[Watch] = []


@contextmanager
def watched(watch: Watch) -> Iterator[Watch]:
    """Have ``watch`` see the simulations of this process, in any thread; the innermost one does."""
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)


POLL_SECONDS = 0.1
KEEP_SECONDS = 24 * 3600


class BenchFailed(AssertionError):  # noqa: N818 - reads as what happened
    """A bench's test failed: which one, the seed, why, and where the log is.

    ``test``: the first test of the bench that failed, if there are others that it can be run
    without.
    """

    test: str | None = None


@dataclass(frozen=True)
class BenchResult:
    """A bench that passed.

    ``tests``: names of the cocotb tests that ran. ``report``: what the bench handed back with
    `eightfold.sim.bench.support.report`.
    """

    tests: tuple[str, ...]
    report: dict[str, Any]


@dataclass
class Simulation:
    """One simulator process with one bench, in the background; fields are those of `run_bench`."""

    model: Model
    bench: str
    _: KW_ONLY
    parameters: Mapping[str, Any] | None = None
    seed: int = 0
    trace: Path | None = None
    testcase: str | Sequence[str] | None = None
    python_path: Sequence[Path] = ()
    files: Mapping[str, Path] | None = None
    cpu_seconds: int | None = None
    scratch: Path = field(init=False)

    def __post_init__(self) -> None:
        if self.trace is not None:
            self.trace = self.trace.absolute()
        runs = writable_cache() / "runs"
        make_private(runs)
        _forget_old(runs)
        self.scratch = Path(tempfile.mkdtemp(prefix=f"{self.bench.rpartition('.')[2]}-", dir=runs))
        for name, path in (self.files or {}).items():
            (self.scratch / name).symlink_to(path.absolute())
        self._limits = limits(self.cpu_seconds)
        job = {
            "parameters": dict(self.parameters or {}),
            "seed": self.seed,
            "cycles": self._limits.cycles,
            "report": str(self.scratch / "report.json"),
            "progress": str(self.scratch / "progress.jsonl"),
        }
        job_file = self.scratch / "job.json"
        write_file(job_file, json.dumps(job))
        path = [str(entry) for entry in (IMPORT_ROOT, *self.python_path, *filter(None, sys.path))]
        module = self.bench.rpartition(".")[2]
        environment = {
            "PYTHONPATH": os.pathsep.join(path),
            ENVIRONMENT: str(job_file),
            # Assertions tell their values in benches alone: cocotb would compile numpy and all else
            # anew for that, in each process, and load pytest's plugins.
            "COCOTB_REWRITE_ASSERTION_FILES": f"sim/bench*/*.py sim/stimuli/*.py {module}.py",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        self._runner = make_runner(
            self.model.simulator, self.model.waves, environment, self._limits.seconds
        )
        self._thread = threading.Thread(target=self._run, name=f"eightfold {self.bench}")
        self._thread.start()

    @property
    def log(self) -> Path:
        """The simulator's and the bench's output."""
        return self.scratch / "bench.log"

    def progress(self) -> Progress | None:
        """Return the last complete line of the bench's progress file, None if there is none."""
        path = self.scratch / "progress.jsonl"
        if not path.exists():
            return None
        lines = path.read_text("utf-8").split("\n")[:-1]
        return Progress(**json.loads(lines[-1])) if lines else None

    def wait(self, on_progress: OnProgress | None = None) -> BenchResult:
        """Wait for the end; return the verdict, or raise `BenchFailed`."""
        told: Progress | None = None
        while on_progress and self._thread.is_alive():
            self._thread.join(POLL_SECONDS)
            if (latest := self.progress()) and latest != told:
                told = latest
                on_progress(latest)
        self._thread.join()
        result = self._verdict()
        shutil.rmtree(self.scratch, ignore_errors=True)  # kept, with its log, only on failure
        return result

    def stop(self) -> None:
        """End the simulator if it is still running."""
        self._runner.stop()
        self._thread.join()

    def _run(self) -> None:
        # cocotb's runner ends the program when a test fails under pytest; the results file, which
        # `_verdict` reads, says more.
        simulator = self.model.simulator
        waves = self._trace_arguments()
        of_verilator, of_others = (waves, []) if simulator == "verilator" else ([], waves)
        with suppress(RuntimeError, SystemExit):
            self._runner.test(
                test_module=self.bench,
                hdl_toplevel=self.model.top,
                hdl_toplevel_lang="vhdl" if simulator in VHDL_SIMULATORS else "verilog",
                seed=self.seed,
                testcase=self.testcase,
                test_args=of_verilator,
                plusargs=[f"+seed={self.seed}", *self.model.plusargs, *of_others],
                build_dir=self.model.directory,
                test_dir=self.scratch,
                results_xml=str(self.scratch / "results.xml"),
                log_file=self.log,
                waves=self.trace is not None,
            )

    def _trace_arguments(self) -> list[str]:
        if self.trace is None:
            return []
        form, file = self.model.waves, self.trace
        return {
            "verilator": ["--trace-file", str(file)],
            "icarus": [f"+dumpfile_path={file}"],
            "ghdl": [f"--{form}={file}"],
            "nvc": [f"--format={form}", f"--wave={file}"],
        }[self.model.simulator]

    def _verdict(self) -> BenchResult:
        results = self.scratch / "results.xml"
        process = self._runner.process
        if process is not None and ran_out(process.returncode):
            what = f"it was ended after {self._limits.seconds} s of CPU time"
            raise BenchFailed(self._message(what, self._log_tail()))
        if not results.exists():
            check_room(self.scratch)
            raise BenchFailed(self._message("the simulation ended early", self._log_tail()))
        cases = list(ElementTree.parse(results).getroot().iter("testcase"))
        failed = [
            (str(case.get("name")), problem)
            for case in cases
            for kind in ("failure", "error")
            if (problem := case.find(kind)) is not None
        ]
        if failed:
            check_room(self.scratch)
            name, problem = failed[0]
            others = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
            why = str(problem.get("message") or problem.text or problem.get("error_msg")).strip()
            failure = BenchFailed(self._message(f"{name} failed{others}", why))
            failure.test = name if len(cases) > 1 else None
            raise failure
        if not cases:
            # Not a BenchFailed: a test that expects one must not take this for it.
            raise ValueError(self._message("no test was run", self._log_tail()))
        report = self.scratch / "report.json"
        return BenchResult(
            tests=tuple(str(case.get("name")) for case in cases),
            report=json.loads(report.read_text("utf-8")) if report.exists() else {},
        )

    def _message(self, what: str, why: str) -> str:
        where = f"{self.bench} on {self.model.simulator}, seed {self.seed}"
        return f"{where}: {what}: {why}\nlog: {self.log}"

    def _log_tail(self) -> str:
        text = self.log.read_text("utf-8", "replace") if self.log.exists() else ""
        return "\n".join(text.strip().splitlines()[-15:]) or "no output"


def _forget_old(runs: Path) -> None:
    """Remove what failed simulations left behind more than a day ago."""
    for folder in runs.iterdir():
        with suppress(OSError):  # another process may be at it too
            if time.time() - folder.stat().st_mtime > KEEP_SECONDS:
                shutil.rmtree(folder)


def run_bench(
    component: Design,
    bench: str,
    simulator: Simulator,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    trace: Path | None = None,
    testcase: str | Sequence[str] | None = None,
    python_path: Sequence[Path] = (),
    files: Mapping[str, Path] | None = None,
    cpu_seconds: int | None = None,
    on_progress: OnProgress | None = None,
) -> BenchResult:
    """Build a component if needed, and run a bench against it.

    - ``component``: the component, or a function that makes it; best a `Unit`, which a second run
      finds built without elaborating it. Or hand-written Verilog.
    - ``bench``: module with the cocotb tests, such as ``eightfold.sim.benches.requantizer``.
    - ``parameters``: JSON-able values for the bench; it reads them with
      `eightfold.sim.bench.support.parameters`.
    - ``trace``: where to write waves, a ``.vcd`` or ``.fst`` file; by default none are recorded.
    - ``testcase``: run only these cocotb tests of the module.
    - ``python_path``: further folders to import from.
    - ``files``: files that are in the simulator's working directory, by their names there: links,
      so that what is written to one is written there.
    - ``cpu_seconds``: CPU time after which the simulation is ended, if it is less than the limit of
      all.
    - ``on_progress``: called in this thread with what is being built, then with the bench's latest
      progress, at most ten times a second.

    Raises BenchFailed if a test failed, or the simulation ended before its tests did, or was ended;
    InputError if a program is missing or fails, a disk is full, or the trace file has another
    suffix, is an ``.fst`` that the simulator cannot write here, or cannot be written at all.
    """
    watch = _watches[-1] if _watches else Watch()  # one that asks for nothing
    trace, testcase = watch.order(simulator, trace, testcase)
    waves = None
    if trace is not None:
        check_simulator(simulator)  # a missing tool is told before a library of its waves
        waves = wave_format(trace, simulator)
        _check_writable(trace)
    model = build_model(component, simulator, waves=waves, on_progress=on_progress)
    simulation = Simulation(
        model,
        bench,
        parameters=parameters,
        seed=seed,
        trace=trace,
        testcase=testcase,
        python_path=python_path,
        files=files,
        cpu_seconds=cpu_seconds,
    )
    try:
        return simulation.wait(on_progress)
    finally:
        simulation.stop()


def _check_writable(trace: Path) -> None:
    # Before minutes of building. The simulator writes while it runs, not when all is complete.
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        with trace.open("ab"):
            pass
    except OSError as error:
        raise InputError(f"trace {trace}: cannot be written: {error.strerror}") from None
