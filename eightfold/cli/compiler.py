"""Commands of the command line around the compiler: compile, estimate, header."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eightfold.common.errors import InputError
from eightfold.common.files import write_file
from eightfold.common.program import (
    config_option,
    memory_option,
    model_argument,
    number_option,
    option_group,
    output_folder_option,
    path_option,
)
from eightfold.common.terminal import output_console, terminal_progress
from eightfold.run.report.clock import clock_of
from eightfold.run.report.table import Estimated, print_estimate
from eightfold.target.config import AcceleratorConfig
from eightfold.target.memory import MemoryTiming

if TYPE_CHECKING:  # golden loads only when needed
    from eightfold.compiler.passes import Prepared
    from eightfold.golden.quantization import Reference
    from eightfold.model import Graph

PROGRESS_SECONDS = 2.0
"""After which a terminal shows that something still compiles; most networks take less."""

reference_option = click.option(
    "--reference",
    type=click.Choice(["litert", "tflm"]),
    default="litert",
    show_default=True,
    help="Whose kernels to equal, and to compare with, where LiteRT and TFLite Micro differ.",
)


clock_option = click.option(
    "--clock",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MHZ",
    help="Tell times at this clock, in place of what was measured for the preset.",
)


class _Bytes(click.ParamType):
    """A number of bytes, which may end in K, M, G or T: powers of 1024."""

    name = "bytes"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number."""
        text = str(value).upper()
        power = "KMGT".find(text[-1:]) + 1 if text else 0
        number = text[:-1] if power else text
        if not (number.isascii() and number.isdecimal() and int(number) > 0):
            self.fail(f"{value!r} is not a number of bytes such as 500M or 2G", param, ctx)
        return int(number) << 10 * power


def _known_rules(context: click.Context, param: click.Parameter, names: tuple[str, ...]) -> Any:
    from eightfold.compiler.rewrite.rules import unknown_rule

    if wrong := unknown_rule(names):
        raise click.BadParameter(wrong)
    return names


network_options = option_group(
    config_option,
    reference_option,
    click.option(
        "--fallback",
        type=click.Choice(["golden"]),
        help="Run operators that the accelerator does not compute in numpy, and say so.",
    ),
    memory_option,
    click.option(
        "--no-rewrite",
        multiple=True,
        metavar="RULE",
        callback=_known_rules,
        help="Leave out a rule that rewrites the network before it is compiled, or all; may be "
        "given several times.",
    ),
    click.option(
        "--no-cascade",
        is_flag=True,
        help="Run layer by layer, no chain of operators strip by strip.",
    ),
    click.option(
        "--max-memory",
        type=_Bytes(),
        metavar="BYTES",
        help="Refuse a model that takes more, such as 2G; a quarter of the machine's memory.",
    ),
    number_option("--max-elements", help="Refuse a model with a larger tensor; 2^23."),
    number_option(
        "--batch", help="Entries along dimension 0 of the inputs, where the file leaves it open."
    ),
)
"""How a network is read and compiled, or run."""


def _prepared(
    model: Path,
    doing: str,
    *,
    config: str,
    reference: "Reference",
    fallback: str | None,
    memory: str,
    no_rewrite: tuple[str, ...],
    no_cascade: bool,
    max_memory: int | None,
    max_elements: int | None,
    batch: int | None,
    keep: bool = False,
) -> "tuple[Graph, Prepared, AcceleratorConfig, MemoryTiming]":
    """Return a model's graph, what the compiler has made of it, and what for, by options."""
    from eightfold.compiler.passes import prepare
    from eightfold.model import named
    from eightfold.operators import Limits, load_int8

    graph = load_int8(model, Limits(max_memory, max_elements), batch)
    sizes = AcceleratorConfig.load(config)
    timing = MemoryTiming.load(memory)
    with named(model), terminal_progress(f"{doing} {model.name}", after=PROGRESS_SECONDS):
        prepared = prepare(
            graph,
            sizes,
            reference,
            fallback=fallback is not None,
            keep=keep,
            memory=timing,
            no_rewrite=no_rewrite,
            cascade=not no_cascade,
        )
    return graph, prepared, sizes, timing


_TAKEN = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "  # noqa: SIM905 (rows)
    "inline int long main register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while alignas alignof and and_eq asm bitand bitor bool "
    "catch class compl concept consteval constexpr constinit const_cast co_await co_return "
    "co_yield decltype delete dynamic_cast explicit export false friend mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast "
    "requires static_assert static_cast template this thread_local throw true try typeid typename "
    "typeof typeof_unqual using virtual xor xor_eq commands model state inputs outputs".split()
)
"""Keywords of C, and of C++, which may include layout.h too; and names of layout.c itself."""

_NAME = re.compile(r"(?!eightfold_|EIGHTFOLD_|(in|out)put_\d|\w+_t$)[A-Za-z]\w*", re.ASCII)


def _identifier(context: click.Context, param: click.Parameter, name: str | None) -> str | None:
    if name is not None and (name in _TAKEN or not _NAME.fullmatch(name)):
        words = "is no name in C, or is taken in C, C++ or the driver; use letters, digits and _"
        raise click.BadParameter(f"{name!r} {words}")
    return name


