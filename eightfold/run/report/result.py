"""The result of a run, the JSON of it, and the line that says what it has shown.

docs/run-json.md lists the fields of the JSON. `Record` is what a result may keep besides, for its
page.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from eightfold.model import Graph
from eightfold.operators import count_macs, host_operators
from eightfold.run.reference.oracle import DEVIATIONS, FLOAT_STEPS
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.run.report.clock import Clock, times_json
from eightfold.target.config import AcceleratorConfig

if TYPE_CHECKING:  # the compiler loads only when needed
    from eightfold.compiler import Compiled
    from eightfold.compiler.passes import Prepared
    from eightfold.isa.shares import Work


@dataclass(kw_only=True)
class OperatorReport:
    """An operator of a run."""

    index: Annotated[int, "the operator's index"]
    name: Annotated[str, "its name in TFLite's schema, such as `CONV_2D`"]
    shape: Annotated[tuple[int, ...], "shape of its first output"]
    macs: Annotated[int, "its multiply-accumulates; 0 for an operator without weights"]
    where: Annotated[
        str,
        "`hardware` or `golden`, where it ran; `host` for a QUANTIZE or DEQUANTIZE of float32 at "
        "the edge of the network, which is the host's work; `golden (rewritten)` if a rule has "
        "left it out or made it part of another: then golden rebuilds its result from what the "
        "hardware computed, if it is compared or kept",
    ]
    hardware_macs: Annotated[
        int | None,
        "multiply-accumulates that the hardware did for it: fewer than `macs` where "
        "channels were left out; null in golden",
    ] = None
    cycles: Annotated[
        int | None,
        "cycles from the end of the operator before to its own; they add up to the total",
    ] = None
    engine_cycles: Annotated[
        int | None,
        "cycles in which an engine worked for it, also before the operator before had ended",
    ] = None
    multiplier_cycles: Annotated[int | None, "cycles in which the matrix engine worked for it"] = (
        None
    )
    utilisation: Annotated[
        float | None,
        "`hardware_macs`, over those that the multipliers can do in `multiplier_cycles`; "
        "null without either",
    ] = None
    mismatches: Annotated[
        int | None,
        "elements of its outputs that differ from the reference's; null if nothing was compared",
    ] = None
    searched: Annotated[
        int, "channels whose multiplier, shift and rounding were searched for and proved"
    ] = 0
    counters: Annotated[
        dict[str, int],
        "what the accelerator's counters counted during `cycles`; empty without them",
    ] = field(default_factory=dict)
    reason: Annotated[str | None, "why it ran in golden with `--fallback golden`"] = None
    rewritten: Annotated[list[str], "what rules have done to it"] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One of several inferences in a row."""

    cycles: Annotated[int | None, "its cycles, as those of the run"]
    mismatches: Annotated[
        int | None,
        "elements that differ from the reference's, over all tensors and what the variables hold "
        "after it; null if nothing was compared",
    ]
    first_mismatch: Annotated[str | None, "the first of them: operator, tensor, place and values"]


class TensorJson(TypedDict):
    """An input or output of a model."""

    index: Annotated[int, "the tensor's index in subgraph 0"]
    name: Annotated[str, "the tensor's name"]
    dtype: Annotated[str, "numpy's name of its type, such as `int8`"]
    shape: Annotated[list[int], "its shape"]
    sha256: Annotated[
        str, "SHA-256 of its elements, little-endian, the last dimension varying fastest"
    ]


class VersionsJson(TypedDict):
    """What computed a run."""

    eightfold: Annotated[str, "this package"]
    python: Annotated[str, "the interpreter"]
    numpy: Annotated[str, "numpy, which golden computes with"]
    litert: Annotated[
        str | None,
        "`ai-edge-litert`, as the process that computed had loaded it; null if nothing was "
        "compared with it",
    ]
    tflm: Annotated[str | None, "`tflite-micro`, likewise"]
    simulator: Annotated[
        str | None, "the simulator with its C++ compiler and cocotb; null on golden"
    ]


