"""``eightfold verilog`` and ``eightfold synth``: the hardware as Verilog, and what it takes."""

from pathlib import Path

import click

from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.common.files import write_file, write_files
from eightfold.common.program import CONFIG_HELP, path_option
from eightfold.common.progress import tell
from eightfold.common.terminal import terminal_progress
from eightfold.hw.units import UNITS
from eightfold.rtl import packages
from eightfold.rtl.header import PREFIX
from eightfold.target.config import PRESETS, AcceleratorConfig

UNIT_HELP = f"{', '.join(UNITS)}."


@click.command()
@click.option(
    "--config",
    "configs",
    multiple=True,
    help=f"{CONFIG_HELP}; base without it. With --all several times, every preset without it.",
)
@click.option("--unit", default="accelerator", show_default=True, help=UNIT_HELP)
@click.option(
    "--prefix",
    default=PREFIX,
    show_default=True,
    metavar="NAME",
    help="What all modules' names begin with: two configurations fit one design with one each.",
)
@click.option(
    "--vivado",
    is_flag=True,
    help="Ports say by X_INTERFACE attributes what they are; beside each file is FILE.tcl, with "
    "which Vivado packages it as an IP and synthesizes it.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="The accelerator at each --config, and every unit at the first, into a directory, with a "
    f"file list ({packages.FILE_LIST}) and a description for FuseSoC ({packages.CORE}) with "
    "targets for lint, simulation and Vivado.",
)
@path_option(
    "-o",
    "--output",
    help="Where to write, standard output without it; with --all a directory. Beside each file "
    "are the waivers for Verilator's lint, FILE.vlt.",
)
@needs_extra("rtl", "verilog")
def verilog(
    configs: tuple[str, ...],
    unit: str,
    prefix: str,
    vivado: bool,
    everything: bool,
    output: Path | None,
) -> None:
    """Generate Verilog of one unit."""
    names = configs or (("base", *(p for p in PRESETS if p != "base")) if everything else ("base",))
    chosen = {name: AcceleratorConfig.load(name) for name in names}
    stems = [Path(name).stem for name in chosen]
    if len(chosen) > 1 and not everything:
        raise InputError("--config: several need --all; without it give one")
    if len(set(stems)) < len(stems):
        raise InputError(f"--config: {', '.join(chosen)}: files of one name; rename one")
    if vivado and output is None and not everything:
        raise InputError("--vivado writes a script beside the Verilog; say where with -o FILE")

    def text(name: str, config: str) -> str:
        from eightfold.rtl.verilog import unit_verilog

        file = Path(config).name
        written = unit_verilog(name, chosen[config], prefix=prefix, config_name=file)
        return packages.with_interfaces(written, f"{prefix}_{name}") if vivado else written

    first = next(iter(chosen))
    if output is None and not everything:
        with terminal_progress(f"generating Verilog of {unit}"):
            printed = text(unit, first)
        click.echo(printed, nl=False)
        return
    folder = output or Path("build/verilog")
    written = []
    if everything:
        files = {folder / f"accelerator-{Path(c).stem}.v": ("accelerator", c) for c in chosen}
        others = [name for name in UNITS if name != "accelerator"]
        files |= {folder / f"{name}-{stems[0]}.v": (name, first) for name in others}
        written += _descriptions(folder, dict(zip(stems, chosen.values(), strict=True)), prefix)
    else:
        files = {folder: (unit, first)}
    total = len(files) if everything else None
    with terminal_progress("generating Verilog") as on_progress:
        for number, (path, (name, config)) in enumerate(files.items()):
            tell(on_progress, f"generating {path.name}", number, total)
            written.append(_written(path, text(name, config)))
            if vivado:
                script = packages.tcl(path.name, f"{prefix}_{name}", prefix)
                written.append(_written(path.with_suffix(".tcl"), script))
            tell(on_progress, f"linting {path.name}", number, total)
            written += _waivers(path)
    for path in written:
        click.echo(path)


def _descriptions(folder: Path, configs: dict[str, AcceleratorConfig], prefix: str) -> list[Path]:
    """Write the file list, and the core with all that its targets read besides the Verilog."""
    from eightfold.compiler.artifacts import check_files, driver_files

    default = next(iter(configs))
    driver = driver_files() | {packages.MODEL_HEADER: packages.model_header(prefix)}
    contents = {f"{packages.CHECK}/{name}": content for name, content in driver.items()}
    own = {
        config: {
            f"{packages.CHECK}/{config}/{name}": text for name, text in check_files(sizes).items()
        }
        for config, sizes in configs.items()
    }
    check = {config: [*contents, *files] for config, files in own.items()}
    for files in (*own.values(), packages.VIVADO_FILES):
        contents |= files
    contents[packages.FILE_LIST] = f"accelerator-{default}.v\n"
    contents[packages.CORE] = packages.fusesoc_core(list(configs), default, prefix, check)
    paths = {folder / name: content for name, content in contents.items()}
    write_files(paths)
    return list(paths)


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
@click.option(
    "--rounds",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="How often cells of late paths are moved and routed again at most, on ecp5; 0: they stay.",
)
@click.option("--speed", type=click.Choice(["6", "7", "8"]), default="6", show_default=True)
@click.option(
    "--family",
    type=click.Choice(["ecp5", "xilinx", "zynq", "gowin"]),
    default="ecp5",
    show_default=True,
    help="Area for all; the clock by placement and routing for ecp5, and for xilinx (XC7A100T) and "
    "zynq (XC7Z020) where PATH has nextpnr-himbaechel-xilinx.",
)
@path_option("-o", "--output", default=Path("build/synth"), metavar="DIR")
@path_option("--docs", help="Rewrite the table in FILE.")
@click.option(
    "--above",
    type=click.FloatRange(1, 200),
    metavar="MHZ",
    help="Count the registers that this clock is too fast for, by component, of the slowest seed.",
)
@click.option("--area", is_flag=True, help="Area alone: nothing is placed and routed.")
@path_option(
    "--liberty",
    help="Gate equivalents in the standard cells of this liberty file, instead of an FPGA.",
)
@needs_extra("synth", "synth")
def synth(
    units: tuple[str, ...],
    config: str | None,
    count: int,
    chosen: tuple[int, ...],
    blocks_of: int | None,
    rounds: int,
    speed: str,
    family: str,
    output: Path,
    docs: Path | None,
    above: float | None,
    area: bool,
    liberty: Path | None,
) -> None:
    """Measure area and clock with Yosys and nextpnr."""
    from eightfold.synth import main_jobs, main_liberty

    if liberty is not None:
        if docs is not None or above is not None:
            raise InputError("--liberty counts gates only; leave out --docs and --above")
        main_liberty(units, config, liberty, out=output)
        return
    main_jobs(
        units,
        config,
        seeds=tuple(dict.fromkeys(chosen)) or range(1, count + 1),
        blocks=blocks_of,
        rounds=rounds,
        speed=int(speed),
        family=family,
        out=output,
        docs=docs,
        above=above,
        route=not area,
    )
