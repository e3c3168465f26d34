"""What a mistake does to a whole network, and how it is said."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.judge.contracts import contract_of
from eightfold.conformance.judge.models.impact import (
    INFERENCES,
    Network,
    check_profile,
    impact_facts,
    mistakes_found,
)
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.judge.models.scaling import in_operators
from eightfold.conformance.judge.models.subject import OperatorMistake, OperatorRun
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.profile import NETWORKS, PROFILES, Profile
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding
from eightfold.golden.fixed_point import quantize_multiplier
from eightfold.golden.rounding import rounding_shift
from examples.digits.network import MODEL_FILE, TEST_FILE
from tests.support.models.networks import streaming
from tests.support.models.single import binary, one_operator

DIGITS = f"{MODEL_FILE}={TEST_FILE}"


def inverted(name: str) -> dict[str, OperatorMistake]:
    """Return an operator whose results are inverted."""

    def compute(subject: OperatorRun) -> list[np.ndarray]:
        return [~each for each in subject.expected]

    return {name: OperatorMistake("inverted", "All bits are inverted.", compute)}


def test_a_product_rounded_once_by_hand() -> None:
    """MUL alone: its accumulators by one rounding, in Python's integers."""
    scales = (0.37, 0.21, 0.11)
    network = Network("product", binary("MUL", scales))
    factors = [np.float32(scale) for scale in scales]
    m, shift = (int(x) for x in quantize_multiplier(float(factors[0] * factors[1] / factors[2])))
    far = []
    for inputs in network.inputs:
        a, b = (x.astype(np.int64) for x in inputs.values())
        z = rounding_shift(a * b * m, 31 - shift, "down")
        theirs = np.clip(z, -128, 127)
        right = network.golden[len(far)][network.graph.outputs[0]]
        far.append(int(np.abs(theirs - right).max()))
    found = network.impact(in_operators([MISTAKES["one_rounding_down"]]))
    assert (found.changed, found.largest) == (sum(x > 0 for x in far), max(far)) != (0, 0)
    assert (found.made, found.operators, found.inferences) == (1, 1, INFERENCES)


@pytest.mark.slow
def test_accuracy_and_outputs_of_labelled_images() -> None:
    network = Network.load(DIGITS)
    none = network.impact({})
    assert (none.changed, none.largest, none.agree, none.right) == (0, 0, 450, none.before)
    found = network.impact(in_operators([MISTAKES["right_one_more"], MISTAKES["clamp_wraps"]]))
    assert found.mistakes == ("right_one_more and clamp_wraps",)
    assert found.right is not None and found.right < 300 < found.agree + 300
    assert f"accuracy {found.right} of 450, {none.right} before" in found.text
    half_up = network.impact(in_operators([MISTAKES["second_half_up"]]))
    assert half_up.text.endswith(f"; accuracy {none.right} of 450 as before")
    assert 0 < half_up.changed < 450


def test_state_that_is_wrong_stays_for_the_next_inference() -> None:
    """Only what is kept is inverted: the first inference is right, each later one is not."""
    network = Network("streaming", streaming())
    mistaken = inverted("STRIDED_SLICE")
    found = network.impact(mistaken)
    assert (found.changed, found.made) == (INFERENCES - 1, 1)
    (variable,) = network.graph.variables
    for one, other in pairwise(network.run(mistaken)):
        np.testing.assert_array_equal(other[variable.before], one[variable.after])


@pytest.mark.parametrize(
    ("largest", "codes", "changed", "words"),
    [
        (1.0, True, 1, "1 of 4 outputs changes, by up to 1 code"),
        (36.0, True, 3, "3 of 4 outputs change, by up to 36 codes"),
        (0.25, False, 3, "3 of 4 outputs change, by up to 0.25"),
        (0.0, True, 0, "none of 4 outputs changes"),
    ],
)
def test_outputs_in_words(largest: float, codes: bool, changed: int, words: str) -> None:
    found = Network.load(str(MODEL_FILE)).impact({})
    assert found.text == "none, no operator makes the mistake"
    found = replace(found, inferences=4, changed=changed, largest=largest, codes=codes, agree=2)
    assert replace(found, made=1).text.endswith(f"{words}; top-1 as before in 2 of 4")


