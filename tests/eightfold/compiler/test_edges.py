"""Networks that take and give float32 or uint8: what the host converts, and what is a table."""

import ctypes
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.cases.builder import SeededNetwork
from eightfold.common.errors import InputError
from eightfold.compiler import compile_network
from eightfold.compiler.artifacts import write_compiled
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_int8, run_graph
from eightfold.run.reference.oracle import Oracle
from eightfold.run.report.result import verdict
from eightfold.run.session import Session
from eightfold.target.config import PRESETS
from lab.hostile.subject import MachineSession
from tests.support.golden_c.library import compiler
from tests.support.models.single import one_operator
from tests.support.networks.layers import Written


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


@pytest.mark.slow
def test_the_host_converts_and_parts_no_stream() -> None:
    model = edged()
    network = compile_network(load_int8(model), PRESETS["nano"])
    assert network.host == {0: "float32 to int8", 3: "int8 to float32", 6: "int8 to float32"}
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", pytest.param("tflm", marks=pytest.mark.tflm)])
@pytest.mark.parametrize("name", ["SOFTMAX", "LOG_SOFTMAX"])
def test_rows_of_float32_are_those_of_the_runtime(name: str, reference: str) -> None:
    """Most are equal; one exponential in a thousand is the C library's, and not the rounded one."""
    net = Written()
    x = net.input((512, 33), dtype=np.float32)
    y = net.add(name, [x], options={"beta": 1.3} if name == "SOFTMAX" else {})
    model = net.model(y)
    rng = np.random.default_rng(0)
    values = rng.normal(0, 2.0 ** rng.integers(-8, 7, (512, 1)), (512, 33)).astype(np.float32)
    values[0], values[1, 0], values[2, 0] = 0, 3.4e38, -3.4e38
    with Session(reference=reference) as session:
        result = session.run(model, {x: values}, compare=True)
    assert result.mismatches == 0
    with Oracle(reference) as oracle:
        expected = oracle.run(model, {x: values})[y.index]
    rows = (result.outputs[y.index] == expected).all(axis=1)
    assert rows.mean() > 0.8, "beside the C library, the steps are the same"
    assert (not rows.all()) == bool(result.near)
    assert bool(result.near) == ("within 4 steps of float32" in verdict(result))


def test_a_wrong_row_of_float32_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    from eightfold.golden import softmax

    right = softmax.exponentials
    monkeypatch.setattr(softmax, "exponentials", lambda x, beta: right(x, beta * 1.00001))
    with Session() as session:
        assert session.run(edged("SOFTMAX"), compare=True).mismatches


@pytest.mark.slow
def test_uint8_to_uint8_equals_the_runtime() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        drawn: Any = {"scales": rng.uniform(0.01, 0.2, 2), "zero_points": rng.integers(0, 256, 2)}
        types: Any = {"source_dtype": np.uint8, "dtype": np.uint8}
        model = one_operator("QUANTIZE", [(256,)], (256,), **drawn, **types)
        given = {0: np.arange(256, dtype=np.uint8)}
        with Session() if seed else MachineSession(config="nano") as session:
            assert session.run(model, given, compare=True).mismatches == 0
        assert run_graph(load_int8(model), given)[1].dtype == np.uint8


WRAPPERS = """
#include "network.h"
size_t quantize(const float *x, size_t n, float s, int32_t z, int32_t lo, int32_t hi, uint8_t *q)
{ return eightfold_quantize(x, n, s, z, lo, hi, q); }
void dequantize(const uint8_t *q, size_t n, float s, int32_t z, int32_t lo, float *x)
{ eightfold_dequantize(q, n, s, z, lo, x); }
size_t input(const float *x, uint8_t *arena) { return eightfold_quantize_input_0(x, arena); }
void output(const uint8_t *arena, float *x) { eightfold_dequantize_output_1(arena, x); }
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is written of `edged`, with the functions of its header as a library."""
    folder = tmp_path_factory.mktemp("edged")
    graph = load_int8(edged())
    (compiled,) = compile_network(graph, PRESETS["nano"]).streams
    write_compiled(graph, {folder: compiled})
    (folder / "wrappers.c").write_text(WRAPPERS)
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
    program = [compiler("gcc"), "-std=c99", "-O2", *strict, "-shared", "-fPIC"]
    subprocess.run([*program, "-o", "host.so", "wrappers.c"], cwd=folder, check=True)
    return folder


