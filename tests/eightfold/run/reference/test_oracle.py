"""The reference kernels run in a child, and are those of the files that are loaded."""

import base64
import hashlib
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.child import python_path
from eightfold.common.errors import InputError
from eightfold.model.builder import ModelBuilder
from eightfold.operators import SUPPORTED, load_model, run_graph, run_operator
from eightfold.operators.gate import FLOAT_ONLY
from eightfold.run.reference.oracle import (
    DEVIATIONS,
    Oracle,
    OracleAborted,
    OracleRejected,
    deviates,
    litert_outputs,
)
from eightfold.run.report.result import verdict
from eightfold.run.session import Session
from tests.support.models.networks import INPUT, person_detect
from tests.support.models.single import moved, one_operator, softmax
from tests.support.networks.layers import Written

_LOGITS = np.arange(8, dtype=np.int8)[None]


def test_returns_every_tensor_of_a_convolution() -> None:
    b = ModelBuilder()
    x = b.input((1, 3, 3, 1), scale=0.5, zero_point=2)
    weights = np.array([[[[1]]], [[[-2]]]], np.int8)
    w = b.constant(weights, scale=[1.0, 0.5])
    bias = np.array([4, -6], np.int32)
    c = b.constant(bias, scale=[0.5, 0.25])
    y = b.tensor((1, 3, 3, 2), scale=0.5, zero_point=-1)
    b.operator("CONV_2D", [x, w, c], [y], {"padding": "VALID", "stride_w": 1, "stride_h": 1})
    z = b.tensor((1, 18), scale=0.5, zero_point=-1)
    b.operator("RESHAPE", [y], [z], {"new_shape": [1, 18]})
    b.output(z)
    image = np.array([-128, -127, 0, 1, 2, 3, 4, 126, 127], np.int8).reshape(1, 3, 3, 1)
    with Oracle() as oracle:
        tensors = oracle.run(b.build(), {x: image})
    assert sorted(tensors) == [x, w, c, y, z]
    # Real multipliers are 1 and 1/2: exact, so the expectation is the definition itself.
    sums = (image.astype(int) - 2) * weights.reshape(2) + bias
    expected = np.clip(np.stack([sums[..., 0], sums[..., 1] // 2], -1) - 1, -128, 127)
    np.testing.assert_array_equal(tensors[y], expected.astype(np.int8), strict=True)
    np.testing.assert_array_equal(tensors[z], tensors[y].reshape(1, 18), strict=True)
    np.testing.assert_array_equal(tensors[w], weights, strict=True)
    np.testing.assert_array_equal(tensors[c], bias, strict=True)
    np.testing.assert_array_equal(tensors[x], image, strict=True)


def test_known_softmax_and_reuse_of_one_model_with_other_inputs() -> None:
    with Oracle() as oracle:
        model = softmax(length=4)
        for logits, expected in (
            ([10, 20, 30, -128], [-105, -65, 42, -128]),
            ([0, 0, 0, 0], [-64, -64, -64, -64]),
        ):
            result = oracle.run(model, {0: np.array([logits], np.int8)})
            np.testing.assert_array_equal(result[1], np.array([expected], np.int8), strict=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "signal"), [("litert", "ABRT"), pytest.param("tflm", "", marks=pytest.mark.tflm)]
)
def test_aborting_kernel_is_reported_and_the_next_run_works(reference: str, signal: str) -> None:
    with Oracle(reference) as oracle:
        for _ in range(2):
            # 600 equal logits overflow the kernel's sum of exponentials: a failed check.
            with pytest.raises(
                OracleAborted, match=f"^the reference kernels ended with SIG{signal}"
            ):
                oracle.run(softmax(length=600), {0: np.zeros((1, 600), np.int8)})
            assert oracle.run(softmax(length=8), {0: _LOGITS})[1].shape == (1, 8)


REJECTED: dict[str, tuple[bytes, dict[int, np.ndarray], str, str]] = {
    "operator": (
        moved("RELU_0_TO_1", (2,), (2,)),
        {0: np.zeros(2, np.int8)},
        "",
        "^Didn't find op for builtin",
    ),
    "output scale": (
        softmax(length=8, out=1 / 128),
        {0: _LOGITS},
        "scale not near",
        "softmax.*was not true",
    ),
    "shape": (softmax(length=8), {0: _LOGITS[:, :7]}, "Dimension mismatch", "."),
    "dtype": (softmax(length=8), {0: _LOGITS.astype(np.int16)}, "type INT16", "."),
    "tensor index": (softmax(length=8), {5: _LOGITS}, ".", "."),
    "bytes": (b"no model at all", {}, ".", ""),
    "empty": (b"", {}, ".", "."),
}
"""A model, inputs, and the words of LiteRT and TFLite Micro that refuse them; none: not asked."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "name"),
    [
        *(("litert", name) for name, (*_, said, _) in REJECTED.items() if said),
        *(
            pytest.param("tflm", name, marks=pytest.mark.tflm)
            for name, (*_, said) in REJECTED.items()
            if said
        ),
    ],
)
@pytest.mark.usual("reference", count=3)
def test_rejects_in_one_line_and_then_runs(reference: str, name: str) -> None:
    model, inputs, *messages = REJECTED[name]
    with Oracle(reference) as oracle:
        for _ in range(2):
            with pytest.raises(OracleRejected, match=messages[reference == "tflm"]) as caught:
                oracle.run(model, inputs)
            assert len(str(caught.value).splitlines()) == 1
        assert oracle.run(softmax(length=8), {0: _LOGITS})[1].shape == (1, 8)


def test_kills_a_child_that_exceeds_the_timeout() -> None:
    # No child imports its modules within a millisecond.
    with Oracle(timeout=0.001) as oracle, pytest.raises(OracleAborted, match="longer than 0.001 s"):
        oracle.run(softmax(length=8), {0: _LOGITS})


def test_child_ends_when_the_connection_does() -> None:
    with Oracle() as oracle:
        oracle.run(softmax(length=8), {0: _LOGITS})
        child, channel = oracle._child.process, oracle._child._channel
        assert child is not None
        assert channel is not None
        channel.close()  # what the end of the parent process does, too
        assert child.wait(timeout=60) == 0


def test_memory_beyond_the_limit_is_refused_and_the_next_run_works() -> None:
    model = moved("PAD", (1, 8), (1, 8 + 2**30), [[0, 0], [0, 2**30]])
    with Oracle(memory=2**29) as oracle:
        for _ in range(2):
            with pytest.raises((OracleRejected, OracleAborted)):
                oracle.run(model, {0: _LOGITS})
            assert oracle.run(softmax(length=8), {0: _LOGITS})[1].shape == (1, 8)


@pytest.mark.tflm
def test_tflite_micro_keeps_every_tensor_of_a_network() -> None:
    model = person_detect(3)
    graph = load_model(model)
    image = np.arange(-18, 18, dtype=np.int8).reshape(1, 6, 6, 1)
    with Oracle("tflm") as oracle:
        for _ in range(2):  # the second time, the interpreter is there already
            tensors = oracle.run(model, {INPUT: image})
            assert set(tensors) == set(range(len(graph.tensors)))
            for index, expected in run_graph(graph, {INPUT: image}, "tflm").items():
                np.testing.assert_array_equal(tensors[index], expected, strict=True)


def test_a_runtime_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eightfold.common.extras.find_spec", lambda module: None)
    monkeypatch.setattr(
        "eightfold.common.extras.requires",
        lambda package: [
            "ai-edge-litert<2.4,>=2.3; extra == 'compare'",
            "tflite-micro<1,>=0.dev1; (sys_platform == 'linux') and extra == 'compare'",
        ],
    )
    missing = "compare needs {}, which is not installed: pip install 'eightfold\\[compare\\]'{}$"
    with pytest.raises(InputError, match=missing.format("ai-edge-litert", "")):
        Oracle()
    where = ', where sys_platform == "linux"'
    with pytest.raises(InputError, match=missing.format("tflite-micro", where)):
        Oracle("tflm")


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["litert", "tflm"])
@pytest.mark.parametrize("name", sorted(FLOAT_ONLY))
def test_what_no_runtime_computes_in_int8_is_refused_with_that_reason(
    name: str, reference: str
) -> None:
    operands = 2 if name in ("ATAN2", "POW") else 1
    model = one_operator(name, [(1, 4)] * operands, (1, 4))
    with Oracle(reference) as oracle, pytest.raises(OracleRejected):
        oracle.run(model, dict.fromkeys(range(operands), np.ones((1, 4), np.int8)))
    with Session(fallback="golden") as session, pytest.raises(InputError, match="no int8 kernel"):
        session.run(model)


def small_network() -> bytes:
    """Return ADD of a tensor to itself, FULLY_CONNECTED without bias, and SPLIT."""
    net = Written(zero_point=-3)
    x = net.given(2, 4)
    doubled = net.add("ADD", [x, x], (0.25, 4))
    weights = net.constant(np.arange(-8, 8, dtype=np.int8).reshape(4, 4), scale=[0.5, 0.25, 1, 2])
    dense = net.add("FULLY_CONNECTED", [doubled, weights, -1], (4.0, 0))
    return net.model(*net.add_several("SPLIT", [net.integers(1), dense], dense, {"num_splits": 2}))


TOTAL = moved("SUM", (1, 2), (1,), [1], scales=(1.0, 1.0))
"""The SUM of two codes: tensor 0 to tensor 2."""


def test_one_operator_at_a_time_is_the_whole_model() -> None:
    model = small_network()
    graph = load_model(model)
    values = {0: np.arange(-4, 4, dtype=np.int8).reshape(2, 4) * 7}
    with Oracle() as oracle:
        whole = oracle.run(model, values)
        for operator in graph.operators:
            outputs = litert_outputs(oracle, graph, operator, values)
            values.update(zip(operator.outputs, outputs, strict=True))
            for index in operator.outputs:
                np.testing.assert_array_equal(values[index], whole[index], strict=True)
    assert not deviates(graph)


@pytest.mark.slow
@pytest.mark.parametrize(("codes", "wrong"), [((-1, -1), -1), ((-100, 50), -50), ((3, 4), 7)])
def test_sum_is_the_intended_one(codes: tuple[int, int], wrong: int) -> None:
    """LiteRT adds the bytes as unsigned: -1 is 255, and two of them are clamped to 255, -1."""
    graph = load_model(TOTAL)
    values = {0: np.array([codes], np.int8)}
    with Oracle() as oracle:
        assert oracle.run(TOTAL, values)[2].tolist() == [wrong]
        (right,) = litert_outputs(oracle, graph, graph.operators[0], values)
    assert right.tolist() == [sum(codes)]
    np.testing.assert_array_equal(run_operator(graph, graph.operators[0], values)[0], right)


def test_deviations_name_operators_of_golden() -> None:
    assert DEVIATIONS.keys() <= SUPPORTED
    assert deviates(load_model(TOTAL))


def test_the_verdict_names_a_deviation_of_the_model_and_no_other(tmp_path: Path) -> None:
    equal = "every tensor equals LiteRT's reference kernels bit for bit"
    endings = {"total": f"{equal}, SUM as intended: {DEVIATIONS['SUM']}", "network": equal}
    for name, model in (("total", TOTAL), ("network", small_network())):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(model)
        with Session() as session:
            assert verdict(session.run(path, compare=True)).endswith(f"; {endings[name]}")


FAKE = {
    "ai_edge_litert/__init__.py": '__version__ = "2.3.0"\n',
    "ai_edge_litert/interpreter.py": """
import numpy as np

class OpResolverType:
    BUILTIN_REF = None
    def __class_getitem__(cls, name):
        return None

class Interpreter:
    def __init__(self, **options):
        self.tensors = {}
    def allocate_tensors(self):
        pass
    def set_tensor(self, index, array):
        self.tensors[index] = array
    def invoke(self):
        self.tensors[1] = self.tensors[0]
    def get_tensor(self, index):
        return self.tensors[index]
""",
}


def install(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Put files into a folder, as a package that pip has installed there."""
    lines = []
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{file},sha256={digest.decode()},{len(text)}\n")
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(lines))


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the child's Python looks into before all others."""
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path))
    return tmp_path


