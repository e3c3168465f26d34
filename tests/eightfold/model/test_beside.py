"""What LiteRT refuses a file for beside subgraph 0 is refused, and nothing else of it.

Every case is subgraph 1 of a sound model, its signatures or its operator codes, changed in one way.
`test_litert_says_the_same` asks LiteRT about all of them.
"""

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as generated

from eightfold.common.errors import InputError
from eightfold.model.beside import ELEMENT_BITS, NO_KERNEL
from eightfold.model.schema import OPERATOR_CODES
from eightfold.operators import load_model
from eightfold.run.reference.oracle import Oracle, OracleError, OracleRejected
from tests.support.models.edited import Edit, each, edited, ints, put, with_buffer

_INPUT = {0: np.ones((1, 4, 4, 2), np.int8)}


def _twice(model: Any) -> None:
    """Let a model have two subgraphs alike."""
    model.subgraphs.append(copy.deepcopy(model.subgraphs[0]))


def _edited(edit: Edit) -> bytes:
    return edited(_twice, edit)


_subgraph = partial(put, "subgraphs", 1)
_tensor = partial(_subgraph, "tensors")
_operator = partial(_subgraph, "operators")
_buffer = partial(with_buffer, 1)


def _code(code: int, *, used: bool = False, **fields: Any) -> Edit:
    """Add an operator code; ``used``: operator 1 refers to it, and has no options."""

    def edit(model: Any) -> None:
        added = {"deprecatedBuiltinCode": min(code, 127), "builtinCode": code, **fields}
        model.operatorCodes.append(generated.OperatorCodeT(version=1, **added))
        if used:
            number = len(model.operatorCodes) - 1
            _operator(1, opcodeIndex=number, builtinOptions=None, builtinOptionsType=0)(model)

    return edit


def _options(name: str, table: str, **fields: Any) -> Edit:
    """Make operator 1 another one, with options."""

    def edit(model: Any) -> None:
        _code(OPERATOR_CODES[name], used=True)(model)
        values = getattr(generated, f"{table}T")()
        vars(values).update(fields)
        first = hasattr(generated.BuiltinOptions, table)
        union = "builtinOptions" if first else "builtinOptions2"
        codes = generated.BuiltinOptions if first else generated.BuiltinOptions2
        _operator(1, **{union: values, f"{union}Type": getattr(codes, table)})(model)

    return edit


def _sparse(index: int, *dimensions: Any, order: bool = True) -> Edit:
    values = generated.SparsityParametersT()
    fields = {"dimMetadata": list(dimensions) or None, "traversalOrder": ints(0) if order else None}
    vars(values).update(fields)
    return _tensor(index, sparsity=values)


def _dimension(kind: int, *parts: str) -> Any:
    stored = generated.DimensionMetadataT()
    stored.format = kind
    for part in parts:
        held = generated.Int32VectorT()
        vars(held).update(values=ints(0, 1))
        vars(stored).update({part: held, f"{part}Type": 1})
    return stored


def _signatures(*signatures: dict[str, Any]) -> Edit:
    def edit(model: Any) -> None:
        model.signatureDefs = []
        for fields in signatures:
            signature = generated.SignatureDefT()
            usual = {"inputs": [_named(b"x", 0)], "outputs": [_named(b"y", 4)]}
            vars(signature).update({"signatureKey": b"serving_default", **usual, **fields})
            model.signatureDefs.append(signature)

    return edit


def _named(name: bytes | None, index: int) -> Any:
    named = generated.TensorMapT()
    vars(named).update(name=name, tensorIndex=index)
    return named


def _third(model: Any) -> None:
    model.subgraphs.append(copy.deepcopy(model.subgraphs[1]))
    model.subgraphs[2].tensors[1].buffer = 9


