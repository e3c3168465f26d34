"""Models that copy int8 tensors, rebuilt with integers of more bytes."""

import numpy as np

from eightfold.cases.draws import Case
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model


def widened(case: Case, dtype: type[np.signedinteger], rng: np.random.Generator) -> Case:
    """Return the model with ``dtype`` for int8, without quantization, and other random values."""
    model, inputs = case
    graph = load_model(model)
    limits = np.iinfo(dtype)
    builder = ModelBuilder()
    values = dict[int, np.ndarray]()
    for tensor in graph.tensors:
        moved = tensor.dtype == np.int8
        kind = dtype if moved else tensor.dtype
        random = rng.integers(limits.min, limits.max, tensor.shape, dtype, endpoint=True)
        if tensor.data is not None:
            place = builder.constant(random if moved else tensor.data)
        elif tensor.index in graph.inputs:
            place = builder.input(tensor.shape, dtype=kind)
            values[place] = random if moved else inputs[tensor.index]
        else:
            place = builder.tensor(tensor.shape, dtype=kind)
        assert place == tensor.index
    for operator in graph.operators:
        builder.operator(operator.name, operator.inputs, operator.outputs, operator.options)
    for output in graph.outputs:
        builder.output(output)
    return builder.build(), values
