"""What ``eightfold run --json`` writes: every field, as docs/run-json.md lists them."""

from typing import Annotated, Any, TypedDict


class OperatorJson(TypedDict):
    """An operator of a run."""

    index: Annotated[int, "the operator's index"]
    name: Annotated[str, "its name in TFLite's schema, such as `CONV_2D`"]
    shape: Annotated[list[int], "shape of its first output"]
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
    ]
    cycles: Annotated[
        int | None,
        "cycles from the end of the operator before to its own; they add up to the total",
    ]
    engine_cycles: Annotated[
        int | None,
        "cycles in which an engine worked for it, also before the operator before had ended",
    ]
    multiplier_cycles: Annotated[int | None, "cycles in which the matrix engine worked for it"]
    utilisation: Annotated[
        float | None,
        "`hardware_macs`, over those that the multipliers can do in `multiplier_cycles`; "
        "null without either",
    ]
    mismatches: Annotated[
        int | None,
        "elements of its outputs that differ from the reference's; null if nothing was compared",
    ]
    searched: Annotated[
        int,
        "channels whose multiplier, shift and rounding were searched for and proved",
    ]
    counters: Annotated[
        dict[str, int],
        "what the accelerator's counters counted during `cycles`; empty without them",
    ]
    reason: Annotated[str | None, "why it ran in golden with `--fallback golden`"]
    rewritten: Annotated[list[str], "what rules have done to it"]


class FrameJson(TypedDict):
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
        str,
        "SHA-256 of its elements, little-endian, the last dimension varying fastest",
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
        str | None,
        "the simulator with its C++ compiler and cocotb; null on golden",
    ]


class RunJson(TypedDict):
    """A run, of `--frames` the last one: what it found, and all that is needed to repeat it."""

    schema_version: Annotated[int, "version of this format"]
    model: Annotated[
        str,
        "path of the model as it was given; `(bytes)` for a model that was no file",
    ]
    config: Annotated[
        str,
        "preset or file as it was given with `--config`; `custom` for an object in Python",
    ]
    backend: Annotated[str, "`golden`, `verilator`, `icarus` or `board`"]
    reference: Annotated[
        str,
        "`litert` or `tflm`: whose kernels are to be equalled where they differ, and were "
        "compared with",
    ]
    model_sha256: Annotated[str, "SHA-256 of the model's bytes"]
    configuration: Annotated[
        dict[str, Any],
        "every size of the accelerator, as a configuration file has them",
    ]
    fallback: Annotated[
        str | None,
        "`golden` if operators that the accelerator does not compute were to run in numpy",
    ]
    no_rewrite: Annotated[
        list[str],
        "rules that were not applied before the network was compiled, or `all`",
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
        int | None,
        "multiply-accumulates that the hardware did; null on golden",
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
        float | None,
        "how many follow each other in a second at this clock",
    ]
    utilisation: Annotated[
        float | None,
        "MACs done, over those that the multipliers can do in all cycles",
    ]
    mismatches: Annotated[
        int | None,
        "elements that differ from the reference's, over all tensors; null if nothing was compared",
    ]
    seconds: Annotated[float, "time on the wall, the simulator's build included"]
    notes: Annotated[list[str], "what was not taken as the file states it"]
    rewrites: Annotated[list[str], "A line for each rule that was applied, with the operators"]
    operators: Annotated[
        list[OperatorJson],
        "one for each operator, in the order in which they run",
    ]
    frames: Annotated[
        list[FrameJson],
        "with `--frames` each inference, of which all else here is the last; else empty",
    ]
