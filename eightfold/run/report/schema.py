"""What ``eightfold run --json`` writes: every field, as docs/run-json.md lists them."""

from typing import Any, TypedDict


class OperatorJson(TypedDict):
    """An operator of a run."""

    index: int
    """The operator's index."""

    name: str
    """Its name in TFLite's schema, such as ``CONV_2D``."""

    shape: list[int]
    """Shape of its first output."""

    macs: int
    """Its multiply-accumulates; 0 for an operator without weights."""

    where: str
    """``hardware`` or ``golden``, where it ran; ``golden (rewritten)`` if a rule has left it out or
    made it part of another: then golden rebuilds its result from what the hardware computed, if it
    is compared or kept.
    """

    hardware_macs: int | None
    """Multiply-accumulates that the hardware did for it: fewer than ``macs`` where channels were
    left out; null in golden.
    """

    cycles: int | None
    """Cycles from the end of the operator before to its own; they add up to the total."""

    engine_cycles: int | None
    """Cycles in which an engine worked for it, also before the operator before had ended."""

    multiplier_cycles: int | None
    """Cycles in which the matrix engine worked for it."""

    utilisation: float | None
    """``hardware_macs``, over those that the multipliers can do in ``multiplier_cycles``; null
    without either.
    """

    mismatches: int | None
    """Elements of its outputs that differ from the reference's; null if nothing was compared."""

    searched: int
    """Channels whose multiplier, shift and rounding were searched for and proved."""

    counters: dict[str, int]
    """What the accelerator's counters counted during ``cycles``; empty without them."""

    reason: str | None
    """Why it ran in golden with ``--fallback golden``."""

    rewritten: list[str]
    """What rules have done to it."""


class TensorJson(TypedDict):
    """An input or output of a model."""

    index: int
    """The tensor's index in subgraph 0."""

    name: str
    """The tensor's name."""

    dtype: str
    """numpy's name of its type, such as ``int8``."""

    shape: list[int]
    """Its shape."""

    sha256: str
    """SHA-256 of its elements, little-endian, the last dimension varying fastest."""


class VersionsJson(TypedDict):
    """What computed a run."""

    eightfold: str
    """This package."""

    python: str
    """The interpreter."""

    numpy: str
    """Numpy, which golden computes with."""

    litert: str | None
    """``ai-edge-litert``, as the process that computed had loaded it; null if nothing was compared
    with it.
    """

    tflm: str | None
    """``tflite-micro``, likewise."""

    simulator: str | None
    """The simulator with its C++ compiler and cocotb; null on golden."""


class RunJson(TypedDict):
    """A run: what it found, and all that is needed to repeat it."""

    schema_version: int
    """Version of this format."""

    model: str
    """Path of the model as it was given; ``(bytes)`` for a model that was no file."""

    config: str
    """Preset or file as it was given with ``--config``; ``custom`` for an object in Python."""

    backend: str
    """``golden``, ``verilator`` or ``icarus``."""

    reference: str
    """``litert`` or ``tflm``: whose kernels are to be equalled where they differ, and were compared
    with.
    """

    model_sha256: str
    """SHA-256 of the model's bytes."""

    configuration: dict[str, Any]
    """Every size of the accelerator, as a configuration file has them."""

    fallback: str | None
    """``golden`` if operators that the accelerator does not compute were to run in numpy."""

    no_rewrite: list[str]
    """Rules that were not applied before the network was compiled, or ``all``."""

    cascade: bool
    """Whether chains of operators were allowed to run strip by strip."""

    stall: float
    """Probability that a channel of the simulated memory paused in a cycle."""

    netlist: str
    """Netlist of the accelerator that was simulated, such as ``ecp5``, see Gates; empty for its
    RTL.
    """

    memory: str
    """How long the simulated memory took: a profile's name or fields, as ``--memory`` takes them
    (memories).
    """

    seed: int | None
    """Seed that the inputs were drawn with; null if they were given."""

    input_file: str | None
    """The file given with ``--input``."""

    compare: bool
    """Whether every tensor was compared with that of the ``reference``."""

    all_tensors: bool
    """Whether every tensor was kept."""

    fast: bool
    """Whether the undisturbed pass was left out; with ``compare``, ``all_tensors`` or ``stall``
    there are no cycles then.
    """

    versions: VersionsJson
    """What computed it."""

    inputs: list[TensorJson]
    """The model's inputs."""

    outputs: list[TensorJson]
    """The model's outputs, as ``inputs``."""

    macs: int
    """Multiply-accumulates of the model, taps on padding included."""

    hardware_macs: int | None
    """Multiply-accumulates that the hardware did; null on golden."""

    cycles: int | None
    """Cycles of the accelerator from doorbell to done, in the undisturbed pass; null on golden, or
    if there was no such pass.
    """

    clock_mhz: float | None
    """Clock of the two times below; null if none was given or measured, and on golden."""

    clock_source: str | None
    """Where the clock comes from."""

    milliseconds: float | None
    """What the cycles take at this clock."""

    inferences_per_second: float | None
    """How many follow each other in a second at this clock."""

    utilisation: float | None
    """MACs done, over those that the multipliers can do in all cycles."""

    mismatches: int | None
    """Elements that differ from the reference's, over all tensors; null if nothing was compared."""

    seconds: float
    """Time on the wall, the simulator's build included."""

    notes: list[str]
    """What was not taken as the file states it."""

    rewrites: list[str]
    """A line for each rule that was applied, with the operators."""

    operators: list[OperatorJson]
    """One for each operator, in the order in which they run."""
