"""``eightfold verilog`` and ``eightfold synth``: the hardware as Verilog, and what it takes."""

from pathlib import Path

import click

from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.common.files import write_file
from eightfold.common.program import CONFIG_HELP, config_option
from eightfold.common.progress import tell
from eightfold.common.terminal import terminal_progress
from eightfold.hw.units import UNITS
from eightfold.rtl.header import PREFIX
from eightfold.rtl.packages import CORE, FILE_LIST, file_list, fusesoc_core
from eightfold.target.config import PRESETS, AcceleratorConfig

UNIT_HELP = f"{', '.join(UNITS)}."


@click.command()
@config_option
@click.option("--unit", default="accelerator", show_default=True, help=UNIT_HELP)
@click.option(
    "--prefix",
    default=PREFIX,
    show_default=True,
    metavar="NAME",
    help="What all modules' names begin with: two configurations fit one design with one each.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every unit at --config, and the accelerator at every preset, into a directory, with a "
    f"file list ({FILE_LIST}) and a description for FuseSoC ({CORE}).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write, standard output without it; with --all a directory. Beside each file "
    "are the waivers for Verilator's lint, FILE.vlt.",
)
@needs_extra("rtl", "verilog")
def verilog(config: str, unit: str, prefix: str, everything: bool, output: Path | None) -> None:
    """Generate Verilog of one unit."""
    from eightfold.rtl.verilog import unit_verilog

    chosen = AcceleratorConfig.load(config)
    names = {"prefix": prefix, "config_name": Path(config).name}
    if output is None and not everything:
        with terminal_progress(f"generating Verilog of {unit}"):
            text = unit_verilog(unit, chosen, **names)
        click.echo(text, nl=False)
        return
    stem = Path(config).stem
    folder = output or Path("build/verilog")
    if everything:
        files = {folder / f"{name}-{stem}.v": (name, chosen) for name in UNITS}
        files |= {folder / f"accelerator-{p}.v": ("accelerator", PRESETS[p]) for p in PRESETS}
    else:
        files = {folder: (unit, chosen)}
    total = len(files) if everything else None
    written = []
    with terminal_progress("generating Verilog") as on_progress:
        for number, (path, (name, sizes)) in enumerate(files.items()):
            tell(on_progress, f"generating {path.name}", number, total)
            written.append(_written(path, unit_verilog(name, sizes, **names)))
            tell(on_progress, f"linting {path.name}", number, total)
            written += _waivers(path)
    if everything:
        presets = list(dict.fromkeys([*PRESETS, stem]))
        written.append(_written(folder / FILE_LIST, file_list([f"accelerator-{stem}.v"])))
        written.append(_written(folder / CORE, fusesoc_core(presets, stem, prefix)))
    for path in written:
        click.echo(path)


def _written(path: Path, text: str) -> Path:
    write_file(path, text)
    return path


def _waivers(source: Path) -> list[Path]:
    """Write beside a file what Verilator's lint may say of it, and return where."""
    from eightfold.sim.simulator.lint import waivers

    if not source.is_file():  # a device
        return []
    try:
        with needs_extra("rtl", "a lint"):
            text = waivers(source)
    except InputError as error:
        click.echo(f"eightfold: no waivers for Verilator's lint: {error}", err=True)
        return []
    return [_written(source.with_suffix(".vlt"), text)]


@click.command()
@click.option("--unit", "units", multiple=True, help=f"May be given several times: {UNIT_HELP}")
@click.option("--config", help=f"{CONFIG_HELP}; without it the configurations of the docs' table.")
@click.option(
    "--seeds",
    "count",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="How many placements: seeds 1 to this.",
)
@click.option(
    "--seed",
    "chosen",
    type=click.IntRange(1),
    multiple=True,
    help="This seed instead of those of --seeds; may be given several times.",
)
@click.option(
    "--blocks-of",
    type=click.IntRange(1),
    metavar="SEED",
    help="Keep RAM blocks and multipliers of all seeds where this seed places them.",
)
@click.option("--speed", type=click.Choice(["6", "7", "8"]), default="6", show_default=True)
@click.option(
    "--family",
    type=click.Choice(["ecp5", "xilinx", "gowin"]),
    default="ecp5",
    show_default=True,
    help="Area for all; the clock by placement and routing for ecp5 only.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("build/synth"), metavar="DIR"
)
@click.option(
    "--docs", type=click.Path(path_type=Path), metavar="FILE", help="Rewrite the table in FILE."
)
@needs_extra("synth", "synth")
def synth(
    units: tuple[str, ...],
    config: str | None,
    count: int,
    chosen: tuple[int, ...],
    blocks_of: int | None,
    speed: str,
    family: str,
    output: Path,
    docs: Path | None,
) -> None:
    """Measure area and clock with Yosys and nextpnr."""
    from eightfold.synth import main_jobs

    main_jobs(
        units,
        config,
        seeds=tuple(dict.fromkeys(chosen)) or range(1, count + 1),
        blocks=blocks_of,
        speed=int(speed),
        family=family,
        out=output,
        docs=docs,
    )
