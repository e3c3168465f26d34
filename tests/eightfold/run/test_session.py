"""Networks run in golden and in simulated hardware, tensor for tensor equal to LiteRT."""

import json
import re
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold import HardwareError
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.compiler import CompiledNetwork
from eightfold.estimate.estimate import estimate
from eightfold.isa import COUNTERS
from eightfold.model import Graph
from eightfold.model.builder import ModelBuilder
from eightfold.operators import load_model, run_graph
from eightfold.run.reference.oracle import OracleRejected
from eightfold.run.report.result import RunJson, verdict
from eightfold.run.session import Session
from eightfold.run.simulate import NetworkRun
from eightfold.sim.simulator.sources import AcceleratorSource, Unit
from eightfold.sim.simulator.toolchain import Simulator, icarus_available
from eightfold.target.config import AcceleratorConfig
from examples.digits.images import load
from lab.documents.figures import NETWORKS as MLPERF_TINY
from lab.hostile.subject import MachineSession
from tests.support.command import Call, refusal
from tests.support.documented import check_fields
from tests.support.figures import expect_honest_figures
from tests.support.hardware.twins import TWINS
from tests.support.models.mlperf_tiny import NETWORKS, mlperf_tiny
from tests.support.models.networks import CHANNELS, NEW, person_detect, streaming
from tests.support.models.single import one_operator, unary
from tests.support.networks.layers import Written

ROOT = IMPORT_ROOT
DIGITS = ROOT / "examples" / "digits" / "digits.tflite"
LABELS = {network.stem: network.label for network in MLPERF_TINY}


@pytest.mark.slow
@pytest.mark.parametrize("config", ["nano", pytest.param("small", marks=pytest.mark.long)])
@pytest.mark.usual(names=["verilator"])
def test_the_hardware_equals_litert_on_the_digits(simulator: Simulator, config: str) -> None:
    images, _ = load(DIGITS.parent / "test_images.npz")
    with Session(backend=simulator, config=config) as session:
        batch = [{0: image[None]} for image in images[:2]]
        results = session.run_batch(DIGITS, batch, compare=True)
        undisturbed = session.run(DIGITS, batch[0])
    for result in results:
        assert result.mismatches == 0
        assert {operator.where for operator in result.operators} == {"hardware"}
        expect_honest_figures(result.operators, result.cycles)
        assert result.cycles == undisturbed.cycles