def loaded() -> str:
    with Oracle() as oracle:
        return oracle.loaded


def test_a_nightly_that_is_loaded_is_named(beside: Path) -> None:
    install(beside, "ai-edge-litert-nightly", "2.4.0.dev9", FAKE)
    assert loaded() == "ai-edge-litert-nightly 2.4.0.dev9"


@pytest.mark.parametrize("last", ["release", "nightly"])
def test_of_two_packages_the_one_whose_files_lie_there_is_named(beside: Path, last: str) -> None:
    changed = {name: f"{text}# of the nightly\n" for name, text in FAKE.items()}
    packages = {
        "release": ("ai-edge-litert", "2.3.0", FAKE),
        "nightly": ("ai-edge-litert-nightly", "2.4.0.dev9", changed),
    }
    install(beside, *packages[{"release": "nightly", "nightly": "release"}[last]])
    install(beside, *packages[last])
    assert loaded() == " ".join(packages[last][:2])


@pytest.mark.slow
def test_files_that_no_package_brought_as_they_are_have_their_hash(beside: Path) -> None:
    install(beside, "ai-edge-litert", "2.3.0", FAKE)
    (beside / "ai_edge_litert" / "interpreter.py").write_text("Interpreter = None\n")
    first = loaded()
    assert first.startswith("ai_edge_litert 2.3.0, SHA-256 ")
    (beside / "ai_edge_litert" / "interpreter.py").write_text("Interpreter = 1\n")
    assert loaded() != first


