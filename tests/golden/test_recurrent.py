"""SVDF and LSTM against both runtimes: several inferences one after another, results and state."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from eightfold.cases.draws import Case, SingleOperator, random_codes
from eightfold.cases.operators import case_rng, random_case
from eightfold.cases.state import svdf_case
from eightfold.common.errors import InputError
from eightfold.golden import recurrent
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model, run_graph, run_graphs
from eightfold.run.reference.oracle import Oracle, OracleRejected, with_state

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
FRAMES = 5

CASES: dict[str, Callable[[int], Case]] = {
    "SVDF": lambda seed: random_case("SVDF", case_rng("SVDF", seed)),
    "SVDF of int8": lambda seed: svdf_case(case_rng("SVDF of int8", seed), np.int8),
    LSTM: lambda seed: random_case(LSTM, case_rng(LSTM, seed)),
}

REFERENCES = ["litert", pytest.param("tflm", marks=pytest.mark.tflm)]


@pytest.fixture(scope="module", params=REFERENCES)
def runtime(request: pytest.FixtureRequest) -> Iterator[tuple[str, Oracle]]:
    """A reference, and its kernels in a child process."""
    with Oracle(request.param) as oracle:
        yield request.param, oracle


def frames(graph: Graph, inputs: dict[int, np.ndarray], seed: int) -> list[dict[int, np.ndarray]]:
    rng = np.random.default_rng(seed)
    more = ({i: random_codes(rng, a.shape) for i, a in inputs.items()} for _ in range(FRAMES - 1))
    return [inputs, *more]


def check_frames(oracle: Oracle, reference: str, model: bytes, batch: list) -> list:
    """Compare results and state after each inference; return golden's tensors of each."""
    graph = load_model(model)
    results = run_graphs(graph, batch, reference)
    for number, (inputs, values) in enumerate(zip(batch, results, strict=True)):
        every = with_state(graph, oracle.run(model, inputs, next_frame=number > 0))
        for index in graph.results:
            expected = every[index].reshape(values[index].shape)
            np.testing.assert_array_equal(values[index], expected, f"frame {number}, {index}")
    return results


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", CASES)
@pytest.mark.usual("name", count=6)
def test_equals_the_runtime_frame_by_frame(
    runtime: tuple[str, Oracle], name: str, seed: int
) -> None:
    reference, oracle = runtime
    model, inputs = CASES[name](seed)
    graph = load_model(model)
    if reference == "litert" and name == "SVDF of int8":
        with pytest.raises(InputError, match="takes int8 time weights and state for int16"):
            run_graph(graph, inputs, reference)
        return
    check_frames(oracle, reference, model, frames(graph, inputs, seed))


def lstm_model(gate: str, cell_scale: float = 2.0**-15, **changes: Any) -> bytes:
    """Return an LSTM of 256 units whose ``gate`` has any code before its function, by input code.

    The code of unit u is 256 u - 32768 + x + 128. All other gates are open. ``changes`` replace
    operands by their position, or options.
    """
    model = ModelBuilder()
    units = 256
    open_gate = np.full(units, 32767, np.int32)
    biases = dict.fromkeys(recurrent.GATES, open_gate) | {"forget": -open_gate}
    biases[gate] = (np.arange(units, dtype=np.int32) - 128) * 256
    one = {name: np.full((units, 1), name == gate, np.int8) for name in recurrent.GATES}
    zeros = np.zeros((units, units), np.int8)
    hidden = model.tensor((1, units), scale=2.0**-7, variable=True)
    cell = model.tensor((1, units), scale=cell_scale, dtype=np.int16, variable=True)
    operands = [
        model.input((1, 1, 1), scale=2.0**-6, zero_point=-128),
        *(model.constant(one[name], scale=2.0**-6) for name in recurrent.GATES),
        *(model.constant(zeros, scale=2.0**-6) for _ in recurrent.GATES),
        *(-1, -1, -1),
        *(model.constant(biases[name]) for name in recurrent.GATES),
        *(-1, -1, hidden, cell, -1, -1, -1, -1),
    ]
    for position in changes.pop("present", ()):
        operands[position] = model.constant(np.zeros(units, np.int16), scale=1.0)
    for position in changes.pop("absent", ()):
        operands[position] = -1
    for position in changes.pop("computed", ()):
        operands[position] = model.input((units,), dtype=np.int32)
    operands = operands[: changes.pop("count", 24)]
    between = [model.tensor((0,), dtype=np.float32) for _ in recurrent.GATES]
    between.append(model.tensor((0,), scale=2.0**-7))
    result = model.tensor((1, 1, units), scale=2.0**-7)
    options = {"fused_activation_function": "TANH", **changes}
    model.operator(LSTM, operands, [result], options, intermediates=between)
    model.output(result)
    return model.build()


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["input", "cell"])
def test_sigmoid_and_tanh_of_every_code(runtime: tuple[str, Oracle], gate: str) -> None:
    """The cell state is the product with an open gate, 32767 / 32768: it shows every bit."""
    reference, oracle = runtime
    model = lstm_model(gate)
    graph = load_model(model)
    (x,) = graph.inputs
    batch = [{x: np.full((1, 1, 1), code, np.int8)} for code in range(-128, 128)]
    results = check_frames(oracle, reference, model, batch)
    states = np.array([values[graph.results[-1]].ravel() for values in results])
    assert len(np.unique(states)) > 5_000


