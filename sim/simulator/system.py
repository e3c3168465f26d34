"""The whole accelerator in simulation, with a memory and a monitor around it."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eightfold import isa
from eightfold.common.files import npz_bytes
from eightfold.common.progress import OnProgress
from eightfold.sim.simulator.build import Verilog
from eightfold.sim.simulator.limits import limits
from eightfold.sim.simulator.memory_image import CHANNELS, SIZE, timing_signals
from eightfold.sim.simulator.runner import run_bench
from eightfold.sim.simulator.sources import Source, Unit
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import IDEAL, MemoryTiming

FOLDER = Path(__file__).parents[1] / "verilog"

SOURCES = ("eightfold_system", "axi_memory", "axi_attributes", "axi_watch", "trace_monitor")
"""Files of `FOLDER` without ``.v``, the top module first."""

Place = tuple[Literal["commands", "model", "arena"], int, int]
"""Bytes of a region of memory: its name, first offset, and the offset behind the last."""

DESIGNS = {
    "verilog": "eightfold.sim.benches.accelerator",
    "cocotbext": "eightfold.sim.benches.accelerator_cocotbext",
}
"""The bench for each kind of memory."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the accelerator.

    - ``inputs``: contents of the arena by byte offset; bytes not given are random.
    - ``kept``: bytes of the arena, first offset and the one behind the last, that stay as the run
      before has left them.
    - ``words``, ``model``: commands, uint32, and contents of the model region, in place of the
      system's.
    - ``registers``: values by name, in place of those that fit the job.
    - ``read_error``, ``write_error``: where accesses are answered with SLVERR.
    - ``reset_after``: cycles after the doorbell at which a soft reset ends the run; None waits for
      its end.
    - ``patience``: cycles after which a soft reset ends a run that has not ended; None lets it fail
      at the system's limit.
    - ``writes``: writes of registers while it runs: cycles after the doorbell or the write before,
      register, value.
    - ``stall``, ``timing``, ``seed``: in place of the system's; the seed is the stalls' alone.
    """

    inputs: Mapping[int, NDArray | bytes] = field(default_factory=dict)
    kept: Sequence[tuple[int, int]] = ()
    words: NDArray[np.uint32] | None = None
    model: bytes | None = None
    registers: Mapping[str, int] = field(default_factory=dict)
    read_error: Place | None = None
    write_error: Place | None = None
    reset_after: int | None = None
    patience: int | None = None
    writes: Sequence[tuple[int, str, int]] = ()
    stall: float | None = None
    timing: MemoryTiming | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run left.

    - ``arena``: uint8, all bytes of the arena. Nothing else in memory has changed.
    - ``done``: whether END was reached without an error.
    - ``error``: what stopped the run, `ErrorCode.NONE` for nothing.
    - ``engine``, ``index``: fields of the register ERROR.
    - ``counters``: value of each counter in `eightfold.isa.COUNTERS` at the end, by name.
    - ``events``: int64, shape (n, 2 + counters), in order of time: engine, index of the command
      that it has completed, modulo 2^16, and each counter at that time; or in place of the engine
      `WORK`, and the engine's number, where one begins to work (`eightfold.isa.WORK`) after a cycle
      in which it did not; or `SAMPLE` and 0, every so often; the last one has `END` and 0. Empty if
      there is no monitor.
    - ``ended``: whether it ended without a soft reset.
    - ``reads_outside``: bursts of reads that leave the beats of commands, model and arena, as its
      registers have them.
    - ``unanswered``: bursts without an answer when STATUS said that it was done, or not busy after
      a soft reset.
    - ``bus_errors``: beats and responses that memory answered with an error, whatever the run made
      of them.
    """

    arena: NDArray[np.uint8]
    done: bool
    error: isa.ErrorCode
    engine: int
    index: int
    counters: Mapping[str, int]
    events: NDArray[np.int64]
    ended: bool = True
    reads_outside: int = 0
    unanswered: int = 0
    bus_errors: int = 0

    @property
    def cycles(self) -> int:
        """Cycles from doorbell to done."""
        return self.counters["CYCLES"]

    def tensor(self, offset: int, shape: Sequence[int], dtype: Any = np.int8) -> NDArray:
        """Return a tensor that lies in the arena at a byte offset."""
        count = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
        return self.arena[offset : offset + count].view(dtype).reshape(shape)


def system_design(config: AcceleratorConfig, accelerator: Source | None = None) -> Verilog:
    """Return the accelerator with its memory and monitor.

    ``accelerator`` is a module in place of the unit's, such as its netlist.
    """
    names = [name for name, _ in isa.COUNTERS]
    parameters = {
        "PORT": config.port,
        "BYTES": SIZE,
        "COUNTERS": len(isa.COUNTERS),
        "ENGINES": len(isa.Engine),
        **{
            f"{engine.name}_WORK": sum(1 << names.index(name) for name in isa.WORK[engine])
            for engine in isa.Engine
        },
    }
    return Verilog(
        top=SOURCES[0],
        sources=tuple(FOLDER / f"{name}.v" for name in SOURCES),
        parameters=tuple(parameters.items()),
        units=(accelerator or Unit("accelerator", config),),
    )