class RunJson(TypedDict):
    """A run, of `--frames` the last one: what it found, and all that is needed to repeat it."""

    schema_version: Annotated[int, "version of this format"]
    model: Annotated[
        str, "path of the model as it was given; `(bytes)` for a model that was no file"
    ]
    config: Annotated[
        str, "preset or file as it was given with `--config`; `custom` for an object in Python"
    ]
    backend: Annotated[str, "`golden`, `verilator`, `icarus` or `board`"]
    reference: Annotated[
        str,
        "`litert` or `tflm`: whose kernels are to be equalled where they differ, and were "
        "compared with",
    ]
    model_sha256: Annotated[str, "SHA-256 of the model's bytes"]
    configuration: Annotated[
        dict[str, Any], "every size of the accelerator, as a configuration file has them"
    ]
    fallback: Annotated[
        str | None,
        "`golden` if operators that the accelerator does not compute were to run in numpy",
    ]
    batch: Annotated[int | None, "entries given with `--batch`; null: as the file states them"]
    no_rewrite: Annotated[
        list[str], "rules that were not applied before the network was compiled, or `all`"
    ]
    cascade: Annotated[bool, "whether chains of operators were allowed to run strip by strip"]
    stall: Annotated[float, "probability that a channel of the simulated memory paused in a cycle"]
    netlist: Annotated[
        str,
        "netlist of the accelerator that was simulated, such as `ecp5`, see Gates; empty "
        "for its RTL",
    ]
    memory: Annotated[
        str,
        "how long the simulated memory took: a profile's name or fields, as `--memory` "
        "takes them (memories)",
    ]
    seed: Annotated[int | None, "seed that the inputs were drawn with; null if they were given"]
    input_file: Annotated[str | None, "the file given with `--input`"]
    compare: Annotated[bool, "whether every tensor was compared with that of the `reference`"]
    all_tensors: Annotated[bool, "whether every tensor was kept"]
    fast: Annotated[
        bool,
        "whether the undisturbed pass was left out; with `compare`, `all_tensors` or "
        "`stall` there are no cycles then",
    ]
    versions: Annotated[VersionsJson, "what computed it"]
    inputs: Annotated[list[TensorJson], "the model's inputs"]
    outputs: Annotated[list[TensorJson], "the model's outputs, as `inputs`"]
    macs: Annotated[int, "multiply-accumulates of the model, taps on padding included"]
    hardware_macs: Annotated[
        int | None, "multiply-accumulates that the hardware did; null on golden"
    ]
    cycles: Annotated[
        int | None,
        "cycles of the accelerator from doorbell to done, in the undisturbed pass; null on "
        "golden, or if there was no such pass",
    ]
    clock_mhz: Annotated[
        float | None,
        "clock of the two times below; null if none was given or measured, and on golden",
    ]
    clock_source: Annotated[str | None, "where the clock comes from"]
    milliseconds: Annotated[float | None, "what the cycles take at this clock"]
    inferences_per_second: Annotated[
        float | None, "how many follow each other in a second at this clock"
    ]
    utilisation: Annotated[
        float | None, "MACs done, over those that the multipliers can do in all cycles"
    ]
    mismatches: Annotated[
        int | None,
        "elements that differ from the reference's, over all tensors; null if nothing was compared",
    ]
    seconds: Annotated[float, "time on the wall, the simulator's build included"]
    notes: Annotated[list[str], "what was not taken as the file states it"]
    rewrites: Annotated[list[str], "A line for each rule that was applied, with the operators"]
    operators: Annotated[
        list[OperatorReport], "one for each operator, in the order in which they run"
    ]
    frames: Annotated[
        list[Frame],
        "with `--frames` each inference, of which all else here is the last; else empty",
    ]


@dataclass(frozen=True, kw_only=True)
class StreamRecord:
    """One command stream in simulation."""

    compiled: "Compiled"
    """Its commands, and where its tensors lie."""
    spans: NDArray[np.int64]
    """int64, shape (n, 3): of each completed command of an engine its index, and the cycles from
    the doorbell in which its engine began and ended to work at it alone: the commands of an engine
    follow each other, though it prepares the next one meanwhile."""
    counts: NDArray[np.int64]
    """int64, shape (m, counters): `eightfold.isa.COUNTERS` at times in order, the last one at the
    end of the run."""

    @property
    def cycles(self) -> int:
        """Cycles from doorbell to done."""
        return int(self.counts[-1, 0])


@dataclass(kw_only=True)
class TensorRecord:
    """A computed tensor, and how it compares.

    ``operator``: the one that computes it, by index; ``compared``: whether the reference had it;
    ``different``: elements that differ from the reference's; ``first``: index of the first of them,
    got and expected.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    operator: int
    compared: bool = False
    different: int = 0
    first: tuple[tuple[int, ...], str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of one run: its command streams, none on golden, and the tensors that it computed.

    ``names`` are those of all tensors of the model, by index.
    """

    streams: Sequence[StreamRecord] = ()
    tensors: list[TensorRecord] = field(default_factory=list)
    names: Mapping[int, str] = field(default_factory=dict)