@pytest.mark.slow
@pytest.mark.parametrize("config", ["small", pytest.param("base", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.usual(names=["kws"])
def test_mlperf_tiny_runs_whole_on_the_accelerator_in_the_cycles_that_are_told(
    name: str, config: str
) -> None:
    model = mlperf_tiny(name)
    with Session(backend="verilator", config=TWINS[config]) as session:
        result = session.run(model, compare=True)
    assert result.mismatches == 0
    assert {operator.where for operator in result.operators} == {"hardware"}
    expect_honest_figures(result.operators, result.cycles)
    page = (ROOT / "docs" / "figures" / "cycles.md").read_text(encoding="utf-8")
    shown = re.findall(
        rf"^### {LABELS[name]}(?: live)? on `{config}`: ([\d,]+) cycles$", page, re.MULTILINE
    )
    assert shown == [f"{result.cycles:,}"]


@pytest.mark.long  # a minute; every operator runs on Icarus in tests/sim/system
@pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")
def test_the_key_word_network_runs_on_icarus() -> None:
    with Session(backend="icarus", config="nano", fast=True) as session:
        result = session.run(mlperf_tiny("kws_ref_model"), compare=True)
    assert result.mismatches == 0
    assert {operator.where for operator in result.operators} == {"hardware"}


def test_golden_runs_the_forms_of_person_detect_and_notes_their_biases() -> None:
    with Session() as session:
        result = session.run(person_detect(), compare=True)
        assert session.run(person_detect(0)).notes == []
    assert result.mismatches == 0
    (note,) = result.notes
    assert note.startswith("quantized dimension 3 of a tensor of rank 1 is taken as 0: tensor 2, ")


REFERENCES = pytest.mark.parametrize(
    "reference", ["litert", pytest.param("tflm", marks=pytest.mark.tflm)]
)


@pytest.mark.slow
@REFERENCES
@pytest.mark.usual("reference")
def test_the_hardware_runs_the_forms_of_person_detect(simulator: Simulator, reference: str) -> None:
    with Session(simulator, "nano", reference, fast=True) as session:
        result = session.run(person_detect(), compare=True)
    assert result.mismatches == 0
    assert {operator.where for operator in result.operators} == {"hardware"}


def unsupported_model() -> bytes:
    """Return a FULLY_CONNECTED with weights that are an input, and LOGISTIC."""
    net = Written()
    dense = net.add("FULLY_CONNECTED", [net.given(2, 3), net.given(4, 3), -1], (1.0, 0))
    return net.model(net.add("LOGISTIC", [dense]))


def test_an_operator_that_the_accelerator_does_not_compute_is_refused() -> None:
    with (
        Session(backend="verilator", config="nano") as session,
        pytest.raises(InputError, match=r"1 operator; use --fallback golden: .*not constant"),
    ):
        session.run(unsupported_model())


def test_the_verdict_tells_how_many_operators_ran_in_golden() -> None:
    with MachineSession(config="nano", fallback="golden") as session:
        ran = verdict(session.run(unsupported_model()))
    assert ran.startswith("1 of 2 operators in hardware, 1 in golden; ")


@pytest.mark.slow
def test_fallback_runs_it_in_golden_and_says_so() -> None:
    with Session("verilator", "nano", fallback="golden", fast=True) as session:
        result = session.run(unsupported_model(), compare=True)
    assert result.mismatches == 0
    assert [operator.where for operator in result.operators] == ["golden", "hardware"]
    assert "is not constant" in (result.operators[0].reason or "")


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.usual(count=2)
def test_golden_equals_litert_on_mlperf_tiny(name: str) -> None:
    with Session() as session:
        assert session.run(mlperf_tiny(name), compare=True).mismatches == 0


def small_model(**bias: int) -> bytes:
    """Return one FULLY_CONNECTED; its bias can be changed."""
    builder = ModelBuilder()
    x = builder.input((1, 3), scale=0.5, name="image")
    w = builder.constant(np.ones((2, 3), dtype=np.int8), scale=0.25)
    b = builder.constant(np.array([bias.get("bias", 0), 0], dtype=np.int32), scale=0.125)
    y = builder.tensor((1, 2), scale=1.0)
    builder.operator("FULLY_CONNECTED", [x, w, b], [y], {"fused_activation_function": "NONE"})
    builder.output(y)
    return builder.build()


@REFERENCES
def test_a_difference_is_counted_and_located(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eightfold.run.session.model_bytes", lambda model: small_model(bias=80))
    with Session(reference=reference) as session:
        result = session.run(small_model(), {0: np.zeros((1, 3), dtype=np.int8)}, compare=True)
    name = {"litert": "LiteRT", "tflm": "TFLite Micro"}[reference]
    first = f"first at operator 0 FULLY_CONNECTED, tensor 3 [0, 0]: 0, {name} 10"
    assert (result.mismatches, result.first_mismatch) == (1, first)
    assert verdict(result) == f"1 operators in golden; 1 elements differ from {name}: {first}"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "no input tensor_0 or 'image'; expected: tensor_0 or 'image'$"),
        ({1: np.zeros((1, 3), dtype=np.int8)}, "tensor 1 is no input of the model; expected: "),
        ({"picture": np.zeros((1, 3), dtype=np.int8)}, "array 'picture' is no input of the model"),
        ({"tensor_1": np.zeros((1, 3), dtype=np.int8)}, "array 'tensor_1' is no input of"),
        (dict.fromkeys((0, "image"), np.zeros((1, 3), np.int8)), "'image' is given twice"),
        ({0: np.zeros((3,), dtype=np.int8)}, r"must be int8 of shape \(1, 3\), not int8 of shape"),
        ({0: np.zeros((1, 3), dtype=np.float32)}, "not float32"),
        ({0: [[1, 2, 3]]}, "input tensor_0 or 'image' must be an array of int8, not list"),
        ({None: np.zeros((1, 3), np.int8)}, "array None is no input of the model; expected: "),
        ([np.zeros((1, 3), np.int8)], "inputs must be a dict of arrays, not list; expected: "),
    ],
)
def test_wrong_inputs_are_refused(inputs: Any, message: str) -> None:
    with Session() as session, pytest.raises(InputError, match=message):
        session.run(small_model(), inputs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.run(small_model(), seed=1.5), "seed must be a whole number, 0 or more, not"),
        (lambda s: s.run_frames(small_model(), 2, seed=-1), "seed must be .*, not -1"),
        (lambda s: s.run_frames(small_model(), 0), "count must be a whole number, 1 or more"),
        (lambda s: s.run_batch(small_model(), []), "a batch must have the inputs of one inference"),
        (lambda s: s.reset("nosuch"), "nosuch: No such file or directory; name a readable"),
        (lambda s: s.run(None), "model: give a .tflite file or its bytes, not NoneType"),
    ],
)
def test_what_cannot_be_run_is_refused(call: Callable[[Session], Any], message: str) -> None:
    with Session() as session, pytest.raises(InputError, match=message):
        call(session)