@click.command("compile")
@model_argument
@output_folder_option
@network_options
@click.option("--keep", is_flag=True, help="Keep every tensor in the arena.")
@click.option("--explain", is_flag=True, help="Say which chains run strip by strip, and why.")
@click.option(
    "--c-array",
    metavar="NAME",
    callback=_identifier,
    help="Write layout.h and layout.c too: the network as constants of this name for the driver in "
    "C, see `eightfold driver`.",
)
def compile_command(
    model: Path, output: Path, explain: bool, c_array: str | None, **options: Any
) -> None:
    """Compile MODEL into a command stream, a model image and a readable listing.

    Writes commands.bin, model.bin, listing.txt, layout.json (regions; type, scale, arena offset of
    inputs and outputs, and what the host converts) and network.h, which has the same for C; with
    --fallback and more than one stream, a folder for each.
    """
    from eightfold.compiler import artifacts
    from eightfold.compiler.cascade.step import explain as explanation

    others = artifacts.compiled_files(output)
    graph, prepared, _, _ = _prepared(model, "compiling", **options)
    rewritten, network = prepared.rewritten, prepared.network
    streams = network.streams
    several = len(streams) > 1
    if c_array and several:
        raise InputError(
            f"--c-array: {model.name} has {len(streams)} command streams with golden in between, "
            "which a driver cannot run; compile without --fallback"
        )
    folders = [output / f"stream_{n}" if several else output for n in range(len(streams))]
    written = dict(zip(folders, streams, strict=True))
    ours = {path.resolve() for each in folders for path in artifacts.files_in(each)}
    if model.resolve() in ours | {path.resolve() for path in others}:
        raise InputError(f"{model}: lies where compile writes; name another folder with --output")
    for path in artifacts.write_compiled(rewritten.graph, written, c_array):
        click.echo(path)
        others.discard(path)
    for path in others:  # of another network, which a host would take for this one's
        path.unlink()
    searched = sum(network.searched.values())
    commands = sum(len(compiled.issued) for compiled in streams)
    taken = len(rewritten.graph.operators) - len(network.reasons | network.host)
    click.echo(
        f"{commands} commands for {taken} of {len(graph.operators)} operators; {searched} channels "
        f"needed a search for their multiplier, shift and rounding"
    )
    sizes = artifacts.region_bytes(streams)
    click.echo(", ".join(f"{name} {size:,} bytes" for name, size in sizes.items()))
    for line in rewritten.summary():
        click.echo(line)
    for index, conversion in sorted(network.host.items()):
        click.echo(f"host: {graph.operator(index)}: {conversion}")
    for each in artifacts.outputs_elsewhere(rewritten.graph, streams):
        click.echo(f"no stream: output {graph.tensors[each['tensor']]}: {each['from']}")
    for index, reason in sorted(network.reasons.items()):
        click.echo(f"golden: {graph.operator(index)}: {reason}")
    for compiled in streams if explain else ():
        for line in explanation(graph, compiled.decision):
            click.echo(line)


@click.command()
@model_argument
@network_options
@clock_option
@click.option("--json", "as_json", is_flag=True, help="Print the estimate as JSON.")
def estimate(model: Path, config: str, clock: float | None, as_json: bool, **options: Any) -> None:
    """Estimate MODEL's cycles per operator without simulation."""
    from eightfold.estimate.estimate import estimate as estimated
    from eightfold.model import named
    from eightfold.run.report.result import hardware_reports

    graph, prepared, sizes, timing = _prepared(model, "estimating", config=config, **options)
    with named(model), terminal_progress(f"estimating {model.name}", after=PROGRESS_SECONDS):
        found = estimated(prepared.network.streams, timing)
    result = Estimated(
        model=str(model),
        config=config,
        memory=str(timing),
        operators=hardware_reports(graph, prepared, sizes, found.cycles, found.work),
        macs_per_cycle=sizes.macs_per_cycle,
        clock=clock_of(sizes, clock),
        bus_cycles=found.bus,
    )
    if as_json:
        click.echo(json.dumps(result.as_json(), indent=1))
        return
    print_estimate(result, output_console(100))
    for line in prepared.rewritten.summary():
        click.echo(line)


@click.command()
@click.option(
    "--format",
    "kind",
    type=click.Choice(["c", "svd", "rdl"]),
    default="c",
    show_default=True,
    help="svd, rdl: the registers alone, in CMSIS-SVD for debuggers or in SystemRDL.",
)
@path_option("-o", "--output", help="Where to write, standard output without it.")
def header(kind: str, output: Path | None) -> None:
    """Generate the C header of the instruction set and the registers.

    With --format the registers as CMSIS-SVD or SystemRDL.
    """
    from eightfold.isa.headers import c_header, svd, systemrdl

    text = {"c": c_header, "svd": svd, "rdl": systemrdl}[kind]()
    if output is None:
        click.echo(text, nl=False)
        return
    write_file(output, text)
    click.echo(output)


@click.command()
@output_folder_option
def driver(output: Path) -> None:
    """Write a driver in C: freestanding C99 without allocation.

    eightfold.h and eightfold.c are the driver, eightfold_isa.h has registers and errors,
    eightfold_convert.h quantizes and dequantizes; bench.h and bench.cpp put the Verilog into
    Verilator. Networks for it: compile --c-array.
    """
    from eightfold.compiler.artifacts import write_driver

    for path in write_driver(output):
        click.echo(path)
