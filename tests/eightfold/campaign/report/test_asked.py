"""The command that would ask for a campaign again."""

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from eightfold.campaign.report.asked import asked_commands, seeds
from eightfold.cli.campaign import run_command
from eightfold.cli.conform import run as conform_run
from eightfold.conformance.profile import PROFILES

ASKED = {
    "suites": ["operators", "networks"],
    "operators": "ADD,CONV_2D",
    "models": 50,
    "seed": 0,
    "stall": None,
    "coverage": True,
    "backend": "verilator",
}
COMMAND = (
    "eightfold campaign run --suite operators --suite networks --operators ADD,CONV_2D "
    "--backend verilator --coverage --models 50 --seed 0"
)


def test_options_by_their_names() -> None:
    assert asked_commands(ASKED, Path("my folder/A")) == [f"{COMMAND} --out 'my folder/A'"]
    assert asked_commands({**ASKED, "coverage": False, "config": ""}, None) == [
        COMMAND.replace(" --coverage", "")
    ]
    assert asked_commands(dict(reversed(ASKED.items())), None) == [COMMAND]
    assert asked_commands({"stall": 0.0}, None) == ["eightfold campaign run --stall 0.0"]


def test_a_run_of_conform_is_asked_by_conform() -> None:
    asked = {
        "adapter": "/my files/mine.py:Mine",
        "profile": json.loads(json.dumps(PROFILES["tflite"].as_dict())),
        "level": "smoke",
        "seed": 3,
        "claims": ["ADD", "networks"],
        "backend": "icarus",
    }
    (command,) = asked_commands(asked, Path("A"))
    assert command == (
        "eightfold conform run --adapter '/my files/mine.py:Mine' --profile tflite "
        "--claims ADD,networks --level smoke --seed 3 --backend icarus --out A"
    )
    conform_run.make_context("run", shlex.split(command)[3:])
    theirs = PROFILES["tflite"].replace(name="mine").as_dict()
    (command,) = asked_commands({**asked, "profile": theirs, "backend": "process"}, None)
    assert "--profile PROFILE.toml --claims" in command
    assert "--backend" not in command


def test_merged_campaigns_have_a_command_each() -> None:
    other: dict[str, Any] = {**ASKED, "seed": 50}
    merged = {"merged": [ASKED, {"merged": [other]}]}
    assert asked_commands(merged, Path("A")) == [COMMAND, COMMAND.replace("seed 0", "seed 50")]
    assert seeds(merged) == [0, 50]
    assert seeds({}) == []


def test_the_command_line_has_these_options() -> None:
    (command,) = asked_commands(ASKED, Path("A"))
    words = command.split()[3:]
    try:
        context = run_command.make_context("run", words)
    except click.UsageError as error:
        pytest.fail(str(error))
    assert context.params["suites"] == ("operators", "networks")
    assert context.params["out"] == Path("A")
    kept = {name: context.params[name] for name in ASKED if name != "suites"}
    assert kept == {name: value for name, value in ASKED.items() if name != "suites"}
