"""The speed tool times both sides of one inference; what the times are is not asserted."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.common.errors import InputError
from lab.documents.speed import Speed, measure, speed
from tests.support.models.single import unary


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.tflite"
    path.write_bytes(unary("RELU", (0.5, 0.25), (-3, 0)))
    return path


def test_reports_the_time_of_both_and_their_ratio(model: Path) -> None:
    measured = measure(model, repeats=3)
    assert measured.model == str(model)
    assert measured.operators == 1
    assert min(measured.golden, measured.litert, measured.litert_keeping) > 0
    assert measured.ratio == measured.golden / measured.litert


def test_prints_a_row_for_each_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "lab.documents.speed.measure", lambda *_: Speed(str(model), 4, 3.0, 2.0, 2.5)
    )
    result = CliRunner().invoke(speed, [str(model), str(model)])
    assert result.exit_code == 0
    heading, _, *rows = result.output.splitlines()
    assert heading == "| model | operators | golden ms | LiteRT ms | keeping all ms | ratio |"
    assert rows == ["| small.tflite | 4 | 3.000 | 2.000 | 2.500 | 1.50 |"] * 2


def test_blas_has_one_thread(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def failing(*_: object, env: dict[str, str], **__: object) -> object:
        seen.update(env)
        raise InterruptedError

    monkeypatch.setattr("subprocess.run", failing)
    with pytest.raises(InterruptedError):
        measure(model)
    assert seen["OPENBLAS_NUM_THREADS"] == "1"


def test_says_in_one_line_that_a_model_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.tflite: cannot be measured: ") as raised:
        measure(tmp_path / "missing.tflite")
    assert "\n" not in str(raised.value)
