"""``eightfold vectors``: cases with the spec's results, for hardware and programs of others."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # golden loads only when needed
    from eightfold.conformance.units.unit import Level
    from eightfold.conformance.vectors.unit_files import Format

UNITS = {
    "requantizer": "An int32 accumulator to int8: multiplier, shift, zero point, clamp.",
    "dot": "A dot product of int8 with zero points and a bias, in int32.",
    "tables": "LOGISTIC, TANH and QUANTIZE of int8: all 256 results for a pair of scales.",
    "fake_quantize": "Ranges of OpenVINO's FakeQuantize as int8 scale and zero point.",
}


def case_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what all cases are drawn by: profile, level, seed."""
    for option in (
        click.option(
            "--profile",
            default="tflite",
            show_default=True,
            metavar="NAME|FILE.toml",
            help="What is claimed: tflite, tflite-single, tflm, eightfold, tpu-mlir, tpu-mlir-8, "
            "or a file.",
        ),
        click.option(
            "--level",
            type=click.Choice(["smoke", "standard", "full"]),
            default="smoke",
            show_default=True,
            help="How many cases: for seconds, minutes, hours of RTL simulation.",
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
    ):
        command = option(command)
    return command


folder_option = click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
)


@click.group()
def vectors() -> None:
    """Write cases with the results that the spec demands, for hardware and programs of yours.

    docs/conformance.md says what the files are.
    """


def _unit_command(unit: str, text: str) -> click.Command:
    @click.command(unit, help=text)
    @case_options
    @folder_option
    @click.option(
        "--format",
        "form",
        type=click.Choice(["hex", "npz", "csv", "c"]),
        default="hex",
        show_default=True,
        help="hex: words for $readmemh with benches in Verilog and SystemVerilog; c: C99 arrays "
        "and a loop.",
    )
    def write(profile: str, level: "Level", form: "Format", seed: int, folder: Path) -> None:
        from eightfold.conformance.profile import Profile
        from eightfold.conformance.vectors.unit_files import write_unit

        files, cases = write_unit(folder, unit, Profile.load(profile), level, form, seed)
        count = len(cases)
        outside = "".join(f", {n} {why} left out" for why, n in cases.left_out.items() if n)
        click.echo(f"{count} cases of {unit} in {folder}: {', '.join(files)}{outside}")

    return write


for _name, _text in UNITS.items():
    vectors.add_command(_unit_command(_name, _text))


@vectors.command("operators")
@case_options
@folder_option
@click.option(
    "--operators",
    "names",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="CONV_2D,ADD for example; all are those that the profile claims.",
)
def operators_command(profile: str, level: "Level", seed: int, folder: Path, names: str) -> None:
    """Models of one operator each: to be computed, every tensor stated, and to be refused."""
    from eightfold.conformance.profile import Profile
    from eightfold.conformance.vectors.operators import chosen, write_operators

    claimed = Profile.load(profile)
    operators = chosen(names, claimed)
    counts = write_operators(folder, operators, claimed, level, seed)
    click.echo(
        f"{len(operators)} operators in {folder}: {counts['computed']} models to compute, "
        f"{counts['refused']} to refuse"
    )


@vectors.command("networks")
@case_options
@folder_option
def networks_command(profile: str, level: "Level", seed: int, folder: Path) -> None:
    """Random networks of the operators that the profile claims, every tensor stated."""
    from eightfold.conformance.profile import Profile
    from eightfold.conformance.vectors.networks import write_networks

    counts = write_networks(folder, Profile.load(profile), level, seed)
    click.echo(f"{counts['computed']} networks in {folder}")
