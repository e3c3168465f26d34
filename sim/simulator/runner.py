"""Run cocotb benches on Verilator or Icarus, in a process of their own, with a clear verdict."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress, Progress
from eightfold.sim.simulator import watch
from eightfold.sim.simulator.build import Design, Model, Verilog, build_model
from eightfold.sim.simulator.simulation import BenchFailed, BenchResult, Simulation
from eightfold.sim.simulator.sources import Unit
from eightfold.sim.simulator.toolchain import Simulator, check_simulator, icarus_available
from eightfold.sim.simulator.waves import wave_format

__all__ = [
    "BenchFailed",
    "BenchResult",
    "Progress",
    "Simulation",
    "Unit",
    "Verilog",
    "build_model",
    "icarus_available",
    "run_bench",
    "run_model",
    "start_simulation",
]


def run_bench(
    component: Design,
    bench: str,
    simulator: Simulator,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    trace: Path | None = None,
    testcase: str | Sequence[str] | None = None,
    name: str | None = None,
    python_path: Sequence[Path] = (),
    files: Mapping[str, Path] | None = None,
    cpu_seconds: int | None = None,
    on_progress: OnProgress | None = None,
) -> BenchResult:
    """Build a component if needed, and run a bench against it.

    Parameters
    ----------
    component
        The component, or a function that makes it; best a `Unit`, which a second run finds built
        without elaborating it. Or hand-written Verilog.
    bench
        Module with the cocotb tests, such as ``eightfold.sim.benches.requantizer``.
    simulator
        ``verilator`` or ``icarus``.
    parameters
        JSON-able values for the bench; it reads them with `eightfold.sim.bench.support.parameters`.
    seed
        Of all the bench's random choices.
    trace
        Where to write waves, a ``.vcd`` or ``.fst`` file; by default none are recorded.
    testcase
        Run only these cocotb tests of the module.
    name
        Top module's name, see `eightfold.sim.simulator.build.build_model`.
    python_path
        Further folders to import from.
    files
        Files that are in the simulator's working directory, by their names there: links, so that
        what is written to one is written there.
    cpu_seconds
        CPU time after which the simulation is ended, if it is less than the limit of all.
    on_progress
        Called in this thread with what is being built, then with the bench's latest progress, at
        most ten times a second.

    Raises
    ------
    BenchFailed
        If a test failed, or the simulation ended before its tests did, or was ended.
    InputError
        If a program is missing or fails, a disk is full, or the trace file has another suffix, is
        an ``.fst`` that the simulator cannot write here, or cannot be written at all.
    """
    trace, testcase = watch.current().order(simulator, trace, testcase)
    waves = None
    if trace is not None:
        check_simulator(simulator)  # a missing tool is told before a library of its waves
        waves = wave_format(trace, simulator)
        _check_writable(trace)
    model = build_model(component, simulator, name=name, waves=waves, on_progress=on_progress)
    return run_model(
        model,
        bench,
        parameters=parameters,
        seed=seed,
        trace=trace,
        testcase=testcase,
        python_path=python_path,
        files=files,
        cpu_seconds=cpu_seconds,
        on_progress=on_progress,
    )


def _check_writable(trace: Path) -> None:
    # Before minutes of building. The simulator writes while it runs, not when all is complete.
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        with trace.open("ab"):
            pass
    except OSError as error:
        raise InputError(f"trace {trace}: cannot be written: {error.strerror}") from None


def run_model(
    model: Model,
    bench: str,
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> BenchResult:
    """Run a bench against a compiled model; ``options`` as in `run_bench`."""
    simulation = start_simulation(model, bench, **options)
    try:
        return simulation.wait(on_progress)
    finally:
        simulation.stop()


def start_simulation(
    model: Model,
    bench: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    trace: Path | None = None,
    testcase: str | Sequence[str] | None = None,
    python_path: Sequence[Path] = (),
    files: Mapping[str, Path] | None = None,
    cpu_seconds: int | None = None,
) -> Simulation:
    """Start a bench in the background; parameters as in `run_bench`."""
    if trace is not None and trace.suffix != f".{model.waves}":
        raise ValueError(f"trace {trace}: the model records {model.waves or 'no'} waves")
    return Simulation(
        model,
        bench,
        dict(parameters or {}),
        seed,
        trace.absolute() if trace else None,
        testcase,
        tuple(python_path),
        dict(files or {}),
        cpu_seconds,
    )
