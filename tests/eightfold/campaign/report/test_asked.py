"""The command that would ask for a campaign again."""

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from eightfold.campaign.folder import asked_commands, seeds
from eightfold.cli.campaign import run_command
from eightfold.conformance.commands import run as conform_run
from eightfold.conformance.profile import PROFILES

ASKED = {
    "suites": ["operators"],
    "cases": {"operators": 50},
    "operators": "ADD,CONV_2D",
    "seed": 0,
    "stall": None,
    "coverage": True,
    "backend": "verilator",
}
COMMAND = (
    "eightfold campaign run operators --cases 50 --operators ADD,CONV_2D "
    "--backend verilator --coverage --seed 0"
)


def test_options_by_their_names() -> None:
    assert asked_commands(ASKED, Path("my folder/A")) == [f"{COMMAND} --out 'my folder/A'"]
    assert asked_commands({**ASKED, "coverage": False, "config": ""}, None) == [
        COMMAND.replace(" --coverage", "")
    ]
    assert asked_commands(dict(reversed(ASKED.items())), None) == [COMMAND]
    several = {
        "suites": ["networks", "faults"],
        "cases": {"networks": 5, "faults": 2},
        "stall": 0.0,
    }
    assert asked_commands(several, None) == [
        "eightfold campaign run networks faults --cases networks=5 --cases faults=2 --stall 0.0"
    ]


def test_a_campaign_of_an_older_version_has_the_command_of_then() -> None:
    asked = {
        "suite": ["operators", "networks"],
        "operators": "ADD",
        "models": 50,
        "coverage": False,
    }
    assert asked_commands(asked, None) == [
        "eightfold campaign run --suite operators --suite networks --operators ADD --models 50"
    ]


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
    assert context.params["suites"] == ("operators",)
    assert context.params["cases"] == ("50",)
    assert context.params["out"] == Path("A")
    kept = {name: value for name, value in ASKED.items() if name not in ("suites", "cases")}
    assert {name: context.params[name] for name in kept} == kept