@pytest.mark.tflm
def test_tanh_of_a_cell_state_of_every_code(micro: Oracle) -> None:
    """TFLite Micro has an operator of its own for the function that its LSTM calls."""
    codes = np.arange(-32768, 32768).astype(np.int16)
    model, powers = ModelBuilder(), range(-20, 3)
    x = [model.input(codes.shape, scale=2.0**power, dtype=np.int16) for power in powers]
    y = [model.tensor(codes.shape, scale=2.0**-15, dtype=np.int16) for _ in powers]
    for source, result in zip(x, y, strict=True):
        model.operator("TANH", [source], [result])
        model.output(result)
    every = micro.run(model.build(), dict.fromkeys(x, codes))
    for power, result in zip(powers, y, strict=True):
        np.testing.assert_array_equal(recurrent._interpolated_table(power), every[result])


def svdf_model(activation: str = "RELU", *, bias: bool = True, time: type = np.int16) -> bytes:
    model = SingleOperator(np.random.default_rng(0))
    operands = [
        model.operand(np.ones((1, 2), np.int8), 1.0, 0),
        model.constant(np.ones((3, 2), np.int8), scale=1.0),
        model.constant(np.ones((3, 4), time), scale=1.0),
        model.constant(np.zeros(3, np.int32), scale=1.0) if bias else -1,
        model.tensor((1, 12), scale=1.0, dtype=np.int16, variable=True),
    ]
    result = model.tensor((1, 3), scale=1.0)
    options = {"rank": 1, "fused_activation_function": activation}
    model.operator("SVDF", operands, [result], options)
    model.output(result)
    return model.build()


REFUSED: dict[str, tuple[Callable[[], bytes], str, bool, str]] = {
    "an activation of SVDF": (
        partial(svdf_model, "NONE"), "litert", True, "fuses RELU, which clamps nothing, not NONE"
    ),
    "SVDF without bias": (partial(svdf_model, bias=False), "tflm", False, "needs a bias"),
    "mixed types": (partial(svdf_model, time=np.int8), "tflm", False, "are int8, the state int16"),
    "a cell scale": (partial(lstm_model, "cell", 0.001), "litert", False, "scale 2.-15 to 2.-9"),
    "a far cell scale": (partial(lstm_model, "cell", 8.0), "tflm", False, "leaves int32"),
    "a negative clip": (partial(lstm_model, "cell", cell_clip=-1.0), "litert", True, "is negative"),
    "a clip that is NaN": (
        partial(lstm_model, "cell", proj_clip=np.nan), "litert", True, "proj_clip nan is neg"
    ),
    "variants": (
        partial(lstm_model, "cell", present=(9, 10, 11, 20, 21, 22, 23)), "tflm", True,
        r"with peephole weights \(inputs 9, 10, 11\) and layer norm.* 20, 21, 22, 23\) is not",
    ),
    "coupled gates": (
        partial(lstm_model, "cell", absent=(1, 5, 12)), "tflm", True, "without input 1, 5, 12"
    ),
    "23 inputs": (partial(lstm_model, "cell", count=23), "litert", True, "23 inputs, not 20 or 24"),
    "a computed bias": (
        partial(lstm_model, "cell", computed=(13,)), "litert", False, "biases first; make it const"
    ),
    "another function": (
        partial(lstm_model, "cell", fused_activation_function="RELU"), "tflm", False,
        "does not fuse RELU",
    ),
}  # fmt: skip
"""A model, a reference, whether that refuses it too, and golden's message."""


def run_zeros(graph: Graph, reference: str) -> None:
    inputs = {index: np.zeros(graph.tensors[index].shape, np.int8) for index in graph.inputs}
    run_graph(graph, inputs, reference)


@pytest.mark.slow
@pytest.mark.tflm
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named(name: str) -> None:
    make, reference, refuses, message = REFUSED[name]
    model = make()
    with pytest.raises(InputError, match=message):
        run_zeros(load_model(model), reference)
    if refuses:
        with Oracle(reference) as oracle, pytest.raises(OracleRejected):
            oracle.run(model, {})


def test_svdf_without_bias_equals_litert(oracle: Oracle) -> None:
    model = svdf_model(bias=False)
    batch = [{0: np.array([[code, 3]], np.int8)} for code in (127, -128, 5)]
    check_frames(oracle, "litert", model, batch)