def _longs(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


_BIG = 2**31 - 1
_STRING, _FLOAT64 = 5, 10

REFUSED: dict[str, tuple[Edit, str]] = {
    "no tensors": (_subgraph(tensors=None), "subgraph 1 has no tensors"),
    "operator code": (_operator(0, opcodeIndex=7), "operator 0 refers to operator code 7 of 2"),
    "no codes": (put(operatorCodes=None), "operator code"),
    "third": (_third, "subgraph 2 has a tensor that refers to buffer 9"),
    "custom without a name": (_code(32), "an unknown one, code 32 without a name"),
    "delegate": (_code(51), "operator code 2, .*DELEGATE; LiteRT has no kernel"),
    "delegate in use": (_code(51, used=True), "DELEGATE; LiteRT has no kernel"),
    "placeholder": (_code(127), "PLACEHOLDER.*; LiteRT has no kernel"),
    "STABLEHLO_DIVIDE in use": (_code(164, used=True), "STABLEHLO_DIVIDE; LiteRT has no kernel"),
    "LSTM without options": (_code(16, used=True), "operator 1 LSTM: LSTM has no options"),
    "kernel": (_options("LSTM", "LSTMOptions", kernelType=2), "kernel_type has the unknown code 2"),
    "weights": (
        _options("FULLY_CONNECTED", "FullyConnectedOptions", weightsFormat=2),
        "FULLY_CONNECTED: weights_format has the unknown code 2",
    ),
    "bias type": (
        _options("CONV_2D", "Conv2DOptions", quantizedBiasType=99),
        "quantized_bias_type has the unknown code 99",
    ),
    "cast": (_options("CAST", "CastOptions", inDataType=-1), "in_data_type has the unknown code"),
    "index type": (_options("ARG_MAX", "ArgMaxOptions", outputType=23), "output_type has the"),
    "shape type": (_options("SHAPE", "ShapeOptions", outType=99), "out_type has the unknown"),
    "new shape": (
        _options("RESHAPE", "ReshapeOptions", newShape=np.ones(9, np.int32)),
        "RESHAPE: new_shape has 9 numbers; the limit is 8",
    ),
    "squeezed": (
        _options("SQUEEZE", "SqueezeOptions", squeezeDims=np.ones(9, np.int32)),
        "squeeze_dims has 9 numbers",
    ),
    "boundaries": (_options("BUCKETIZE", "BucketizeOptions"), "boundaries is left out"),
    "window function": (_options("REDUCE_WINDOW", "ReduceWindowOptions"), "reduce_function has"),
    "composite": (_code(206, used=True), "STABLEHLO_COMPOSITE has no options"),
    "composite's name": (
        _options("STABLEHLO_COMPOSITE", "StableHLOCompositeOptions"),
        "name is left out",
    ),
    "pad": (
        _options("STABLEHLO_PAD", "StablehloPadOptions", edgePaddingLow=_longs(1)),
        "edge_padding_high is left out",
    ),
    "pad's lengths": (
        _options(
            "STABLEHLO_PAD",
            "StablehloPadOptions",
            edgePaddingLow=_longs(1),
            edgePaddingHigh=_longs(1),
            interiorPadding=_longs(1, 1),
        ),
        "are not of one length",
    ),
    "window": (
        _options(
            "STABLEHLO_REDUCE_WINDOW",
            "StablehloReduceWindowOptions",
            windowDimensions=_longs(1),
            padding=_longs(1),
        ),
        "padding has 1 numbers for 1 window_dimensions",
    ),
    "no window": (
        _options(
            "STABLEHLO_REDUCE_WINDOW", "StablehloReduceWindowOptions", windowDimensions=_longs()
        ),
        "window_dimensions has 0 numbers",
    ),
    "data too short": (
        _tensor(2, shape=ints(4), quantization=None),
        "subgraph 1: tensor 2 takes 16 bytes, but its data has 12",
    ),
    "double": (_tensor(1, type=_FLOAT64, quantization=None), "tensor 1 takes 48 bytes"),
    "empty data": (_buffer(0, data=np.zeros(0, np.uint8)), "its data has 0"),
    "buffer": (_tensor(1, buffer=9), "a tensor that refers to buffer 9 of 3"),
    "data behind the end": (_buffer(1, offset=1 << 20, size=6), "it refers to bytes 1048576"),
    "data beyond the end": (_buffer(1, offset=16, size=1 << 30), "it refers to bytes 16"),
    "short data outside": (_buffer(1, offset=16, size=5), "takes 6 bytes, but its data has 5"),
    "two places of data": (_tensor(1, externalBuffer=1), "inside of the flatbuffer, and outside"),
    "type 23": (_tensor(3, type=23, quantization=None), "has the element type code 23"),
    "type -1": (_tensor(1, type=-1, quantization=None), "has the element type code -1"),
    "dynamic": (_tensor(3, shape=ints(-1, 4), quantization=None), "that nothing holds"),
    "nothing, but below 0": (_tensor(3, shape=ints(0, -1), quantization=None), "nothing holds"),
    "elements": (_tensor(3, shape=ints(_BIG, _BIG, _BIG), quantization=None), "nothing holds"),
    "bytes": (
        _tensor(3, shape=ints(_BIG, _BIG, 4), type=2, quantization=None),
        "size that nothing holds",
    ),
    "constant state": (_tensor(1, isVariable=True), "keeps state between runs, and has data"),
    "state of text": (
        _tensor(3, isVariable=True, type=_STRING, quantization=None),
        "is text, and keeps state",
    ),
    "sparse": (_sparse(1), "a sparsity that is not complete"),
    "sparse without order": (_sparse(1, _dimension(0), order=False), "not complete"),
    "sparse format": (_sparse(1, _dimension(2)), "not complete"),
    "sparse dimension": (_sparse(1, _dimension(1)), "not complete"),
    "sparse indices": (_sparse(1, _dimension(1, "arraySegments")), "not complete"),
    "scales and points": (
        _tensor(1, "quantization", scale=_floats(1, 1)),
        "tensor 1 has 2 scales and 3 zero points",
    ),
    "no points": (_tensor(3, "quantization", zeroPoint=None), "1 scales and 0 zero points"),
    "scales": (
        _tensor(3, "quantization", scale=_floats(1, 1), zeroPoint=_longs(0, 0)),
        r"2 scales for shape \[1, 4, 4, 3\]",
    ),
    "axis": (_tensor(1, "quantization", quantizedDimension=4), "along dimension 4 of 4"),
    "axis of a vector": (
        _tensor(2, "quantization", quantizedDimension=3),
        "along dimension 3 of 1",
    ),
    "axis below 0": (_tensor(3, "quantization", quantizedDimension=-1), "along dimension -1 of 4"),
    "no blocks": (
        _tensor(3, "quantization", detailsType=2),
        "blockwise quantization without blocks",
    ),
    "signature without a name": (_signatures({"signatureKey": None}), "signature 0 has no name"),
    "second signature": (_signatures({}, {"signatureKey": None}), "signature 1 has no name"),
    "signature's bytes": (_signatures({"signatureKey": b"\xff"}), "0 has a name that is no UTF-8"),
    "input's bytes": (_signatures({"inputs": [_named(b"\xff", 0)]}), "a name that is no UTF-8"),
}
"""What LiteRT refuses when it loads the file, and the message here."""

ASKED_LATER: dict[str, tuple[Edit, str]] = {
    "signature's subgraph": (
        _signatures({"subgraphIndex": 2}),
        "signature 0 is of subgraph 2 of 2",
    ),
    "far subgraph": (_signatures({"subgraphIndex": 2**32 - 1}), "is of subgraph 4294967295 of 2"),
    "signature's input": (
        _signatures({"inputs": [_named(b"x", 5)]}),
        "names tensor 5 among its inputs, but subgraph 0 has 5",
    ),
    "signature's output": (
        _signatures({"subgraphIndex": 1, "outputs": [_named(b"y", 9)]}),
        "names tensor 9 among its outputs, but subgraph 1 has 5",
    ),
    "wraps": (_buffer(1, offset=(1 << 64) - 4, size=10), "damaged or truncated"),
}
"""What LiteRT refuses when the signature is run, or reads outside of the file for."""

ACCEPTED: dict[str, Edit] = {
    "alike": lambda model: None,
    "nothing in it": _subgraph(tensors=[], operators=None, inputs=None, outputs=None, name=None),
    "no operators": _subgraph(operators=[]),
    "inputs": _subgraph(inputs=ints(9, -2, 0, 0)),
    "outputs": _subgraph(outputs=ints(9)),
    "operand": _operator(0, inputs=ints(0, 1, 9)),
    "no operands": _operator(1, inputs=None, outputs=None),
    "cycle": _operator(0, inputs=ints(4, 1, 2)),
    "itself": _operator(0, inputs=ints(3, 1, 2)),
    "written twice": _operator(1, outputs=ints(3)),
    "order": lambda model: model.subgraphs[1].operators.reverse(),
    "custom": _code(32, used=True, customCode=b"Foo"),
    "while": _options("WHILE", "WhileOptions", condSubgraphIndex=9, bodySubgraphIndex=9),
    "options of another": _operator(
        0, builtinOptions=generated.Pool2DOptionsT(), builtinOptionsType=5
    ),
    "padding": _options("CONV_2D", "Conv2DOptions", padding=9),
    "activation": _options("ADD", "AddOptions", fusedActivationFunction=99),
    "stride": _options("CONV_2D", "Conv2DOptions", strideW=-1),
    "Prepare": each(_tensor(3, shape=ints(1, 48)), _tensor(4, type=7)),
    "data too long": _tensor(1, shape=ints(3, 1, 1, 1), quantization=None),
    "no data": _buffer(1),
    "data outside": _buffer(1, offset=16, size=6),
    "huge": _tensor(3, shape=ints(_BIG, _BIG, 4), quantization=None),
    "nothing": _tensor(3, shape=ints(0, _BIG, _BIG, _BIG), quantization=None),
    "rank 33": _tensor(3, shape=np.ones(33, np.int32)),
    "text": _tensor(1, type=_STRING, shape=ints(-1), quantization=None),
    "state": _tensor(3, isVariable=True),
    "sparse, no constant": _sparse(3),
    "sparse, dense": _sparse(1, *[_dimension(0)] * 4),
    "sparse constant": _sparse(1, _dimension(1, "arraySegments", "arrayIndices")),
    "scale below 0": _tensor(3, "quantization", scale=_floats(-1)),
    "no scale": _tensor(3, "quantization", scale=_floats(), quantizedDimension=9),
    "point": _tensor(3, "quantization", zeroPoint=_longs(1 << 40)),
    "scalar": each(_tensor(3, shape=ints()), _tensor(3, "quantization", quantizedDimension=3)),
    "blocks": _tensor(3, "quantization", detailsType=2, details=generated.BlockwiseQuantizationT()),
    "signatures": _signatures({}, {"signatureKey": b"other", "subgraphIndex": 1}),
    "signatures alike": _signatures({}, {}),
    "signature of nothing": _signatures({"inputs": None, "outputs": []}),
    "signature of inner": _signatures({"inputs": [_named(None, 3), _named(b"", 1)]}),
}

_EVERY_REFUSED = REFUSED | ASKED_LATER


@pytest.mark.parametrize(("edit", "message"), _EVERY_REFUSED.values(), ids=_EVERY_REFUSED)
def test_refuses_in_one_line(edit: Edit, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_model(_edited(edit))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("edit", ACCEPTED.values(), ids=ACCEPTED)
def test_accepts_what_litert_would_look_at_only_to_run_it(edit: Edit) -> None:
    assert len(load_model(_edited(edit)).operators) == 2


def test_a_constant_of_every_type_has_the_bytes_that_it_takes() -> None:
    for code, least in _least_bytes():
        shape = _tensor(1, type=code, shape=ints(5), quantization=None)
        load_model(_edited(each(_buffer(1, data=np.zeros(least, np.uint8)), shape)))
        if least:
            short = each(_buffer(1, data=np.zeros(least - 1, np.uint8)), shape)
            with pytest.raises(InputError, match=f"takes {least} bytes"):
                load_model(_edited(short))


def _least_bytes() -> Iterator[tuple[int, int]]:
    """Yield the code of each type, and the bytes of five elements."""
    for code, bits in ELEMENT_BITS.items():
        yield code, -(-5 * bits // 8)


@pytest.mark.slow
def test_litert_says_the_same(oracle: Oracle) -> None:
    wrong = [name for name, (edit, _) in REFUSED.items() if not _refuses(oracle, edit)]
    accepted = ACCEPTED | {name: edit for name, (edit, _) in ASKED_LATER.items()}
    wrong += [name for name, edit in accepted.items() if _refuses(oracle, edit)]
    for code, least in _least_bytes():
        shape = _tensor(1, type=code, shape=ints(5), quantization=None)
        for size in (least, least - 1):
            data = _buffer(1, data=np.zeros(max(size, 0), np.uint8))
            if _refuses(oracle, each(data, shape)) != (0 <= size < least):
                wrong.append(f"type {code} of {size} bytes")
    assert not wrong


@pytest.mark.slow
def test_litert_has_no_kernel_for_these_operators_alone(oracle: Oracle) -> None:
    lacks = {
        name
        for name, code in OPERATOR_CODES.items()
        if name != "CUSTOM"
        and all(_refuses(oracle, _with_version(code, version)) for version in (1, 2))
    }
    assert lacks == NO_KERNEL


def _with_version(code: int, version: int) -> Edit:
    def edit(model: Any) -> None:
        _code(code)(model)
        model.operatorCodes[-1].version = version

    return edit


def _refuses(litert: Oracle, edit: Edit) -> bool:
    try:
        litert.run(_edited(edit), _INPUT)
    except OracleRejected:
        return True
    except OracleError as error:  # it ended: a finding of its own
        raise AssertionError(str(error)) from None
    return False
