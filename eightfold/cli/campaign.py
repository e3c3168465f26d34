"""``eightfold campaign``: many cases over a machine or a farm."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from eightfold.cli.compiler import netlist_option, reference_option
from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.common.program import CONFIG_HELP, Stopped, output_folder_option
from eightfold.common.terminal import terminal_progress
from eightfold.target.config import AcceleratorConfig

CLUSTERS = ("slurm", "lsf", "pbs", "sge", "htcondor")
SUITES = (
    "operators",
    "networks",
    "requantizer",
    "faults",
    "streams",
    "hostile",
    "mutants",
    "proofs",
)

folder_argument = click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")


adapter_option = click.option(
    "--adapter",
    metavar="FILE.py:CLASS",
    help="Of a run of eightfold conform: its adapter. It is code, which no folder chooses.",
)


def _file_option(name: str, text: str) -> Callable[..., Any]:
    path = click.Path(path_type=Path)
    return click.option(f"--{name}", type=path, metavar="FILE", help=text)


def farm_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says where units run, and when no more begin."""
    for option in (
        click.option(
            "--workers",
            type=click.IntRange(min=1),
            metavar="N",
            help="Processes on this machine, its processors by default; with --cluster jobs.",
        ),
        click.option(
            "--scheduler", metavar="tls://HOST:PORT", help="A running dask scheduler's workers."
        ),
        click.option(
            "--cluster", type=click.Choice(CLUSTERS), help="Jobs of a batch system are the workers."
        ),
        click.option(
            "--cluster-option",
            "cluster_options",
            multiple=True,
            metavar="NAME=VALUE",
            help="As dask-jobqueue takes it: queue=sim, walltime=04:00:00, memory=8GB.",
        ),
        click.option(
            "--keys",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Of --scheduler and --cluster: what eightfold campaign keys DIR has made.",
        ),
        click.option(
            "--budget", metavar="TIME", help="No more cases begin after it: 90s, 30m, 2h."
        ),
        click.option(
            "--stop-after",
            type=click.IntRange(min=1),
            metavar="N",
            help="No more cases begin after so many failures.",
        ),
        click.option(
            "--unit-limit",
            default="10m",
            show_default=True,
            metavar="TIME",
            help="A unit of cases that takes longer is tried again, three times at most.",
        ),
    ):
        command = option(command)
    return command


@click.group()
def campaign() -> None:
    """Run many random cases over all cores or a farm; stop, resume and report."""


@campaign.command("run")
@click.option(
    "--suite",
    "suites",
    type=click.Choice(SUITES),
    multiple=True,
    default=("operators",),
    show_default=True,
    help="What runs; may be given several times.",
)
@click.option(
    "--operators",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="CONV_2D,ADD for example.",
)
@click.option(
    "--models", type=click.IntRange(min=1), default=200, show_default=True, help="Per operator."
)
@click.option(
    "--networks",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Of the suite networks.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Of the suites requantizer and faults.",
)
@click.option(
    "--files",
    multiple=True,
    metavar="PATH",
    help="Of the suites mutants and proofs: a file or folder of hw/, all of it by default; FILE:N "
    "is mutant or proof number N of a file. May be given several times.",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    default=400,
    show_default=True,
    help="Of the suites mutants, hostile and streams.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the first case."
)
@click.option(
    "--backend",
    type=click.Choice(["golden", "verilator", "icarus"]),
    default="golden",
    show_default=True,
    help="golden is compared with the reference's kernels, RTL in a simulator with golden.",
)
@click.option(
    "--config",
    default="base",
    show_default=True,
    help=f"{CONFIG_HELP}; odd: a few that nobody would choose, by turns.",
)
@netlist_option
@reference_option
@click.option(
    "--stall",
    type=click.FloatRange(0, 1, max_open=True),
    help="Probability that a channel of the memory pauses; 0, 0.1 and 0.4 by turns without it.",
)
@click.option(
    "--coverage", is_flag=True, help="Sample functional coverage; the campaign has to reach it all."
)
@farm_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("build/campaign"),
    show_default=True,
    metavar="DIR",
    help="Folder of the campaign, which is not there yet.",
)
@click.option("--list", "only_list", is_flag=True, help="Say what would run, and run nothing.")
@needs_extra("campaign", "campaign")
def run_command(
    suites: tuple[str, ...],
    operators: str,
    config: str,
    out: Path,
    only_list: bool,
    **options: Any,
) -> None:
    """Begin a campaign."""
    from eightfold.campaign.campaign import begin, planned
    from eightfold.campaign.folder import Folder
    from eightfold.campaign.records import ODD
    from eightfold.campaign.suites import Request
    from eightfold.campaign.suites.suite import settings_of

    farm = {name: options.pop(name) for name in FARM}
    request = Request(
        operators=_operators(operators, options["backend"]),
        config=Path(config).stem,
        settings="" if config == ODD else settings_of(AcceleratorConfig.load(config)),
        **options,
    )
    units = planned(suites, request)
    if only_list:
        _list(units)
        return
    options["files"] = list(options["files"])
    asked = {"suite": list(suites), "operators": operators, "config": config, **options}
    folder = Folder(out)
    ready = farm_of(**farm)
    begin(folder, asked, units)
    _go_on(folder, **ready)


