"""What mistakes of a requantizer do to networks: ``python -m lab.measure.impact MODEL...``."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.program import one_line_errors
from eightfold.common.progress import OnProgress, tell
from eightfold.common.terminal import terminal_progress
from eightfold.conformance.judge.models.impact import Impact, Network
from eightfold.conformance.judge.models.scaling import in_operators
from eightfold.conformance.judge.variants import mistakes_of

FILE = IMPORT_ROOT / "docs" / "impact.json"


def impacts(network: Network, on_progress: OnProgress | None = None) -> Iterator[Impact]:
    """Yield what each mistake of TFLite's form does to a network, one after the other."""
    mistakes = mistakes_of("tflite", biased=True)
    for done, mistake in enumerate(mistakes):
        tell(on_progress, f"{network.name}: {mistake.name}", done, len(mistakes))
        yield network.impact(in_operators([mistake]))


def measured() -> list[Impact]:
    return [Impact(**each) for each in json.loads(FILE.read_text(encoding="utf-8"))]


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.argument("models", nargs=-1, required=True, metavar="MODEL.tflite[=INPUTS.npz]...")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--most", type=click.IntRange(min=1), default=150, help="Inferences of a network.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=FILE)
def main(models: tuple[str, ...], seed: int, most: int, output: Path) -> None:
    networks = [Network.load(model, seed=seed, most=most) for model in models]
    with terminal_progress("measuring") as on_progress:
        found = [each for network in networks for each in impacts(network, on_progress)]
    lines = ",\n".join(json.dumps(asdict(each)) for each in found)
    write_file(output, f"[\n{lines}\n]\n")
    click.echo(output)


if __name__ == "__main__":
    one_line_errors(main)