SCHEMA_VERSION = 2
"""The version of `RunResult.as_json`: counts up when a field goes or changes its meaning."""


REWRITTEN = "golden (rewritten)"
"""Where an operator ran whose work was left out or has become that of others: only what is compared
or kept of it was computed, by golden from what the hardware has."""


HOST = "host"
"""Where the operators of `eightfold.operators.host_operators` ran, whatever runs the others: golden
computes in this process what the C functions of ``network.h`` do beside the accelerator."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a run was made from: with it the run can be repeated, and known to be the same.

    ``docs/run-json.md`` says of each field what it is. ``inputs`` and ``outputs`` have a dict for
    each tensor, see `fingerprint`.
    """

    model_sha256: str
    configuration: dict[str, Any]
    fallback: str | None
    batch: int | None = None
    no_rewrite: list[str] = field(default_factory=list)
    cascade: bool = True
    stall: float
    netlist: str
    memory: str
    seed: int | None
    input_file: str | None = None
    compare: bool
    all_tensors: bool
    fast: bool = False
    versions: dict[str, str | None]
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]


def fingerprint(index: int, name: str, array: np.ndarray) -> dict[str, Any]:
    """Return index, name, dtype and shape of a tensor, and the SHA-256 of its elements.

    The hash is of the elements' bytes, little-endian, the last dimension varying fastest.
    """
    ordered = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    return {
        "index": index,
        "name": name,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "sha256": hashlib.sha256(ordered.tobytes()).hexdigest(),
    }


