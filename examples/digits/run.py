"""Runs real handwritten digits through the hardware: ``python -m examples.digits.run``.

Generates the Verilog of the accelerator, simulates it on a batch of test images, compares every
tensor with LiteRT's reference kernels, and prints a row per operator and the recognized digits.
"""

import sys
from pathlib import Path

import click
from rich.console import Console

from eightfold.common.files import write_file
from eightfold.common.program import one_line_errors
from eightfold.common.terminal import terminal_progress
from eightfold.rtl.header import PREFIX, header
from eightfold.run.report.result import RunResult
from eightfold.run.report.table import print_table
from eightfold.run.session import Session
from eightfold.sim.simulator.sources import Unit
from eightfold.sim.simulator.toolchain import Simulator
from examples.digits.images import load
from examples.digits.network import MODEL_FILE, TEST_FILE


@click.command(context_settings={"show_default": True})
@click.option("--config", default="base", help="A preset or a .toml file.")
@click.option("--backend", type=click.Choice(["verilator", "icarus"]), default="verilator")
@click.option("--count", type=click.IntRange(1, 450), default=16, help="Test images to run.")
@click.option("--verilog", type=click.Path(path_type=Path), default=Path("build/verilog"))
def run(config: str, backend: Simulator, count: int, verilog: Path) -> None:
    """Run handwritten digits through the hardware, every tensor against LiteRT."""
    source = verilog / f"accelerator-{Path(config).stem}.v"
    images, labels = load(TEST_FILE)
    with (
        terminal_progress(f"running digits on {backend}") as progress,
        Session(backend, config, progress=progress) as session,
    ):
        unit = Unit("accelerator", session.config)
        text = unit.file(on_progress=progress).read_text("utf-8")
        head = header(unit.name, unit.config, PREFIX, Path(config).name)
        write_file(source, head + text)
        batch = [{0: image[None]} for image in images[:count]]
        results = session.run_batch(MODEL_FILE.read_bytes(), batch, compare=True)
    click.echo(f"Verilog: {source}")
    print_table(summary(results), Console(width=None if sys.stdout.isatty() else 120))
    classes = [int(each.argmax()) for result in results for each in result.outputs.values()]
    click.echo(f"recognized: {' '.join(map(str, classes))}")
    click.echo(f"labels:     {' '.join(map(str, labels[:count]))}")
    click.echo(shown(results))
    raise SystemExit(1 if any(result.mismatches for result in results) else 0)


def summary(results: list[RunResult]) -> RunResult:
    """Return the first image's report with the mismatches of all; cycles are the same for each."""
    first = results[0]
    first.model = f"digits.tflite, {len(results)} images"
    for position, operator in enumerate(first.operators):
        operator.mismatches = sum(r.operators[position].mismatches or 0 for r in results)
    return first


def shown(results: list[RunResult]) -> str:
    """Return one line that says what the run has shown."""
    operators = results[0].operators
    hardware = [operator for operator in operators if operator.where == "hardware"]
    differ = sum(result.mismatches or 0 for result in results)
    counted = f"{differ} elements differ from LiteRT's reference kernels"
    if not differ:
        counted = "every tensor equals LiteRT's reference kernels bit for bit"
    return (
        f"{len(results)} images: {len(hardware)} of {len(operators)} operators in RTL "
        f"on {results[0].backend}; {counted}"
    )


if __name__ == "__main__":
    one_line_errors(run)