def test_the_layout_says_what_the_host_converts(written: Path) -> None:
    layout = json.loads((written / "layout.json").read_text())
    image, more = layout["inputs"]
    assert (image["dtype"], image["zero_point"]) == ("int8", [3])
    assert image["scale"] == [np.float32(0.05)]
    assert image["host"] == [
        {"operator": 0, "conversion": "QUANTIZE", "tensor": 0, "name": "image", "dtype": "float32"}
    ]
    assert (more["dtype"], more["zero_point"], more["host"]) == ("uint8", [131], [])
    found = [[each["conversion"] for each in entry["host"]] for entry in layout["outputs"]]
    assert found == [[], ["DEQUANTIZE"], ["DEQUANTIZE"]], "in the model's order"
    assert [each["tensor"] for each in layout["outputs"]] == [9, 6, 8]
    assert layout["elsewhere"] == []


def _floats(scale: np.float32, rng: np.random.Generator) -> np.ndarray:
    """Return ties, their neighbours, all magnitudes, and what has no code."""
    steps = np.arange(-300, 300, 0.5, dtype=np.float32) * scale
    near = [np.nextafter(steps, np.float32(side)) for side in (-np.inf, np.inf)]
    ends = np.array([2**31, -(2**31), 2**31 - 128, -(2**31) - 256, 2**23 + 0.5], np.float32) * scale
    odd = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e-45, 3.4e38], np.float32)
    wide = rng.integers(0, 1 << 32, 20_000, dtype=np.uint32).view(np.float32)
    return np.concatenate([steps, *near, ends, odd, wide]).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_the_functions_in_c_equal_the_runtime(written: Path, dtype: type) -> None:
    library = ctypes.CDLL(str(written / "host.so"))
    library.quantize.restype = ctypes.c_size_t
    with Oracle() as oracle:
        for seed in range(12):
            _expect_equal(library, oracle, dtype, seed)


def _expect_equal(library: ctypes.CDLL, oracle: Oracle, dtype: type, seed: int) -> None:
    limits, count = np.iinfo(dtype), ctypes.c_size_t
    rng = np.random.default_rng(seed)
    power = seed % 2 and round(rng.uniform(-20, 5))
    scale = np.float32(2.0**power if power else 2.0 ** rng.uniform(-60, 20))
    zero = int(rng.choice([limits.min, limits.max, int(rng.integers(limits.min, limits.max))]))
    fields = ctypes.c_float(float(scale)), ctypes.c_int32(zero), ctypes.c_int32(limits.min)
    with np.errstate(all="ignore"):
        x = _floats(scale, rng)
        steps = np.trunc(x / scale)
    fits = (steps >= -(2.0**31)) & (steps < 2.0**31)
    codes = np.full(x.size, 77, dtype)
    refused = library.quantize(
        x.ctypes, count(x.size), *fields, ctypes.c_int32(limits.max), codes.ctypes
    )
    assert refused == np.count_nonzero(~fits)
    assert np.all(codes[~fits] == 77)
    builder = ModelBuilder()
    source = builder.input((int(fits.sum()),), dtype=np.float32)
    middle = builder.tensor((int(fits.sum()),), dtype=dtype, scale=scale, zero_point=zero)
    builder.operator("QUANTIZE", [source], [middle])
    every = builder.input((256,), dtype=dtype, scale=scale, zero_point=zero)
    target = builder.tensor((256,), dtype=np.float32)
    builder.operator("DEQUANTIZE", [every], [target])
    for result in (middle, target):
        builder.output(result)
    all_codes = np.arange(256, dtype=np.uint8).view(dtype)
    given = {source: x[fits], every: all_codes}
    expected = oracle.run(builder.build(), given)
    np.testing.assert_array_equal(codes[fits], expected[middle])
    values = np.empty(256, np.float32)
    library.dequantize(all_codes.ctypes, count(256), *fields, values.ctypes)
    np.testing.assert_array_equal(values.view(np.uint32), expected[target].view(np.uint32))


def test_the_functions_of_a_network_read_and_write_its_arena(written: Path) -> None:
    library = ctypes.CDLL(str(written / "host.so"))
    layout = json.loads((written / "layout.json").read_text())
    image, early = layout["inputs"][0], layout["outputs"][1]
    arena = np.zeros(layout["arena_bytes"], np.uint8)
    x = np.random.default_rng(0).normal(0, 3, image["shape"]).astype(np.float32)
    values = run_graph(load_int8(edged()), {0: x, 1: np.zeros((1, 4, 5, 8), np.uint8)})
    assert library.input(x.ctypes, arena.ctypes) == 0
    codes = arena[image["offset"] :][: x.size].view(np.int8).reshape(x.shape)
    np.testing.assert_array_equal(codes, values[image["tensor"]])
    got = np.empty(early["shape"], np.float32)
    raw = values[early["tensor"]].ravel().view(np.uint8)
    arena[early["offset"] :][: raw.size] = raw
    library.output(arena.ctypes, got.ctypes)
    np.testing.assert_array_equal(got, values[early["host"][0]["tensor"]])
