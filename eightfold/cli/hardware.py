"""``eightfold verilog`` and ``eightfold synth``: the hardware as Verilog, and what it takes."""

from pathlib import Path

import click

from eightfold.config import PRESETS, AcceleratorConfig
from eightfold.extras import needs_extra
from eightfold.files import write_file
from eightfold.hw.units import UNITS
from eightfold.program import CONFIG_HELP, config_option

UNIT_HELP = f"{', '.join(UNITS)}."


@click.command()
@config_option
@click.option("--unit", default="accelerator", show_default=True, help=UNIT_HELP)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every unit at --config, and the accelerator at every preset, into a directory.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write, standard output without it; with --all a directory.",
)
@needs_extra("rtl", "verilog")
def verilog(config: str, unit: str, everything: bool, output: Path | None) -> None:
    """Generate Verilog of one unit."""
    from eightfold.rtl.verilog import unit_verilog

    chosen = AcceleratorConfig.load(config)
    if not everything and output is None:
        click.echo(unit_verilog(unit, chosen), nl=False)
        return
    if everything:
        folder = output or Path("build/verilog")
        files = {folder / f"{name}-{Path(config).stem}.v": (name, chosen) for name in UNITS}
        files |= {folder / f"accelerator-{p}.v": ("accelerator", PRESETS[p]) for p in PRESETS}
    else:
        assert output is not None
        files = {output: (unit, chosen)}
    for path, (name, sizes) in files.items():
        text = unit_verilog(name, sizes)
        write_file(path, lambda path=path, text=text: path.write_text(text, encoding="utf-8"))
        click.echo(path)


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
