"""The result of a run, the JSON of it, and the line that says what it has shown.

`Record` is what a result may keep besides, for its page.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eightfold.run.reference.oracle import DEVIATIONS, FLOAT_STEPS
from eightfold.run.reference.runtimes import RUNTIMES
from eightfold.run.report.clock import Clock, times_json


@dataclass(frozen=True, kw_only=True)
class StreamRecord:
    """One command stream in simulation.

    Attributes
    ----------
    compiled
        Its commands, and where its tensors lie.
    spans
        int64, shape (n, 3): of each completed command of an engine its index, and the cycles from
        the doorbell in which its engine began and ended to work at it alone: the commands of an
        engine follow each other, though it prepares the next one meanwhile.
    counts
        int64, shape (m, counters): `eightfold.isa.COUNTERS` at times in order, the last one at the
        end of the run.
    """

    compiled: "Compiled"
    spans: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def cycles(self) -> int:
        """Cycles from doorbell to done."""
        return int(self.counts[-1, 0])


@dataclass(kw_only=True)
class TensorRecord:
    """A computed tensor, and how it compares.

    Attributes
    ----------
    operator
        The one that computes it, by index.
    compared
        Whether the reference had it.
    different
        Elements that differ from the reference's.
    first
        Index of the first of them, got and expected.
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


@dataclass(kw_only=True)
class OperatorReport:
    """One operator of a run.

    ``where`` is ``hardware``, ``golden``, `HOST` or `REWRITTEN`, ``reason`` says why an operator
    ran in golden. ``macs`` are those that the file asks for, ``hardware_macs`` those that the
    hardware did: fewer where channels were left out, or none.

    Of the pass that is timed, None where there is no such pass or the hardware did not compute it:
    ``cycles`` from the end of the operator before to its own, which add up to the run's;
    ``engine_cycles``, in which an engine worked for it, and ``multiplier_cycles``, in which the
    matrix engine did, see `eightfold.isa.shares.Work`; ``utilisation``: ``hardware_macs``
    over those that the multipliers can do in ``multiplier_cycles``, None without any; ``counters``:
    what the accelerator's counters counted during ``cycles``.

    ``mismatches`` is None where nothing was compared; ``rewritten``: what rules of the compiler
    have done to it; ``searched`` counts channels whose requantization had to be searched and
    proved.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    macs: int
    where: str
    hardware_macs: int | None = None
    cycles: int | None = None
    engine_cycles: int | None = None
    multiplier_cycles: int | None = None
    utilisation: float | None = None
    mismatches: int | None = None
    searched: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    reason: str | None = None
    rewritten: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a run was made from: with it the run can be repeated, and known to be the same.

    ``docs/run-json.md`` says of each field what it is. ``inputs`` and ``outputs`` have a dict for
    each tensor, see `fingerprint`.
    """

    model_sha256: str
    configuration: dict[str, Any]
    fallback: str | None
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


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One of several inferences in a row: its cycles and how it compares, as `RunResult` has it."""

    cycles: int | None
    mismatches: int | None
    first_mismatch: str | None


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
    ran = (
        f"{len(hardware)} of {len(result.operators)} operators in hardware"
        + (f", {gone} rewritten into others" if gone else "")
        if result.backend != "golden"
        else f"{len(result.operators) - host} operators in golden"
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
    deviations = [
        f", {name} as intended: {why}" for name, why in DEVIATIONS.items() if name in names
    ]
    return f"{ran}; {equal}{''.join(deviations)}"


if TYPE_CHECKING:
    from eightfold.compiler import Compiled
