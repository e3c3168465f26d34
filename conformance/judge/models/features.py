"""Simple features of an operator's runs: what sentences say that some of them have in common."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from eightfold.conformance.judge.models.subject import OperatorRun
from eightfold.conformance.judge.rules import Clause, Mask, clauses_of

_Facts = dict[str, bool]


def common(subjects: Sequence[OperatorRun], meant: Sequence[bool] | Mask) -> tuple[Clause, ...]:
    """Return rules that say which runs are meant; see `eightfold.conformance.judge.rules`."""
    wanted = np.asarray(meant, bool)
    if not wanted.any():
        return ()
    facts = [_facts(subject) for subject in subjects]
    names = sorted({name for each in facts for name in each})
    table: dict[str, Mask] = {}
    for name in names:
        mask = np.array([each.get(name, False) for each in facts])
        if mask.any() and not mask.all():
            table[name] = mask
    if not table:
        return ()
    return clauses_of(table, wanted)


def _facts(subject: OperatorRun) -> _Facts:
    call = subject.call
    facts: _Facts = {}
    for name, value in subject.operator.options.items():
        if isinstance(value, bool | int | str):
            facts[f"the option {name} {value}"] = True
    for position, tensor in enumerate(call.inputs):
        if tensor is None:
            facts[f"no input {position}"] = True
            continue
        facts[f"a constant as input {position}"] = tensor.data is not None
        facts[f"an input of the graph as input {position}"] = tensor.data is None
        facts[f"input {position} of type {tensor.dtype}"] = True
        facts[f"rank {len(tensor.shape)} of input {position}"] = True
        facts[f"a batch above 1 of input {position}"] = tensor.shape[:1] > (1,)
        facts |= _quantized(subject, position)
    if len(call.inputs) < 3:
        facts["no third input"] = True
    facts |= _quantized(subject, -1)
    output = call.output
    facts[f"rank {len(output.shape)} of the output"] = True
    facts["more than 1000 results"] = prod(output.shape) > 1000
    first = call.tensor(0)
    facts["another shape of input and output"] = first is not None and first.shape != output.shape
    for text, holds in _RELATIONS.items():
        try:
            facts[text] = bool(holds(subject))
        except Exception:  # an operator that has no such tensor
            continue
    return facts


def _quantized(subject: OperatorRun, position: int) -> _Facts:
    call = subject.call
    tensor = call.output if position < 0 else call.inputs[position]
    if tensor is None or tensor.quantization is None:
        return {}
    name = "the output" if position < 0 else f"input {position}"
    points = tensor.quantization.zero_point
    single = tensor.quantization.scale.size == 1
    scale = np.frexp(tensor.quantization.scale)[0]
    return {
        f"a zero point of 0 of {name}": single and points[0] == 0,
        f"a zero point other than 0 of {name}": single and points[0] != 0,
        f"a zero point of -128 of {name}": single and points[0] == -128,
        f"a zero point of 127 of {name}": single and points[0] == 127,
        f"a scale per slice of {name}": not single,
        f"a scale that is a power of two of {name}": bool((scale == 0.5).all()),
        f"a scale above 1 of {name}": bool((tensor.quantization.scale > 1).any()),
    }


def _two(subject: OperatorRun) -> tuple[tuple[np.float32, int], tuple[np.float32, int]]:
    call = subject.call
    return call.quantization(0).per_tensor(), call.output_quantization().per_tensor()


_RELATIONS: dict[str, Callable[[OperatorRun], object]] = {
    "another scale or zero point of the output than of the input": lambda s: (
        _two(s)[0] != _two(s)[1]
    ),
    "an output scale far below the input's": lambda s: _two(s)[1][0] < _two(s)[0][0] / 256,
    "a group convolution": lambda s: (
        s.operator.name == "CONV_2D" and s.call.codes(0).shape[3] != s.call.codes(1).shape[3]
    ),
    "operands of one shape": lambda s: s.call.codes(0).shape == s.call.codes(1).shape,
    "a window of one pixel": lambda s: s.call.codes(1).shape[1:3] == (1, 1),
    "a pool of one pixel": lambda s: (
        s.operator.options["filter_height"] == s.operator.options["filter_width"] == 1
    ),
    "a window of more pixels in a row than the stride": lambda s: (
        s.operator.options["filter_width"] > s.operator.options["stride_w"]
    ),
}
"""Features that several tensors make together."""
