"""What somebody who presses Ctrl-C is told: how a campaign goes on, or that nothing is kept."""

import signal
from pathlib import Path
from typing import Any, NoReturn

import pytest

from eightfold.campaign import campaign
from eightfold.common.program import Stopped
from tests.support.command import Call


@pytest.fixture(params=["builds_of", "go_on"])
def interrupted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt what runs a campaign: while simulators are built, or later."""

    def stop(*_: Any, **__: Any) -> NoReturn:
        raise Stopped(signal.SIGINT)

    monkeypatch.setattr(campaign, request.param, stop)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("name", ["A", "two words"])
def test_a_campaign_names_the_command_that_goes_on(tmp_path: Path, call: Call, name: str) -> None:
    folder = tmp_path / name
    words = ["campaign", "run", "operators", "--operators", "ADD", "--cases", "1", "--out", folder]
    status, _, err = call(*words)
    shown = f"'{folder}'" if " " in name else folder
    line = f"eightfold: interrupted; eightfold campaign resume {shown} goes on\n"
    assert (status, err) == (130, line)


@pytest.mark.usefixtures("interrupted")
def test_a_conformance_run_without_a_folder_says_that_nothing_is_kept(
    tmp_path: Path, call: Call
) -> None:
    words = ["conform", "run", "--adapter", "golden", "--claims", "ADD"]
    status, _, err = call(*words)
    line = "eightfold: interrupted; nothing is kept; --out DIR keeps what was answered\n"
    assert (status, err) == (130, line)
    status, _, err = call(*words, "--out", tmp_path / "run")
    line = f"eightfold: interrupted; eightfold campaign resume {tmp_path}/run goes on\n"
    assert (status, err) == (130, line)
