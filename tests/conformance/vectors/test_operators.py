"""Vectors of operators and networks: LiteRT agrees, and refuses what is to be refused."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.judge.models.finding import judge_models
from eightfold.conformance.profile import NETWORKS, OPERATORS, PROFILES, Profile, ProfileLimits
from eightfold.conformance.vectors.models import (
    MODELS,
    OperatorCase,
    chosen,
    model_cases,
    write_models,
)
from eightfold.golden import binary, convolution, fixed_point
from eightfold.operators import check_model, has_violation, load_model, run_graph
from eightfold.run.reference.oracle import Oracle, OracleRejected
from tests.support.conformance import bad_adapters

TFLITE = PROFILES["tflite"]


def agrees(oracle: Oracle, case: OperatorCase) -> bool:
    """Return whether a runtime refuses a model that is to be refused, or makes its tensors."""
    if not case.refusal:
        tensors = oracle.run(case.model, case.inputs)
        return all(np.array_equal(tensors[index], t) for index, t in case.tensors.items())
    try:
        oracle.run(case.model, case.inputs)
    except OracleRejected:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_litert_computes_and_refuses_the_same(oracle: Oracle, every: int) -> None:
    refused = 0
    for operator in OPERATORS[::every]:
        cases = list(model_cases(operator, TFLITE))
        assert len(cases) == MODELS["smoke"]
        cases += model_cases(f"{operator}.beyond-spec", TFLITE)
        if operator == "SUM":  # LiteRT's kernel adds unsigned bytes
            cases = []
        illegal = list(model_cases(f"{operator}.strictness", TFLITE))
        assert all(case.refusal for case in illegal)
        refused += len(illegal)
        cases = cases[::3] + illegal
        for number, case in enumerate(cases):
            assert agrees(oracle, case), (operator, number, case.refusal)
    assert refused >= 2 * len(OPERATORS[::every]) - 4


def test_a_wrong_tensor_and_an_acceptable_model_are_seen(oracle: Oracle) -> None:
    case, *_ = model_cases("ADD", TFLITE)
    (index,) = case.tensors
    wrong = case.tensors[index].copy()
    wrong.flat[-1] ^= 1
    assert agrees(oracle, case)
    assert not agrees(oracle, OperatorCase("ADD", case.model, case.inputs, {index: wrong}))
    assert not agrees(oracle, OperatorCase("ADD", case.model, {}, {}, "no reason"))


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_same_bytes_come_again_and_the_manifest_has_their_sums(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        claims = ["MEAN", "GATHER", "GATHER.strictness"]
        write_models(tmp_path / name, claims, TFLITE, "smoke", seed)
    first = contents(tmp_path / "a")
    assert first == contents(tmp_path / "b") != contents(tmp_path / "c")
    manifest = json.loads(first.pop("manifest.json"))
    assert manifest["files"] == {
        name: hashlib.sha256(content).hexdigest() for name, content in first.items()
    }
    for name, entry in manifest["cases"].items():
        assert f"{name}/model.tflite" in first
        assert (f"{name}/expected.npz" in first) is (entry["expect"] == "tensors")
        if entry["expect"] == "refused":
            with pytest.raises(InputError, match=re.escape(entry["reason"])):
                load_model(first[f"{name}/model.tflite"])


def test_limits_of_ranks_and_zero_points_hold() -> None:
    profile = Profile(name="narrow", limits=ProfileLimits(ranks=(4,), zero_points=(0, -128)))
    for case in model_cases("MAX_POOL_2D", profile):
        if not case.refusal:
            graph = load_model(case.model)
            for tensor in graph.tensors:
                assert len(tensor.shape) == 4
                assert tensor.quantization is not None
                assert tensor.quantization.zero_point[0] in (0, -128)


def test_micro_has_models_of_five_dimensions_at_most_and_none_to_refuse() -> None:
    cases = [c for name in ("ADD", "EQUAL") for c in model_cases(name, PROFILES["tflm"])]
    assert len(cases) == 2 * MODELS["smoke"]
    with pytest.raises(InputError, match="--strictness: ADD, EQUAL has no such cases"):
        PROFILES["tflm"].with_aspects(["ADD", "EQUAL"], ["strictness"])
    for case in cases:
        assert not case.refusal
        assert max(len(t.shape) for t in load_model(case.model).tensors) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
def test_no_case_is_a_violation_or_wraps(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(x: np.ndarray) -> np.ndarray:
        whole = np.asarray(x, np.int64)
        np.testing.assert_array_equal(whole, whole.astype(np.int32), "C++ leaves it undefined")
        return whole.astype(np.int32)

    for module in (fixed_point, binary, convolution):
        monkeypatch.setattr(module, "wrapped", exact)
    for case in model_cases(operator, TFLITE, "standard", seed=1, count=15):
        assert not has_violation(check_model(load_model(case.model)))


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "count"), [("MAXIMUM", 10), ("CONV_2D", 10), ("ADD", 0)])
def test_what_is_beyond_the_spec_is_asked_by_name(operator: str, count: int) -> None:
    cases = list(model_cases(f"{operator}.beyond-spec", TFLITE, "standard", count=10))
    assert len(cases) == count
    violations = [has_violation(check_model(load_model(case.model))) for case in cases]
    assert all(violations) or operator == "CONV_2D"  # where sums wrap, too


@pytest.mark.slow
def test_a_narrow_claim_gets_its_models_and_a_wide_one_ordinary_ones() -> None:
    narrow = list(model_cases("CONV_2D", PROFILES["npu-3x3"], "standard"))
    wide = list(model_cases("CONV_2D", TFLITE, "standard"))
    assert len(narrow) == len(wide) == MODELS["standard"]
    for case in narrow:
        assert bad_adapters.takes_3x3(case.model)
    other = next(case for case in wide if not bad_adapters.takes_3x3(case.model))
    with bad_adapters.Core3x3() as core:
        answers = core.answer_all([(case.model, case.inputs) for case in [*narrow, other]])
    judged = judge_models("CONV_2D", narrow, answers[:-1], PROFILES["npu-3x3"], power=False)
    assert judged.standing("standard") == "conforms"
    assert answers[-1].ending == "refused"
    assert 20 <= sum(bad_adapters.takes_3x3(case.model, batches=(1, 2)) for case in wide) <= 45


def test_constant_operands_and_int8_alone_can_be_claimed() -> None:
    profile = PROFILES["eightfold"]
    for operator in ("PAD", "QUANTIZE"):
        for case in model_cases(operator, profile, "standard", count=MODELS["standard"]):
            graph = load_model(case.model)
            assert [graph.tensors[index].dtype for index in graph.inputs] == [np.int8]


@pytest.mark.slow
@pytest.mark.parametrize(
    "profile", [TFLITE, Profile(name="a", limits=ProfileLimits(zero_points=(0,)))]
)
def test_shares_are_the_cases_of_the_whole(profile: Profile) -> None:
    whole = [case.model for case in model_cases("TANH", profile, "standard")]
    shares = [
        case.model
        for first in range(0, 120, 40)
        for case in model_cases("TANH", profile, "standard", first=first, count=40)
    ]
    assert shares == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (Profile(name="a", claims=("MUL",)), "profile a: does not claim ADD"),
        (PROFILES["tflite-single"], "golden has no ADD with one rounding"),
        (Profile(name="a", limits=ProfileLimits(ranks=(0,))), "its limits leave 0 models of ADD"),
        (
            Profile(name="a", operators={"ADD": {"size": 3}}, limits=ProfileLimits(ranks=(0,))),
            "widen zero_points, ranks, size of operators.ADD",
        ),
    ],
)
def test_what_cannot_be_drawn_is_one_line(profile: Profile, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        list(model_cases("ADD", profile))


def test_operators_are_chosen_by_name() -> None:
    assert chosen("all", TFLITE) == list(OPERATORS)
    assert chosen("MUL,ADD,MUL", TFLITE) == ["MUL", "ADD"]
    with pytest.raises(InputError, match="no operator 'CONV'"):
        chosen("ADD,CONV", TFLITE)
    with pytest.raises(InputError, match="profile a: claims no operator"):
        chosen("all", Profile(name="a", claims=("dot",)))


def test_networks_have_every_tensor_and_come_in_shares() -> None:
    cases = list(model_cases(NETWORKS, TFLITE))
    assert len(cases) == MODELS["smoke"]
    shares = [
        c.model for first in (0, 2) for c in model_cases(NETWORKS, TFLITE, first=first, count=2)
    ]
    assert [case.model for case in cases] == shares
    assert shares != [case.model for case in model_cases(NETWORKS, TFLITE, seed=1)]
    for case in cases:
        graph = load_model(case.model)
        assert set(case.tensors) == {index for op in graph.operators for index in op.outputs}
        for index, tensor in run_graph(graph, case.inputs).items():
            if index in case.tensors:
                np.testing.assert_array_equal(case.tensors[index], tensor, strict=True)


def test_only_operators_of_the_profile_occur() -> None:
    profile = Profile(name="a", claims=("ADD", "RESHAPE", NETWORKS))
    names = {
        op.name for c in model_cases(NETWORKS, profile) for op in load_model(c.model).operators
    }
    assert names == {"ADD", "RESHAPE"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (Profile(name="a", claims=("ADD",)), "does not claim networks"),
        (Profile(name="a", claims=("dot", NETWORKS)), "claims no operator that networks"),
        (Profile(name="a", limits=ProfileLimits(ranks=(0,))), "leave 0 networks"),
    ],
)
def test_networks_that_cannot_be_drawn_are_one_line(profile: Profile, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(model_cases(NETWORKS, profile))


def test_networks_are_written_with_a_manifest(tmp_path: Path) -> None:
    assert write_models(tmp_path, [NETWORKS], TFLITE) == {"computed": MODELS["smoke"], "refused": 0}
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["unit"] == NETWORKS
    assert sorted(manifest["cases"]) == [f"networks/{n:04}" for n in range(MODELS["smoke"])]
    assert (tmp_path / "networks" / "0000" / "expected.npz").is_file()
