"""Networks for runtimes: of what is claimed, deterministic, in shares."""

import json
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.profile import NETWORKS, PROFILES, Profile, ProfileLimits
from eightfold.conformance.vectors.models import MODELS, network_cases, write_networks
from eightfold.operators import load_model, run_graph

TFLITE = PROFILES["tflite"]


def test_networks_have_every_tensor_and_come_in_shares() -> None:
    cases = list(network_cases(TFLITE))
    assert len(cases) == MODELS["smoke"]
    shares = [c.model for first in (0, 2) for c in network_cases(TFLITE, first=first, count=2)]
    assert [case.model for case in cases] == shares
    assert shares != [case.model for case in network_cases(TFLITE, seed=1)]
    for case in cases:
        graph = load_model(case.model)
        assert set(case.tensors) == {index for op in graph.operators for index in op.outputs}
        for index, tensor in run_graph(graph, case.inputs).items():
            if index in case.tensors:
                np.testing.assert_array_equal(case.tensors[index], tensor, strict=True)


def test_only_operators_of_the_profile_occur() -> None:
    profile = Profile(name="a", claims=("ADD", "RESHAPE", NETWORKS))
    names = {op.name for c in network_cases(profile) for op in load_model(c.model).operators}
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
def test_what_cannot_be_drawn_is_one_line(profile: Profile, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(network_cases(profile))


def test_networks_are_written_with_a_manifest(tmp_path: Path) -> None:
    assert write_networks(tmp_path, TFLITE) == {"computed": MODELS["smoke"], "refused": 0}
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["unit"] == NETWORKS
    assert sorted(manifest["cases"]) == [f"networks/{n:04}" for n in range(MODELS["smoke"])]
    assert (tmp_path / "networks" / "0000" / "expected.npz").is_file()