def test_the_mistakes_of_a_statement() -> None:
    def finding(claim: str, *names: str) -> ClaimFinding:
        return ClaimFinding(claim=claim, counts={CaseOutcome.WRONG: 1}, mistakes=names)

    findings = [
        finding("ADD", "xnnpack_form", "second_down"),
        finding("SUB"),
        finding("dot", "bias_missing"),
        finding("requantizer", "second_down and clamp_int8"),
        finding(NETWORKS, "RELU6 none_of_these", "MEAN second_up"),
        ClaimFinding(claim="MUL", counts={CaseOutcome.EXACT: 1}),
    ]
    made, unknown = mistakes_found(findings, contract_of(PROFILES["tflite"]))
    assert unknown == ["SUB", "dot"]
    assert made["ADD"] in operator_mistakes("ADD") and made["ADD"].name == "xnnpack_form"
    assert made["MEAN"].name == "second_up"
    assert made["CONV_2D"].name == made["SUB"].name == "second_down and clamp_int8"


def test_a_contract_has_its_impact_and_so_has_what_is_not_kept_of_it() -> None:
    """Without its only rule it is the spec again; a mistake comes beside what is meant."""
    profile = Profile.from_dict({"name": "mine", "contract": "second_half_up"})
    network = Network.load(str(MODEL_FILE))
    meant = network.impact(in_operators([MISTAKES["second_half_up"]]))
    assert impact_facts([], profile, [network]) == [
        ("Impact of the contract on digits", meant.text),
        ("Impact on digits", "none, no mistake to make was found"),
    ]
    for name, changed in (("without_second_half_up", False), ("right_one_more", True)):
        finding = ClaimFinding(claim="requantizer", counts={CaseOutcome.WRONG: 1}, mistakes=(name,))
        made, _ = mistakes_found([finding], contract_of(profile))
        assert made["CONV_2D"].name == f"second_half_up and {name}"
        assert bool(network.impact(made).changed) == changed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nowhere.tflite", "cannot be read"),
        (str(TEST_FILE), "not a .tflite file"),
        (f"{MODEL_FILE}={MODEL_FILE}", "cannot be read"),
    ],
)
def test_what_is_no_network(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Network.load(text)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "there are no inputs"),
        ({"images": np.zeros((3, 8, 8), np.int8), "labels": np.zeros(2, int)}, "labels must be 3"),
        ({"images": np.zeros((3, 8, 7), np.int8)}, "array .images. is no input"),
    ],
)
def test_inputs_that_do_not_fit(arrays: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Network("digits", Path(MODEL_FILE).read_bytes(), arrays)


@pytest.mark.parametrize("name", ["tpu-mlir", "tflite-single"])
def test_golden_runs_no_networks_of_other_specs(name: str) -> None:
    with pytest.raises(InputError, match="--impact: profile"):
        check_profile(PROFILES[name])


def test_what_a_mistake_does_not_change_is_golden_s() -> None:
    """LiteRT's FULLY_CONNECTED scales in double: right shifts in two roundings are no mistake."""
    weights = (np.arange(-64, 64, dtype=np.int8).reshape(4, 32), 0.05, 0, None)
    model = one_operator(
        "FULLY_CONNECTED", [(8, 32)], (8, 4), constants=(weights,), scales=(0.5, 2.3), options={}
    )
    network = Network("dense", model)
    assert network.impact(in_operators([MISTAKES["left_wide"]])).changed == 0
    assert network.impact(in_operators([MISTAKES["right_one_more"]])).changed == INFERENCES