def reshaped() -> bytes:
    """RESHAPE to a shape, and EXPAND_DIMS by an axis that nothing reads, which are inputs."""
    b = ModelBuilder()
    x = b.input((2, 3), scale=0.5)
    sizes, axis = b.input((2,), dtype=np.int32), b.input((), dtype=np.int32)
    b.output(b.tensor((3, 2), scale=0.5))
    b.operator("RESHAPE", [x, sizes], [3])
    b.operator("EXPAND_DIMS", [x, axis], [b.tensor((1, 2, 3), scale=0.5)])
    return b.build()


def picked() -> bytes:
    """GATHER at indices that are an input."""
    return one_operator("GATHER", [(4,)], (2,), computed=[(2,)], options={"axis": 0})


ONES = [[1] * 3] * 2
RIGHT: dict[Callable[[], bytes], list[object]] = {
    reshaped: [ONES, [3, 2], -3],
    picked: [[1, 2, 3, 4], [3, 0]],
}
"""Inputs that fit a model."""

CONTRADICTED: dict[str, tuple[Callable[[], bytes], list[object], str]] = {
    "shape": (
        reshaped,
        [ONES, [2, 3], 0],
        "operator 0 RESHAPE: tensor 3 .*: declared shape .3, 2., computed .2, 3.; give inputs",
    ),
    "elements": (reshaped, [ONES, [3, 3], 0], "operator 0 RESHAPE: "),
    "axis of what nothing reads": (
        reshaped,
        [ONES, [3, 2], 1],
        "operator 1 EXPAND_DIMS: tensor 4 .*: declared shape .1, 2, 3., computed .2, 1, 3.",
    ),
    "axis outside": (reshaped, [ONES, [3, 2], 3], "operator 1 EXPAND_DIMS: "),
    "index outside": (
        picked,
        [[1, 2, 3, 4], [3, 4]],
        "operator 0 GATHER: an index must be in 0..3",
    ),
}
"""A model, inputs that contradict it, and what every backend says of these."""


