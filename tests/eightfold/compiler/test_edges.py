"""Networks that take and give float32 or uint8: what the host converts, and what is a table."""

import numpy as np
import pytest

from eightfold.cases.builder import SeededNetwork
from eightfold.common.errors import InputError
from eightfold.compiler import compile_network
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_int8, run_graph
from eightfold.run.reference.oracle import Oracle
from eightfold.run.report import verdict
from eightfold.run.session import Session
from eightfold.target.config import PRESETS
from lab.hostile.subject import MachineSession


def edged(tail: str = "") -> bytes:
    """Return a network of float32 and uint8 at both edges; a DEQUANTIZE stands in the middle.

    ``tail``: an operator in float32 behind the last one.
    """
    net = SeededNetwork("edges", 0)
    x = net.input((1, 4, 5, 3), dtype=np.float32, name="image")
    more = net.input((1, 4, 5, 8), dtype=np.uint8, scale=0.04, zero_point=131)
    codes = net.add("QUANTIZE", [x], (0.05, 3))
    other = net.add("QUANTIZE", [more], (0.05, 3))
    same = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "NONE"}
    same |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    hidden = net.weighted("CONV_2D", codes, (8, 3, 3, 3), same, 0.06)
    net.add("DEQUANTIZE", [hidden])
    total = net.add("ADD", [hidden, other], (0.1, -5), {"fused_activation_function": "NONE"})
    small = net.tensor(total.shape, scale=0.1, zero_point=123, dtype=np.uint8)
    net.operator("QUANTIZE", [total.index], [small])
    late = net.add("DEQUANTIZE", [total])
    if tail:
        late = net.add(tail, [late], None, {"beta": 0.7} if tail == "SOFTMAX" else None)
    net.output(small)
    return net.build()


def test_the_host_converts_and_parts_no_stream() -> None:
    model = edged()
    network = compile_network(load_int8(model), PRESETS["nano"])
    assert network.host == {
        0: "float32 to int8",
        3: "int8 to float32",
        6: "int8 to float32",
    }
    assert not network.reasons
    assert [bool(segment.compiled) for segment in network.segments] == [False, True, False]
    with MachineSession(config="nano") as session:
        result = session.run(model, compare=True)
    host = [operator.index for operator in result.operators if operator.where == "host"]
    assert host == [0, 3, 6]
    assert {o.where for o in result.operators if o.index not in host} == {"hardware"}
    assert result.mismatches == 0
    assert verdict(result).startswith("4 of 7 operators in hardware, 3 on the host; every tensor")
    plain = Session().run(model)
    assert [o.where for o in plain.operators if o.index in host] == ["host"] * 3
    for index, array in plain.outputs.items():
        np.testing.assert_array_equal(array, result.outputs[index])


@pytest.mark.parametrize("tail", ["SOFTMAX", "LOG_SOFTMAX"])
def test_a_float_tail_runs_in_golden_if_that_is_allowed(tail: str) -> None:
    model = edged(tail)
    with pytest.raises(InputError, match=f"use --fallback golden: .* {tail}: tensor .* is float32"):
        compile_network(load_int8(model), PRESETS["nano"])
    with MachineSession(config="nano", fallback="golden") as session:
        result = session.run(model, compare=True)
    places = {operator.index: operator.where for operator in result.operators}
    assert (places[0], places[3], places[6], places[7]) == ("host", "host", "golden", "golden")
    assert result.mismatches == 0
    assert "is float32" in str(result.operators[7].reason)


@pytest.mark.parametrize("reference", ["litert", pytest.param("tflm", marks=pytest.mark.tflm)])
@pytest.mark.parametrize("name", ["SOFTMAX", "LOG_SOFTMAX"])
def test_rows_of_float32_are_those_of_the_runtime(name: str, reference: str) -> None:
    """Most are equal; one exponential in a thousand is the C library's, and not the rounded one."""
    builder = ModelBuilder()
    x = builder.input((512, 33), dtype=np.float32)
    y = builder.tensor((512, 33), dtype=np.float32)
    builder.operator(name, [x], [y], {"beta": 1.3} if name == "SOFTMAX" else {})
    builder.output(y)
    model = builder.build()
    rng = np.random.default_rng(0)
    values = rng.normal(0, 2.0 ** rng.integers(-8, 7, (512, 1)), (512, 33)).astype(np.float32)
    values[0], values[1, 0], values[2, 0] = 0, 3.4e38, -3.4e38
    with Session(reference=reference) as session:
        result = session.run(model, {x: values}, compare=True)
    assert result.mismatches == 0
    with Oracle(reference) as oracle:
        expected = oracle.run(model, {x: values})[y]
    rows = (result.outputs[y] == expected).all(axis=1)
    assert rows.mean() > 0.8, "beside the C library, the steps are the same"
    assert (not rows.all()) == bool(result.near)
    assert bool(result.near) == ("within 4 steps of float32" in verdict(result))


def test_a_wrong_row_of_float32_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    from eightfold.golden import softmax

    right = softmax.exponentials
    monkeypatch.setattr(softmax, "exponentials", lambda x, beta: right(x, beta * 1.00001))
    with Session() as session:
        assert session.run(edged("SOFTMAX"), compare=True).mismatches


def test_uint8_to_uint8_equals_the_runtime() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        builder = ModelBuilder()
        scales, zeros = rng.uniform(0.01, 0.2, 2), rng.integers(0, 256, 2)
        x = builder.input((256,), dtype=np.uint8, scale=scales[0], zero_point=zeros[0])
        y = builder.tensor((256,), dtype=np.uint8, scale=scales[1], zero_point=zeros[1])
        builder.operator("QUANTIZE", [x], [y])
        builder.output(y)
        codes = np.arange(256, dtype=np.uint8)
        with Session() if seed else MachineSession(config="nano") as session:
            assert session.run(builder.build(), {x: codes}, compare=True).mismatches == 0
        assert run_graph(load_int8(builder.build()), {x: codes})[y].dtype == np.uint8