def test_a_runtime_that_cannot_be_loaded_is_one_line(beside: Path) -> None:
    install(beside, "ai-edge-litert", "2.3.0", {"ai_edge_litert/__init__.py": ""})
    with Oracle() as oracle, pytest.raises(OracleAborted, match="No module named 'ai_edge_litert"):
        oracle.loaded  # noqa: B018


def test_a_run_says_which_module_it_was_compared_with(beside: Path) -> None:
    install(beside, "ai-edge-litert-nightly", "2.4.0.dev9", FAKE)
    with Session(backend="golden") as session:
        result = session.run(
            moved("RELU", (4,), (4,)), {0: np.arange(4, dtype=np.int8)}, compare=True
        )
    assert result.provenance
    assert result.provenance.versions["litert"] == "ai-edge-litert-nightly 2.4.0.dev9"
    assert "equals LiteRT's kernels (ai-edge-litert-nightly 2.4.0.dev9)" in verdict(result)


def test_what_is_installed_is_named_by_its_package() -> None:
    package, version = loaded().split()
    assert package.startswith("ai-edge-litert")
    assert version[0].isdecimal()


@pytest.mark.tflm
def test_a_package_is_named_as_pip_takes_it() -> None:
    """Its own metadata say ``tflite_micro``."""
    with Oracle("tflm") as oracle:
        assert oracle.loaded.startswith("tflite-micro ")
        assert oracle.runtime.version(oracle.loaded)[0].isdecimal()