@pytest.mark.parametrize("backend", ["golden", "verilator", "icarus"])
@pytest.mark.parametrize("name", CONTRADICTED)
def test_inputs_that_contradict_the_model_are_refused_before_any_backend_runs(
    name: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, wrong, message = CONTRADICTED[name]
    model = build()
    graph = load_model(model)
    batch = [
        {i: np.array(a, graph.tensors[i].dtype) for i, a in zip(graph.inputs, arrays, strict=True)}
        for arrays in (RIGHT[build], wrong)
    ]
    with Session() as golden:
        golden.run(model, batch[0])
    monkeypatch.setattr(Session, "_network_runs", None)
    with Session(backend, fallback="golden") as session:
        for run in (lambda: session.run(model, batch[1]), lambda: session.run_batch(model, batch)):
            with pytest.raises(InputError, match=f"^model: {message}") as raised:
                run()
            assert "\n" not in str(raised.value)


@pytest.mark.parametrize("key", [0, np.int64(0), "tensor_0", "image"])
def test_an_input_is_given_by_index_or_name(key: int | str) -> None:
    with Session() as session:
        (output,) = session.run(
            bytearray(small_model()), {key: np.full((1, 3), 4, dtype=np.int8)}
        ).outputs.values()
    np.testing.assert_array_equal(output, [[2, 2]])  # 3 * 4 * 0.5 * 1 * 0.25 = 1.5 rounds to 2


def two_inputs(*names: str) -> bytes:
    """Return one ADD of two inputs."""
    builder = ModelBuilder()
    a, b = (builder.input((1, 3), scale=0.5, name=name) for name in names)
    y = builder.tensor((1, 3), scale=1.0)
    builder.operator("ADD", [a, b], [y], {"fused_activation_function": "NONE"})
    builder.output(y)
    return builder.build()


def test_an_index_goes_before_a_name() -> None:
    given = {"tensor_1": np.full((1, 3), 8, np.int8), "tensor_0": np.zeros((1, 3), np.int8)}
    with Session() as session:
        result = session.run(two_inputs("tensor_1", "tensor_0"), given, all_tensors=True)
    np.testing.assert_array_equal(result.tensors[1], given["tensor_1"])


def test_a_name_of_two_inputs_is_refused() -> None:
    given = {"same": np.zeros((1, 3), np.int8)}
    message = "names several inputs of the model; expected: tensor_0 or 'same', tensor_1 or 'same'"
    with Session() as session, pytest.raises(InputError, match=message):
        session.run(two_inputs("same", "same"), given)


@pytest.mark.tflm
def test_a_file_that_only_tflite_micro_takes_is_compared_with_it() -> None:
    with Session(reference="tflm") as session:
        result = session.run(person_detect(3), seed=5, compare=True)
        assert result.mismatches == 0
        assert not result.unread
        assert result.provenance is not None
        micro = version("tflite-micro")
        assert result.provenance.versions["tflm"] == micro
        assert result.provenance.versions["litert"] is None
        equal = f"every tensor equals TFLite Micro's kernels (tflite-micro {micro}) bit for bit"
        assert verdict(result) == f"6 operators in golden; {equal}"


@pytest.mark.tflm
def test_what_tflite_micro_refuses_is_one_line() -> None:
    model = unary("RELU_0_TO_1", (0.5, 0.5))
    message = (
        r"TFLite Micro's kernels \(tflite-micro .*\) refuse this model: "
        "Didn't find op for builtin opcode 'RELU_0_TO_1'$"
    )
    with Session(reference="tflm") as session, pytest.raises(InputError, match=message):
        session.run(model, compare=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "fpga"}, "backend must be golden, verilator, icarus or board, not 'fpga'"),
        ({"reference": "onnx"}, "reference must be litert or tflm, not 'onnx'"),
        ({"fallback": "litert"}, "fallback must be golden, not 'litert'"),
        ({"stall": 1.0}, "stall must be at least 0 and below 1, not 1.0"),
        ({"stall": 0.1}, "stall needs a simulation, not golden; use backend verilator or icarus"),
        (
            {"source": AcceleratorSource("ecp5", partial(Unit, "accelerator"))},
            "ecp5 needs a simulation, not golden; use backend verilator or icarus",
        ),
        ({"trace": Path("waves.vcd")}, "trace needs a simulation, .*, or leave it out"),
        (
            {"backend": "verilator", "trace": "waves.foo"},
            r"trace waves\.foo: waves are \.vcd or \.fst; name such a file",
        ),
        ({"fast": True}, "fast needs a simulation, not golden"),
        ({"clock": 50.0}, "clock needs a simulation, not golden"),
        ({"clock": -1.0}, "clock must be a number of MHz above 0, not -1.0"),
        ({"memory": None}, "memory 'None' is not known; use ideal, "),
        ({"batch": -1}, "batch must be a whole number, 1 or more, not -1"),
    ],
)
def test_unknown_names_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Session(**options)


def test_a_session_takes_a_configuration_object() -> None:
    with Session(config=AcceleratorConfig(lanes=2, width=3)) as session:
        assert session.run(small_model()).config == "custom"


