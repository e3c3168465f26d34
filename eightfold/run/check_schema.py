"""What ``eightfold check --json`` writes: every field, as docs/check-json.md lists them."""

from typing import Annotated, TypedDict


class FindingJson(TypedDict):
    """A place in which the model is not as a row of the spec, or a kernel, wants it."""

    severity: Annotated[str, "`violation` or `note`"]
    operator: Annotated[int, "the operator's index"]
    operator_name: Annotated[str, "its name, such as `CONV_2D`"]
    tensor: Annotated[int | None, "the tensor's index; null if it is about the operator"]
    tensor_name: Annotated[str | None, "its name"]
    rule: Annotated[str, "what is asked"]
    identity: Annotated[
        str | None,
        "the [rule of the spec](spec.md) that asks it, such as `TFL8-CONV_2D-3`; null of what the "
        "reference kernels ask",
    ]
    source: Annotated[str, "who asks it"]
    found: Annotated[str, "what the model has instead"]


class PlaceJson(TypedDict):
    """An operator, and where it runs at the preset where most is possible."""

    index: Annotated[int, "its index"]
    name: Annotated[str, "its name"]
    where: Annotated[
        str | None,
        "`hardware`, `host` at the edges, `golden` with `--fallback golden`, or `nowhere`; null if "
        "it is not known, as another operator stops the network",
    ]
    reason: Annotated[str | None, "why it is in golden, or nowhere"]


class PresetJson(TypedDict):
    """The network at a preset, or another configuration."""

    config: Annotated[str, "its name"]
    status: Annotated[str, "`runs`, `fallback` or `refused`: as of the whole report"]
    reason: Annotated[str | None, "why it is refused"]
    cycles: Annotated[int | None, "of what the accelerator computes, by the estimate; null if none"]
    milliseconds: Annotated[float | None, "their time, at a preset whose clock was measured"]
    commands_bytes: Annotated[int | None, "of the command streams"]
    model_bytes: Annotated[int | None, "of weights and parameters"]
    arena_bytes: Annotated[int | None, "of memory for tensors"]
    scratchpad_bytes: Annotated[int | None, "in use of the scratchpad, up to the last one"]


class AdviceJson(TypedDict):
    """Something in the way of int8 throughout."""

    found: Annotated[str, "what it is"]
    line: Annotated[str, "the line for TensorFlow's converter that changes it"]


class CheckJson(TypedDict):
    """What `eightfold check` says of a file."""

    model: Annotated[str, "the file"]
    status: Annotated[
        str,
        "`runs`, on the accelerator but for conversions at the edges; `fallback`: with `--fallback "
        "golden`; `refused`; at the preset where most is possible",
    ]
    reason: Annotated[str | None, "why it is refused"]
    conforms: Annotated[bool, "whether it was read, and violates no row of the spec"]
    violations: Annotated[int, "how many findings are violations"]
    notes: Annotated[int, "how many are notes"]
    findings: Annotated[list[FindingJson], "where it is not as the spec or the kernels want it"]
    operators: Annotated[list[PlaceJson], "all operators; none if the file is not taken at all"]
    presets: Annotated[list[PresetJson], "those that were asked for"]
    advice: Annotated[list[AdviceJson], "what to change when the network is converted"]
