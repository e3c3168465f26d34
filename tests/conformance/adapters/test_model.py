"""Runtimes of others: whatever they do is an answer, and never ends the one who asks."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import BUILTIN, ModelRunner, load_adapter
from eightfold.conformance.adapters.model import GIVE_UP, ModelAdapter
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.vectors.models import OperatorCase, model_cases
from eightfold.operators import load_model, run_graph
from tests.support.conformance import bad_adapters
from tests.support.conformance.models import answers_of
from tests.support.models.single import one_operator


@pytest.fixture(scope="module")
def case() -> OperatorCase:
    return next(model_cases("CONV_2D", PROFILES["tflite"]))


@pytest.mark.parametrize(
    "kind", [bad_adapters.Right, bad_adapters.RightExecutable, bad_adapters.RawExecutable]
)
@pytest.mark.slow
def test_outputs_come_back(kind: type[ModelAdapter], case: OperatorCase) -> None:
    with kind() as adapter:
        for answer in adapter.answer_all([(case.model, case.inputs)] * 2):
            assert (answer.ending, answer.message) == ("computed", "")
            for index, tensor in answer.tensors.items():
                np.testing.assert_array_equal(tensor, case.tensors[index], strict=True)
            assert answer.tensors


@pytest.mark.parametrize(
    ("name", "ending", "message"),
    [
        ("Refuses", "refused", "only on Sundays"),
        ("Raises", "crashed", r"bad_adapters.py, line \d+: KeyError: 'nothing'"),
        ("Aborts", "crashed", "Aborts ended with SIGABRT: check failed: 1 == 2"),
        ("Exits", "crashed", "Exits ended with exit status 7"),
        ("Hangs", "timeout", "Hangs took longer than 1.5 s"),
        ("NeverStarts", "crashed", r"NeverStarts does not start: .* OSError: no licence"),
        ("StartsSlowly", "timeout", "StartsSlowly took longer than 1 s"),
        ("DiesAtTheStart", "crashed", "DiesAtTheStart ended with SIGSEGV"),
        ("Forgets", "missing", r"output \d+ is missing among tensors \[99\]"),
        ("Counts", "missing", "returned 2 arrays, and the model has 1 outputs"),
        ("Objects", "crashed", "run returned object object for tensor 0"),
        ("Text", "crashed", "run returned str, not a dict of arrays"),
        ("Nothing", "crashed", "Nothing has neither a run method nor a command"),
        ("Hungry", "crashed", "Unable to allocate"),
        ("ExecutableRefuses", "refused", "no dilation"),
        ("ExecutableFails", "crashed", "ended with exit status 1: ValueError: 5"),
        ("ExecutableAborts", "crashed", "ended with SIGABRT"),
        ("ExecutableHangs", "timeout", "took longer than 2 s"),
        ("ExecutableForgets", "missing", "the file of outputs was not written"),
        ("ExecutableGarbles", "missing", "the file of outputs cannot be read"),
    ],
)
@pytest.mark.slow
def test_what_goes_wrong_is_an_answer(
    name: str, ending: str, message: str, case: OperatorCase
) -> None:
    with getattr(bad_adapters, name)() as adapter:
        answer = adapter.answer(case.model, case.inputs)
        assert answer.ending == ending
        assert re.search(message, answer.message)
        assert len(answer.message.splitlines()) == 1


def test_it_answers_again_after_an_abort_and_is_not_asked_after_many_hangs(
    case: OperatorCase,
) -> None:
    with bad_adapters.Aborts() as adapter:
        answers = adapter.answer_all([(case.model, case.inputs)] * 2)
        assert [each.ending for each in answers] == ["crashed"] * 2
    with bad_adapters.HangsSoon() as adapter:
        answers = adapter.answer_all([(case.model, case.inputs)] * (GIVE_UP + 1))
        assert {each.ending for each in answers} == {"timeout"}
        assert answers[-1].message.startswith("not asked after 5 models")


def test_a_process_is_started_anew_after_so_many_models(case: OperatorCase) -> None:
    with bad_adapters.Anew() as adapter:
        answers = adapter.answer_all([(case.model, case.inputs)] * 5)
    processes = [each.message for each in answers]
    assert processes[0::2] == [*processes[1::2], processes[4]]
    assert len(set(processes)) == 3


def test_an_executable_that_is_not_there_is_bad_input(case: OperatorCase) -> None:
    with pytest.raises(InputError, match="/no/such/file: No such file or directory"):
        bad_adapters.NoExecutable().answer(case.model, case.inputs)


def test_bytes_that_are_no_model_are_asked_too() -> None:
    with bad_adapters.Right() as adapter:
        assert adapter.answer(b"nothing", {}).ending == "crashed"
    with bad_adapters.RawExecutable() as adapter:
        assert adapter.answer(b"nothing", {}).ending == "crashed"


MINE = """
from eightfold.conformance.adapters.model import ModelAdapter
import sim
class Mine(ModelAdapter):
    def run(self, model, inputs):
        import hw.core
        return sim.answer(hw.core.WORD)