@pytest.mark.slow
@pytest.mark.usual(names=["verilator"])
def test_several_results_of_several_types_in_hardware(simulator: Simulator) -> None:
    net = Written(0.1, 3)
    split = [net.integers(3), net.given(1, 5, 4, 6)]
    parts = net.add_several("SPLIT", split, net.usual, {"num_splits": 2})
    less = net.add("LESS", parts)
    rectified = net.add("PRELU", parts, (0.1, -9))
    sizes = net.add("SHAPE", [rectified], options={"out_type": "INT64"})
    twice = net.add("PACK", [sizes, sizes], options={"values_count": 2, "axis": 1})
    with Session(simulator, "nano", no_rewrite=["all"], fast=True) as session:
        model = net.model(less, rectified, twice)
        result = session.run(model, compare=True, all_tensors=True)
    assert result.mismatches == 0
    assert {operator.where for operator in result.operators} == {"hardware"}
    dtypes = [str(result.tensors[value.index].dtype) for value in (less, twice, *parts)]
    assert dtypes == ["bool", "int64", "int8", "int8"]


class Passes:
    """Stands for a simulator: golden's tensors, the estimate's cycles; notes what is simulated."""

    def __init__(self, change: int = 0) -> None:
        self.stalls: list[float] = []
        self.kept: list[bool] = []
        self.cycles: list[int] = []
        self.change = change

    def simulate(
        self, graph: Graph, network: CompiledNetwork, batch: Any, **options: Any
    ) -> list[NetworkRun]:
        self.kept.append(sum(len(stream.outputs) for stream in network.streams) > 1)
        self.stalls.append(options["stall"])
        found = estimate(network.streams)
        self.cycles.append(found.total)
        runs = []
        for inputs in batch:
            tensors = run_graph(graph, inputs)
            if len(self.cycles) == 1:
                tensors[graph.outputs[0]] = tensors[graph.outputs[0]] + np.int8(self.change)
            counters = {
                index: {name: 0 for name, _ in COUNTERS} | {"CYCLES": cycles}
                for index, cycles in found.cycles.items()
            }
            run = NetworkRun(tensors=tensors, cycles=found.total, work=found.work)
            run.counters = counters
            runs.append(run)
        return runs


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    made = Passes()
    monkeypatch.setattr("eightfold.run.simulate.simulate_network", made.simulate)
    return made


@pytest.mark.parametrize("what", ["compare", "all_tensors", "stall"])
def test_cycles_are_those_of_a_pass_that_nothing_disturbs(what: str, passes: Passes) -> None:
    stall = 0.5 if what == "stall" else 0.0
    options = {} if stall else {what: True}
    with Session("verilator", "nano", stall=stall) as session:
        result = session.run(person_detect(), **options)
    assert passes.kept == [False, not stall]  # waves are of what comes last
    assert passes.stalls == [0, stall]
    assert result.cycles == passes.cycles[0]
    if not stall:
        assert passes.cycles[0] < passes.cycles[1]
    expect_honest_figures(result.operators, result.cycles)
    assert result.provenance is not None
    assert (result.provenance.fast, result.untimed) == (False, None)


def test_a_run_that_nothing_disturbs_is_one_pass(passes: Passes) -> None:
    with Session("verilator", "nano") as session:
        assert session.run(person_detect()).cycles == passes.cycles[0]
    assert passes.kept == [False]


def test_fast_leaves_the_undisturbed_pass_out_and_the_cycles_with_it(passes: Passes) -> None:
    with Session("verilator", "nano", fast=True) as session:
        plain = session.run(person_detect())
        result = session.run(person_detect(), compare=True)
    assert len(passes.kept) == 2
    assert plain.cycles == passes.cycles[0] and plain.untimed is None
    assert result.mismatches == 0
    assert result.untimed == "compare"
    assert {operator.where for operator in result.operators} == {"hardware"}
    report = result.as_json()
    for name in ("cycles", "utilisation", "milliseconds", "inferences_per_second"):
        assert report[name] is None
    for operator in report["operators"]:
        assert operator["cycles"] is operator["utilisation"] is operator["engine_cycles"] is None
        assert operator["counters"] == {}
    assert report["fast"] is True


def test_other_outputs_in_the_undisturbed_pass_are_an_error(passes: Passes) -> None:
    passes.change = 1
    message = r"output tensor \d+ \[0, \d\] is -?\d+, and -?\d+ in the undisturbed pass"
    with Session("verilator", "nano") as session, pytest.raises(HardwareError, match=message):
        session.run(person_detect(), compare=True)
    with Session("verilator", "nano", fast=True) as session:
        assert session.run(person_detect(), compare=True).mismatches is not None


