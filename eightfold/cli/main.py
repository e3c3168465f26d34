"""The command line; `eightfold.common.program.STATUSES` has its exit statuses."""

import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np
from numpy.lib.format import MAGIC_PREFIX as ARRAY_PREFIX
from rich.console import Console

from eightfold.cli import compiler
from eightfold.cli.board import board, port_options
from eightfold.cli.campaign import campaign
from eightfold.cli.check import check, info
from eightfold.cli.doctor import doctor
from eightfold.cli.hardware import synth, verilog
from eightfold.cli.importing import import_command, taken
from eightfold.cli.operator_list import ops
from eightfold.common.errors import InputError
from eightfold.common.extras import plugins
from eightfold.common.files import distinct_paths, npz_bytes, read_arrays, write_file
from eightfold.common.program import (
    STATUSES,
    is_given,
    model_argument,
    one_line_errors,
    path_option,
    stop_on_signals,
)
from eightfold.common.terminal import terminal_progress
from eightfold.run.report.page import require_page
from eightfold.run.report.result import verdict
from eightfold.run.report.table import print_table


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog=STATUSES,
)
@click.version_option(package_name="eightfold")
@click.pass_context
def commands(context: click.Context) -> None:
    """int8 inference hardware that agrees with the TFLite 8-bit quantization spec bit for bit."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@commands.command()
@model_argument
@path_option(
    "--input",
    "input_file",
    metavar="IN.npz",
    help="Arrays named tensor_<index> or as the tensors; without it they are drawn with --seed.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random inputs."
)
@click.option(
    "--frames",
    "--count",
    "frames",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="Run N inferences one after another, each from the state that the one before has left; "
    "frame n is drawn with seed + n, or is n along a further first axis of the arrays of --input.",
)
@click.option(
    "--backend",
    type=click.Choice(["golden", "verilator", "icarus", "board"]),
    default="golden",
    show_default=True,
)
@compiler.network_options
@click.option(
    "--compare", is_flag=True, help="Compare every tensor with the kernels of the reference."
)
@click.option(
    "--stall",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    help="Probability that a channel of the simulated memory pauses in a cycle.",
)
@path_option("--output", metavar="OUT.npz", help="Write the output tensors.")
@click.option(
    "--all-tensors", is_flag=True, help="Keep every tensor in memory; --output has them all."
)
@path_option("--json", "json_file", help="Write the report as JSON; - for standard output.")
@path_option(
    "--html",
    "html_file",
    help="Write the report as a page for a browser; of simulated hardware with a timeline of the "
    "engines, counters, and a map of its memory.",
)
@path_option(
    "--trace",
    help="Write the waves of the simulation, .fst or .vcd, which has ten times the size; how "
    "large it will be is said first.",
)
@click.option(
    "--fast",
    is_flag=True,
    help="Leave out the pass without --compare, --all-tensors and --stall, and with it the cycles.",
)
@compiler.clock_option
@port_options
def run(
    model: Path,
    input_file: Path | None,
    seed: int,
    frames: int | None,
    backend: str,
    config: str,
    compare: bool,
    output: Path | None,
    all_tensors: bool,
    json_file: Path | None,
    html_file: Path | None,
    no_cascade: bool,
    **options: Any,
) -> None:
    """Run MODEL once and report every operator; with --frames those of the last inference.

    MODEL.xml and MODEL.onnx are imported first, as by `eightfold import`; with --fallback golden
    layers without int8 form are kept as tables. MODEL.npz is a network that `eightfold import
    --spec tpu-mlir` has written.

    --json and --html have besides how each frame compares.
    """
    from eightfold.run.session import Session  # the model reader and golden load only when needed

    for name, path in {"--output": output, "--html": html_file}.items():
        if str(path) == "-":
            raise InputError(f"{name} -: standard output takes --json alone; name a file")
    sizes = Path(config) if config.endswith(".toml") else None
    weights = model.with_suffix(".bin") if model.suffix == ".xml" else None
    distinct_paths(
        {"MODEL": model, "the weights of MODEL": weights, "--input": input_file, "--config": sizes},
        {"--output": output, "--json": json_file, "--html": html_file, "--trace": options["trace"]},
    )
    if input_file and is_given("seed"):
        raise InputError("--seed draws the inputs that --input gives; leave one of them out")
    inputs = _load_inputs(input_file) if input_file else None
    if model.suffix == ".npz":
        raise SystemExit(_run_program(model, inputs, backend, config, seed, output))
    if html_file:
        require_page()  # better before the simulation than after
    content, notes, _ = taken(model, fallback=options["fallback"] is not None)
    kept: dict[str, Any] = {"all_tensors": all_tensors, "record": html_file is not None}
    kept |= {"inputs": inputs, "seed": seed, "compare": compare}
    with (
        terminal_progress(f"running {model.name} on {backend}") as progress,
        Session(backend, config, progress=progress, cascade=not no_cascade, **options) as session,
    ):
        if frames is None:
            results = [session.run(content, **kept)]
        else:
            results = session.run_frames(content, frames, **kept)
    result = results[-1]
    result.model, result.notes = str(model), [*notes, *result.notes]
    if input_file and result.provenance:
        result.provenance = replace(result.provenance, input_file=str(input_file))
    if output:
        tensors = result.tensors if all_tensors else result.outputs
        arrays = {
            f"tensor_{index}": tensors[index]
            if frames is None
            else np.stack([each.tensors[index] for each in results])
            for index in tensors
        }
        write_file(output, npz_bytes(arrays))
    if json_file:
        text = json.dumps(result.as_json(), indent=1) + "\n"
        if str(json_file) == "-":
            click.echo(text, nl=False)
        else:
            write_file(json_file, text)
    if html_file:
        from eightfold.run.report.run_page import run_page

        write_file(html_file, run_page(result))
    if str(json_file) != "-":
        print_table(result, Console(width=None if sys.stdout.isatty() else 120))
        for number, each in enumerate(results if frames else ()):
            click.echo(f"frame {number}: {verdict(each)}")
        if frames is None:
            click.echo(verdict(result))
    raise SystemExit(1 if any(each.mismatches for each in results) else 0)


def _run_program(
    model: Path,
    inputs: dict[str, np.ndarray] | None,
    backend: str,
    config: str,
    seed: int,
    output: Path | None,
) -> int:
    """Run a network of TPU-MLIR, and return the exit status."""
    from eightfold.run.simulate import run_program

    known = {"model", "input_file", "backend", "config", "seed", "output"}
    for each in click.get_current_context().command.params:
        if each.name not in known and is_given(each.name or ""):
            raise InputError(f"{each.opts[0]} is for .tflite models; leave it out for {model.name}")
    with terminal_progress(f"running {model.name} on {backend}") as progress:
        ran = run_program(model, inputs, backend, config, seed, progress)
    if output:
        write_file(output, npz_bytes(ran.outputs))
    for line in ran.lines:
        click.echo(line)
    return int(ran.wrong > 0)


def _load_inputs(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an npz file."""
    with suppress(OSError), path.open("rb") as file:
        if file.read(len(ARRAY_PREFIX)) == ARRAY_PREFIX:
            raise InputError(
                f"--input {path}: a single array, .npy, which does not say whose values it has; "
                f"write numpy.savez('in.npz', tensor_0=numpy.load('{path.name}')), by the names "
                "that eightfold info shows"
            )
    try:
        return read_arrays(path)
    except InputError as error:
        raise InputError(f"--input {error}") from None


for _command in (
    *(board, campaign, check, compiler.compile_command, doctor, compiler.driver),
    *(compiler.estimate, compiler.header, import_command, info, ops, synth, verilog),
):
    commands.add_command(_command)

for _entry in plugins("eightfold.run_options").values():
    run.params.append(_entry.load())

for _entry in plugins("eightfold.commands").values():
    commands.add_command(_entry.load())


def main() -> NoReturn:
    """Entry point of the console script."""
    stop_on_signals()
    one_line_errors(commands)


if __name__ == "__main__":
    main()