FARM = (
    "workers",
    "scheduler",
    "cluster",
    "cluster_options",
    "keys",
    "budget",
    "stop_after",
    "unit_limit",
)
"""Parameters that say where and how long, not what."""


@campaign.command()
@folder_argument
@click.option("--failed", is_flag=True, help="Also run again what has failed, after a mend.")
@adapter_option
@farm_options
@needs_extra("campaign", "campaign")
def resume(folder: Path, failed: bool, adapter: str | None, **farm: Any) -> None:
    """Run what is left of a campaign; what was lost is tried again."""
    from eightfold.campaign.campaign import check_adapter, failed_again
    from eightfold.campaign.folder import Folder

    ready = farm_of(**farm)
    check_adapter(Folder(folder), adapter)
    if failed:
        failed_again(Folder(folder))
    _go_on(Folder(folder), **ready)


@campaign.command()
@folder_argument
@_file_option("html", "One page, nothing of which is loaded from elsewhere.")
@_file_option("junit", "JUnit XML, an entry for each case.")
@_file_option("json", "The same as JSON; docs/campaign-json.md has every field.")
@needs_extra("campaign", "campaign")
def report(folder: Path, html: Path | None, junit: Path | None, json: Path | None) -> None:
    """Say what a campaign has shown, also of one that still runs."""
    from eightfold.campaign.folder import Folder
    from eightfold.campaign.report import write_report

    if html or junit or json:
        write_report(Folder(folder), html=html, junit=junit, json=json)
    _end(Folder(folder))


@campaign.command()
@folder_argument
@click.argument("case")
@_file_option("trace", "Write the waves of the simulation.")
@adapter_option
@needs_extra("campaign", "campaign")
def repeat(folder: Path, case: str, trace: Path | None, adapter: str | None) -> None:
    """Run one case again, in this process."""
    from eightfold.campaign import campaign as campaigns
    from eightfold.campaign.folder import Folder

    with terminal_progress(f"running {case}"):
        found, how = campaigns.repeat(Folder(folder), case, trace, adapter)
    click.echo(f"{case}: {found.verdict}, run {how}")
    if found.message:
        log = found.evidence.log if found.evidence else ""
        click.echo(log if found.message in log else f"{found.message}\n{log}".rstrip())
    raise SystemExit(0 if found.verdict in ("passed", "refused") else 1)


@campaign.command()
@click.argument(
    "folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR..."
)
@output_folder_option
@needs_extra("campaign", "campaign")
def merge(folders: tuple[Path, ...], output: Path) -> None:
    """Put campaigns together; cases that several have count once."""
    from eightfold.campaign import campaign as campaigns
    from eightfold.campaign.folder import Folder

    different = campaigns.merge([Folder(path) for path in folders], Folder(output))
    for name in different:
        click.echo(f"{name}: gave something else in another campaign, which must not be")
    _end(Folder(output), failed=bool(different))