@pytest.mark.slow
@pytest.mark.parametrize("fast", [False, True])
def test_the_command_says_what_was_timed(
    fast: bool, passes: Passes, call: Call, tmp_path: Path
) -> None:
    page, model = tmp_path / "page.html", tmp_path / "network.tflite"
    model.write_bytes(person_detect())
    arguments = ["run", model, "--backend", "verilator", "--config", "nano", "--compare"]
    arguments += ["--clock", 50, "--html", page, *(["--fast"] if fast else [])]
    status, out, _ = call(*arguments)
    assert status == 0
    html = " ".join(page.read_text(encoding="utf-8").split())
    out = " ".join(out.split())
    total = f"{passes.cycles[0]:,}"
    timed = f"{total} cycles take {passes.cycles[0] / 50_000:.4g} ms at 50 MHz"
    left_out = "No cycles: compare takes some of its own, and the pass without it was left out"
    assert len(passes.cycles) == (1 if fast else 2)
    for text in (out, html):
        assert (timed in text) is not fast
        assert (left_out in text) is fast
        assert total in text or fast
    assert f"{passes.cycles[-1]:,}" not in out + html


FRAMES = np.random.default_rng(1).integers(-128, 128, (5, 1, NEW, CHANNELS), np.int8)
PAST = 11
"""The tensor that is kept."""


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("kind", [Session, MachineSession])
def test_runs_are_frames_until_a_reset(kind: type[Session], reference: str) -> None:
    model = streaming()
    with kind(reference=reference) as session:
        single = [session.run(model, {0: x}, compare=True, all_tensors=True) for x in FRAMES]
        other = session.run(streaming(seed=1), {0: FRAMES[4]}, all_tensors=True)
        session.reset(model)
        first = session.run(model, {0: FRAMES[0]}, compare=True, all_tensors=True)
        rest = session.run_frames(
            model, 4, {"tensor_0": FRAMES[1:]}, compare=True, all_tensors=True
        )
    for got, expected in zip([first, *rest], single, strict=True):
        assert (got.mismatches, got.unread, expected.mismatches) == (0, [], 0)
        for index, tensor in expected.tensors.items():
            np.testing.assert_array_equal(got.tensors[index], tensor)
    np.testing.assert_array_equal(single[4].tensors[PAST][0, -NEW:], FRAMES[4][0])
    assert (other.tensors[2] == -3).all(), "two models share no state"


def test_a_run_that_raises_leaves_the_state_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    model = streaming()
    with Session() as session:
        session.run(model, {0: FRAMES[0]}, compare=True)
        with monkeypatch.context() as patch:
            patch.setattr("eightfold.run.session.litert_tensors", _raising(OracleRejected("no")))
            with pytest.raises(InputError, match="refuse this model"):
                session.run(model, {0: FRAMES[1]}, compare=True)
        with pytest.raises(InputError, match="LiteRT has not run the 1 inferences before"):
            session.run(model, {0: FRAMES[1]}, compare=True)
        again = session.run(model, {0: FRAMES[1]}, all_tensors=True)
        session.reset()
        expected = session.run_frames(model, 2, {0: FRAMES[:2]}, all_tensors=True)[1]
    np.testing.assert_array_equal(again.tensors[PAST], expected.tensors[PAST])


def _raising(error: Exception):
    def call(*_, **__):
        raise error

    return call


def test_frames_of_the_command(tmp_path: Path, call: Call) -> None:
    (tmp_path / "m.tflite").write_bytes(streaming())
    np.savez(tmp_path / "in.npz", tensor_0=FRAMES)
    run = ["run", tmp_path / "m.tflite", "--frames"]
    given = ["--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz"]
    given += ["--json", tmp_path / "out.json"]
    status, out, _ = call(*run, 5, "--compare", *given)
    assert (status, out.count("every tensor equals LiteRT")) == (0, 5)
    report = json.loads((tmp_path / "out.json").read_text("utf-8"))
    check_fields(report, RunJson)
    assert [frame["mismatches"] for frame in report["frames"]] == [0] * 5
    with np.load(tmp_path / "out.npz") as arrays, Session() as session:
        expected = session.run_frames(streaming(), 5, {0: FRAMES})
        np.testing.assert_array_equal(arrays["tensor_10"], [each.outputs[10] for each in expected])
    assert "must have 4 frames along its first axis" in refusal(call, *run, 4, *given)