class Figures:
    """What operators took, in all: of one inference, or of its estimate."""

    operators: list[OperatorReport]
    macs_per_cycle: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the model, padding taps included."""
        return sum(operator.macs for operator in self.operators)

    @property
    def hardware_macs(self) -> int:
        """Multiply-accumulates that the hardware did, padding taps included."""
        return sum(operator.hardware_macs or 0 for operator in self.operators)

    @property
    def cycles(self) -> int | None:
        """Cycles of the operators in hardware."""
        cycles = [operator.cycles for operator in self.operators if operator.cycles is not None]
        return sum(cycles) if cycles else None

    @property
    def utilisation(self) -> float | None:
        """MACs in hardware over those that the multipliers can do in all cycles."""
        return self.hardware_macs / (self.cycles * self.macs_per_cycle) if self.cycles else None


@dataclass(kw_only=True)
class RunResult(Figures):
    """One inference: tensors by index, and what it took.

    ``notes`` says which tensors were not taken as the file states them, ``rewrites`` which rules
    were applied to which operators before the network was compiled; ``near`` has the
    tensors that differ by no more than `eightfold.run.reference.oracle.differences` allows;
    ``provenance`` is None where no `eightfold.Session` ran it.

    ``cycles`` is the sum over the operators that ran in hardware: from doorbell to done, in a pass
    that nothing disturbs. None on the golden backend, and where that pass was left out: ``untimed``
    then names what has disturbed the only one. ``clock``: what times are told of, if any.

    ``record`` is there if `eightfold.Session.run` was asked for it: what a page shows besides.
    ``frames``: of the last inference of `eightfold.Session.run_frames` all of them; else empty.
    """

    model: str
    config: str
    backend: str
    reference: str
    tensors: dict[int, np.ndarray]
    outputs: dict[int, np.ndarray]
    operators: list[OperatorReport]
    macs_per_cycle: int
    clock: Clock | None = None
    untimed: str | None = None
    seconds: float = 0.0
    compared: bool = False
    first_mismatch: str | None = None
    unread: list[int] = field(default_factory=list)
    undefined: list[int] = field(default_factory=list)
    near: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rewrites: list[str] = field(default_factory=list)
    provenance: Provenance | None = None
    record: Record | None = None
    frames: list[Frame] = field(default_factory=list)

    @property
    def mismatches(self) -> int | None:
        """Differing elements over all tensors, None if nothing was compared."""
        if not self.compared:
            return None
        return sum(operator.mismatches or 0 for operator in self.operators)

    def as_json(self) -> dict[str, Any]:
        """Return what ``eightfold run --json`` writes; ``docs/run-json.md`` has every field."""
        return {
            "schema_version": SCHEMA_VERSION,
            "model": self.model,
            "config": self.config,
            "backend": self.backend,
            "reference": self.reference,
            **({} if self.provenance is None else asdict(self.provenance)),
            "macs": self.macs,
            "hardware_macs": self.hardware_macs if self.backend != "golden" else None,
            "cycles": self.cycles,
            **times_json(self.cycles, self.clock),
            "utilisation": self.utilisation,
            "mismatches": self.mismatches,
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
            "rewrites": self.rewrites,
            "operators": [asdict(operator) for operator in self.operators],
            "frames": [asdict(frame) for frame in self.frames],
        }


def mac_limit(macs: int, macs_per_cycle: int) -> int:
    """Return the cycles that ``macs`` take if every multiplier works in each of them."""
    return -(-macs // macs_per_cycle)


def verdict(result: RunResult) -> str:
    """Return one line that says what a run has shown."""
    hardware = [operator for operator in result.operators if operator.where == "hardware"]
    gone = sum(operator.where == REWRITTEN for operator in result.operators)
    host = sum(operator.where == HOST for operator in result.operators)
    golden = sum(operator.where == "golden" for operator in result.operators)
    ran = (
        f"{len(hardware)} of {len(result.operators)} operators in hardware"
        + (f", {golden} in golden" if golden else "")
        + (f", {gone} rewritten into others" if gone else "")
        if result.backend != "golden"
        else f"{golden} operators in golden"
    ) + (f", {host} on the host" if host else "")
    if not result.compared:
        return f"{ran}; nothing compared (use --compare)"
    runtime = RUNTIMES[result.reference]
    if result.mismatches:
        differ = f"{result.mismatches} elements differ from {runtime.title}"
        return f"{ran}; {differ}: {result.first_mismatch}"
    if result.undefined:
        ran += f"; tensors {result.undefined} have no defined result, and no output needs them"
    if result.unread:
        equal = f"equal to {runtime.title} but for tensors {result.unread}, which it does not keep"
    else:
        version = result.provenance and result.provenance.versions[result.reference]
        equal = f"every tensor equals {runtime.kernels(version)} bit for bit"
    if result.near:
        equal += (
            f", but tensors {result.near} within {FLOAT_STEPS} steps of float32: their exp and log "
            "are those of the machine's C library"
        )
    names = {operator.name for operator in result.operators if result.reference == "litert"}
    told = [f", {name} as intended: {why}" for name, why in DEVIATIONS.items() if name in names]
    return f"{ran}; {equal}{''.join(told)}"


def golden_reports(graph: Graph) -> list[OperatorReport]:
    """Return a report for each operator of a graph that golden, at the edges the host computes."""
    host = host_operators(graph)
    return [
        OperatorReport(
            index=operator.index,
            name=operator.name,
            shape=graph.tensors[operator.outputs[0]].shape,
            macs=count_macs(graph, operator),
            where=HOST if operator.index in host else "golden",
        )
        for operator in graph.operators
    ]


def hardware_reports(
    graph: Graph,
    prepared: "Prepared",
    config: AcceleratorConfig,
    cycles: Mapping[int, int] | None = None,
    work: "Mapping[int, Work] | None" = None,
) -> list[OperatorReport]:
    """Return a report for each operator of a graph that was prepared for the accelerator.

    ``cycles``, ``work``: by operator on the accelerator, as `eightfold.estimate.estimate.Estimate`
    has them; None where no pass was timed.
    """
    network, rewritten = prepared.network, prepared.rewritten
    gone = rewritten.gone()
    done = {op.index: count_macs(rewritten.graph, op) for op in rewritten.graph.operators}
    reports = golden_reports(graph)
    for report in reports:
        index = report.index
        report.rewritten = rewritten.applied_to(index)
        report.reason = network.reasons.get(index)
        report.searched = network.searched.get(index, 0)
        if index in gone:
            report.where = REWRITTEN
            report.hardware_macs = 0
        elif report.reason is None and report.where != HOST:
            report.where = "hardware"
            report.hardware_macs = done[index]
            if cycles is not None and work is not None:
                _add_cycles(report, cycles[index], work.get(index), config.macs_per_cycle)
    return reports


def _add_cycles(
    report: OperatorReport, cycles: int, work: "Work | None", macs_per_cycle: int
) -> None:
    report.cycles = cycles
    report.engine_cycles = work.engines if work else 0
    report.multiplier_cycles = work.multipliers if work else 0
    if report.hardware_macs and report.multiplier_cycles:
        possible = report.multiplier_cycles * macs_per_cycle
        report.utilisation = report.hardware_macs / possible