@campaign.command()
@folder_argument
@needs_extra("campaign", "campaign")
def keys(folder: Path) -> None:
    """Make the keys by which a farm's machines know each other, in a new folder.

    The folder is the same on all of them: copy it, or keep it where all can read it. Who has it can
    run code on every worker. The commands that start a farm with it are printed.
    """
    from eightfold.campaign.keys import farm_commands, make_keys

    make_keys(folder)
    click.echo(farm_commands(folder))


def _operators(text: str, backend: str) -> list[str]:
    from eightfold.cases.operators import OPERATORS
    from eightfold.compiler import HARDWARE

    if text == "all":
        return [name for name in OPERATORS if backend == "golden" or name in HARDWARE]
    names = [name.strip().upper() for name in text.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(OPERATORS)):
        raise InputError(f"--operators: no operator {', '.join(unknown)}; eightfold ops lists them")
    if backend != "golden" and (none := sorted(set(names) - HARDWARE)):
        raise InputError(
            f"--operators: the accelerator does not compute {', '.join(none)}; use --backend golden"
        )
    return list(dict.fromkeys(names))


def _list(units: list[Any]) -> None:
    """Print numbers of cases and units by suite, operator and column."""
    counts: dict[tuple[str, str, str], list[int]] = {}
    for unit in units:
        count = counts.setdefault((unit.suite, unit.operator, unit.column), [0, 0])
        count[0] += unit.count
        count[1] += 1
    table = Table("suite", "operator", "on")
    table.add_column("cases", justify="right")
    table.add_column("units", justify="right")
    for names, (cases, number) in counts.items():
        table.add_row(*names, f"{cases:,}", f"{number:,}")
    table.add_section()
    table.add_row("", "", "", f"{sum(unit.count for unit in units):,}", f"{len(units):,}")
    Console().print(table)


def farm_of(
    workers: int | None,
    scheduler: str | None,
    cluster: str | None,
    cluster_options: tuple[str, ...],
    keys: Path | None,
    budget: str | None,
    stop_after: int | None,
    unit_limit: str,
) -> dict[str, Any]:
    """Return arguments of `eightfold.campaign.campaign.go_on`."""
    from eightfold.campaign.farm import Farm, parse_options, parse_time

    if scheduler and (cluster or workers):
        raise InputError("--scheduler has its own workers; leave out --workers and --cluster")
    if cluster_options and not cluster:
        raise InputError("--cluster-option needs --cluster")
    parse_options(cluster_options)
    farm = Farm(
        workers=workers, scheduler=scheduler, cluster=cluster, options=cluster_options, keys=keys
    )
    return {
        "farm": farm,
        "limit": parse_time("--unit-limit", unit_limit),
        "budget": parse_time("--budget", budget) if budget else None,
        "stop_after": stop_after,
    }


def run_units(folder: Any, kept: bool = True, **options: Any) -> str:
    """Run what waits in a campaign, and return why it ended; ``kept``: it can be resumed."""
    from eightfold.campaign.campaign import builds_of, go_on
    from eightfold.campaign.progress import shown_progress

    resume = f"{folder.resume_command()} goes on"
    advice = resume if kept else "nothing is kept; --out DIR keeps what was answered"
    try:
        with terminal_progress("building simulators") as on_build:
            builds = builds_of(folder, on_build)
        with shown_progress() as on_progress:
            why = go_on(folder, builds=builds, on_progress=on_progress, **options)
    except Stopped as stop:
        stop.advice.append(advice)
        raise
    if why != "complete":
        click.echo(f"stopped: {why}; {advice}" if kept else f"stopped: {why}")
    return why


def _go_on(folder: Any, **options: Any) -> None:
    run_units(folder, **options)
    _end(folder)


def _end(folder: Any, failed: bool = False) -> None:
    """Print the verdict, and end with its status."""
    from eightfold.campaign.report import holds, summary

    click.echo(summary(folder))
    raise SystemExit(0 if holds(folder) and not failed else 1)
