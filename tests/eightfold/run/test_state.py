"""What a session keeps of a model from run to run: golden, the machine model, and its command."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eightfold.cli.main import commands
from eightfold.common.errors import InputError
from eightfold.run.reference.oracle import OracleRejected
from eightfold.run.report.result import RunJson
from eightfold.run.session import Session
from lab.hostile.subject import MachineSession
from tests.support.documented import check_fields
from tests.support.models.networks import CHANNELS, NEW, streaming

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


def test_frames_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(streaming())
    np.savez(tmp_path / "in.npz", tensor_0=FRAMES)
    run = ["run", str(tmp_path / "m.tflite"), "--frames"]
    given = ["--input", str(tmp_path / "in.npz"), "--output", str(tmp_path / "out.npz")]
    given += ["--json", str(tmp_path / "out.json")]
    result = CliRunner().invoke(commands, [*run, "5", "--compare", *given])
    assert result.exit_code == 0, result.output
    assert result.output.count("every tensor equals LiteRT") == 5
    report = json.loads((tmp_path / "out.json").read_text("utf-8"))
    check_fields(report, RunJson)
    assert [frame["mismatches"] for frame in report["frames"]] == [0] * 5
    with np.load(tmp_path / "out.npz") as arrays, Session() as session:
        expected = session.run_frames(streaming(), 5, {0: FRAMES})
        np.testing.assert_array_equal(arrays["tensor_10"], [each.outputs[10] for each in expected])
    wrong = CliRunner().invoke(commands, [*run, "4", *given])
    assert isinstance(wrong.exception, InputError)
    assert "must have 4 frames along its first axis" in str(wrong.exception)