def run_system(
    config: AcceleratorConfig,
    simulator: Simulator,
    *,
    words: NDArray[np.uint32],
    model: bytes,
    arena_bytes: int,
    runs: Sequence[Run],
    seed: int = 0,
    timing: MemoryTiming = IDEAL,
    stall: float | Mapping[str, float] = 0.0,
    timeout: int = 100_000,
    limit: int | None = None,
    memory: Literal["verilog", "cocotbext"] = "verilog",
    accelerator: Source | None = None,
    trace: Path | None = None,
    on_progress: OnProgress | None = None,
) -> list[RunResult]:
    """Run commands on the accelerator, any number of times in one simulation.

    Commands, model and arena lie at random places in 16 MiB of memory at a random address, with
    random bytes around. After a run that ends with an error comes a soft reset.

    - ``words``: the command stream, uint32.
    - ``runs``: what is different from run to run.
    - ``seed``: of addresses, of bytes that nobody has set, and of stalls.
    - ``timing``: how long the memory takes, of ``verilog``.
    - ``stall``: probability, 0 to below 1, that a channel of the memory pauses in a cycle; for all
      channels or for some of `CHANNELS`.
    - ``timeout``: register TIMEOUT: cycles without progress.
    - ``limit``: cycles after which a run without an interrupt fails; None: only what ends every
      simulation, and the accelerator's own TIMEOUT.
    - ``memory``: ``verilog`` runs without Python in each cycle, and has the monitor; ``cocotbext``
      is the independent model of the package cocotbext-axi, slow, with a latency of its own, and
      without error ranges.
    - ``accelerator``: a module in place of the unit's, as `system_design` takes it.
    - ``trace``: where to write waves, a ``.vcd`` or ``.fst`` file.

    Raises BenchFailed if a run does not end, a soft reset does not help, a byte outside of the
    arena has changed, a rule of AXI was broken, or the counters are not those of the trace;
    InputError if a program is missing; ValueError if a stall is for an unknown channel, or all is
    too large for the memory.
    """
    stalls = dict(stall) if isinstance(stall, Mapping) else dict.fromkeys(CHANNELS, stall)
    if unknown := sorted(set(stalls) - set(CHANNELS)):
        raise ValueError(f"stall: no channel {', '.join(unknown)}; use {', '.join(CHANNELS)}")
    with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
        folder = Path(name)
        np.savez(
            folder / "program.npz",
            words=np.asarray(words, np.uint32),
            model=np.frombuffer(model, np.uint8),
        )
        job = {
            "folder": name,
            "port": config.port,
            "arena_bytes": arena_bytes,
            "timing": timing_signals(timing, config.port),
            "stall": dict.fromkeys(CHANNELS, 0.0) | stalls,
            "seed": seed,
            "timeout": timeout,
            "limit": limit or limits().cycles,
            "runs": [_write_run(folder, index, run, config.port) for index, run in enumerate(runs)],
        }
        unit = accelerator or Unit("accelerator", config)
        design = system_design(config, unit) if memory == "verilog" else unit
        outcomes = run_bench(
            design,
            DESIGNS[memory],
            simulator,
            parameters=job,
            seed=seed,
            trace=trace,
            on_progress=on_progress,
        ).report["runs"]
        return [_read_run(folder, index, outcome) for index, outcome in enumerate(outcomes)]


def _write_run(folder: Path, index: int, run: Run, port: int) -> dict[str, Any]:
    """Write a run's arrays; return the rest."""
    arrays: dict[str, NDArray[Any]] = {}
    if run.words is not None:
        arrays["words"] = np.asarray(run.words, np.uint32)
    if run.model is not None:
        arrays["model"] = np.frombuffer(run.model, np.uint8)
    for offset, contents in run.inputs.items():
        data = (
            contents if isinstance(contents, bytes) else np.asarray(contents, order="C").tobytes()
        )
        arrays[str(offset)] = np.frombuffer(data, np.uint8)
    (folder / f"run_{index}.npz").write_bytes(npz_bytes(arrays))
    as_it_is = ("kept", "read_error", "write_error", "reset_after", "patience", "writes", "seed")
    return {
        **{name: getattr(run, name) for name in as_it_is},
        "registers": dict(run.registers),
        "stall": None if run.stall is None else dict.fromkeys(CHANNELS, run.stall),
        "timing": run.timing and timing_signals(run.timing, port),
    }


def _read_run(folder: Path, index: int, outcome: dict[str, Any]) -> RunResult:
    status, error = outcome["status"], outcome["error"]
    as_it_is = ("counters", "ended", "reads_outside", "unanswered", "bus_errors")
    with np.load(folder / f"result_{index}.npz", allow_pickle=False) as archive:
        return RunResult(
            arena=archive["arena"],
            events=archive["events"],
            done=bool(status["done"]) and not status["error"],
            error=isa.ErrorCode(error["code"]),
            engine=error["engine"],
            index=error["index"],
            **{name: outcome[name] for name in as_it_is},
        )