"""


def test_an_adapter_beside_a_strangers_sim_and_hw(tmp_path: Path, case: OperatorCase) -> None:
    for name, text in (
        ("mine.py", MINE),
        ("sim/__init__.py", "def answer(word): raise ValueError(word)"),
        ("hw/__init__.py", ""),
        ("hw/core.py", "WORD = 'theirs'"),
        ("golden.py", "raise SystemExit"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with load_adapter(f"{tmp_path}/mine.py:Mine") as adapter:
        assert isinstance(adapter, ModelAdapter)
        answer = adapter.answer(case.model, case.inputs)
    assert answer.message == "mine.py, line 7: ValueError: theirs"
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.py:Mine", None, "none.py:Mine: no such file"),
        ("mine.py", "", "name a class in a file, such as mine.py:Mine, or one of eightfold"),
        ("nobody", None, "adapter 'nobody': name a class in a file"),
        (
            "mine.py:Mine",
            MINE.replace("import sim", "class Other(ModelAdapter): pass").replace(
                "class Mine", "class Yours"
            ),
            "no such class; mine.py has Other, Yours",
        ),
        ("mine.py:Mine", "class Mine: pass", "mine.py:Mine: is no adapter"),
        ("mine.py:Mine", "a = 1\nb = a / 0", "mine.py, line 2: ZeroDivisionError: division"),
        ("mine.py:Mine", "import nowhere_at_all", "line 1: ModuleNotFoundError: No module"),
        ("mine.py:Mine", "\ndef a(:", "mine.py, line 2: SyntaxError"),
        ("mine.py:Mine", "raise SystemExit(4)", "mine.py, line 1: SystemExit: 4"),
        (
            "mine.py:Mine",
            "from eightfold.conformance.adapters.adapter import ModelRunner\n"
            "class Mine(ModelRunner): pass",
            "mine.py:Mine: answer is not written",
        ),
        (
            "mine.py:Mine",
            "from eightfold.conformance.adapters.model import ModelAdapter\n"
            "class Mine(ModelAdapter):\n    def __init__(self): self.x = open('/no/file')",
            "cannot be made: mine.py, line 3: FileNotFoundError",
        ),
        (
            "mine.py:Mine",
            "from eightfold.conformance.adapters.model import ModelAdapter\n"
            "class Mine(ModelAdapter):\n    def __init__(self): raise SystemExit(0)",
            "cannot be made: mine.py, line 3: SystemExit: 0",
        ),
    ],
)
def test_what_is_no_adapter_is_one_line(
    name: str, text: str | None, message: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    where = name if name == "nobody" else f"{tmp_path}/{name}"
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        load_adapter(where)
    assert len(str(caught.value).splitlines()) == 1


def test_naming_an_adapter_loads_no_runtime() -> None:
    code = (
        "import sys; from eightfold.conformance.adapters.adapter import load_adapter;"
        "[load_adapter(name) for name in sys.argv[1:]];"
        "heavy = {'ai_edge_litert', 'tflite_micro', 'cocotb', 'amaranth'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code, *BUILTIN], check=True)


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("golden", "SOFTMAX"),
        ("litert", "SOFTMAX"),
        ("litert-optimized", "PAD"),
        ("xnnpack", "RESHAPE"),
        pytest.param("tflm", "SOFTMAX", marks=pytest.mark.tflm),
    ],
)
@pytest.mark.slow
def test_runtimes_of_the_kit_compute_and_refuse(name: str, operator: str) -> None:
    cases = list(model_cases(operator, PROFILES["tflite"]))
    for case, answer in zip(cases, answers_of(name, cases), strict=True):
        assert answer.ending == ("refused" if case.refusal else "computed"), answer.message
        assert bool(answer.message) is bool(case.refusal)
        for index, tensor in case.tensors.items():
            np.testing.assert_array_equal(answer.tensors[index], tensor, strict=True)


def installed(module: str, extra: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        find_spec(module) is None, reason=f"pip install 'eightfold[{extra}]': there is no {module}"
    )


TOSA, OPENVINO = installed("tosa_tools_cli", "tosa"), installed("openvino", "openvino")
ONE_PIXEL = {"padding": "VALID", **dict.fromkeys(("stride_h", "stride_w"), 1)}
ONE_PIXEL |= dict.fromkeys(("filter_height", "filter_width"), 1)


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        pytest.param("tosa", "RESHAPE", marks=TOSA),
        pytest.param("tosa", "SUB", marks=TOSA),
        pytest.param("openvino", "SUB", marks=OPENVINO),
        pytest.param("openvino-float", "CONCATENATION", marks=OPENVINO),
    ],
)
@pytest.mark.slow
def test_runtimes_of_extras_compute(name: str, operator: str) -> None:
    cases = [case for case in model_cases(operator, PROFILES["tflite"]) if not case.refusal]
    made_of = cast(ModelRunner, load_adapter(name)).made_of()
    assert all(path.name == "RECORD" and path.is_file() for path in made_of)
    for case, answer in zip(cases, answers_of(name, cases), strict=True):
        if name == "tosa" and max(array.ndim for array in case.inputs.values()) > 6:
            assert answer.message == "tensors of TOSA have six dimensions at most"
            continue
        assert answer.ending == "computed", answer.message
        for index in load_model(case.model).outputs:
            np.testing.assert_array_equal(answer.tensors[index], case.tensors[index], strict=True)


@TOSA
@pytest.mark.parametrize("operator", ["MAX_POOL_2D", "AVERAGE_POOL_2D"])
def test_the_converter_to_tosa_ignores_the_activation_of_pools(operator: str) -> None:
    """The smallest model: a pool of one pixel and RELU, which makes 0 of -1."""
    shape, options = (1, 1, 1, 1), ONE_PIXEL | {"fused_activation_function": "RELU"}
    model = one_operator(operator, [shape], shape, scales=(1.0, 1.0), options=options)
    inputs = {0: np.full(shape, -1, np.int8)}
    right = run_graph(load_model(model), inputs)
    with cast(ModelRunner, load_adapter("tosa")) as adapter:
        answer = adapter.answer(model, inputs)
    assert (right[1].item(), answer.tensors[1].item()) == (0, -1)


@TOSA
def test_what_the_converter_to_tosa_leaves_is_refused() -> None:
    case = next(model_cases("LESS", PROFILES["tflite"]))
    (answer,) = answers_of("tosa", [case])
    assert (answer.ending, answer.message) == (
        "refused",
        "the converter leaves operators of TFLite as they are",
    )


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tosa", r"Tosa needs absent-one, .*: pip install 'eightfold\[tosa\]'$"),
        ("openvino", r"OpenVINO needs absent-one, .*: pip install 'eightfold\[openvino\]'$"),
    ],
)
def test_a_runtime_that_is_not_installed_names_its_extra(
    name: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = cast(ModelRunner, load_adapter(name))
    monkeypatch.setattr(type(adapter), "packages", ("absent-one",))
    for ask in (adapter.made_of, lambda: adapter.answer(b"", {})):
        with pytest.raises(InputError, match=line):
            ask()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eightfold", "eightfold-icarus"])
def test_the_accelerator_refuses_what_it_does_not_compute_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An accelerator that other tests simulate too, so that none is built for this one.
    monkeypatch.setattr("eightfold.conformance.adapters.builtin.OnVerilator.config", "nano")
    cases = list(model_cases("QUANTIZE", PROFILES["tflite"], "standard", count=20))
    if name.endswith("icarus"):
        cases = [case for case in cases if sum(t.size for t in case.tensors.values()) < 200][:3]
    floats = [any(x.dtype == np.float32 for x in case.inputs.values()) for case in cases]
    answers = answers_of(name, cases)
    assert len(set(floats)) == 2 or name.endswith("icarus")
    for case, answer, is_float in zip(cases, answers, floats, strict=True):
        assert answer.ending == ("refused" if is_float else "computed"), answer.message
        for index in answer.tensors.keys() & case.tensors.keys():
            np.testing.assert_array_equal(answer.tensors[index], case.tensors[index], strict=True)
