"""``eightfold campaign``: many cases over a machine or a farm."""

import re
from collections.abc import Sequence
from copy import copy
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from eightfold.common.errors import InputError
from eightfold.common.extras import needs_extra
from eightfold.common.files import distinct_paths
from eightfold.common.program import (
    Stopped,
    is_given,
    number_option,
    option_group,
    output_folder_option,
    path_option,
)
from eightfold.common.terminal import terminal_progress

if TYPE_CHECKING:
    from eightfold.campaign.suite import Suite

CLUSTERS = ("slurm", "lsf", "pbs", "sge", "htcondor")

folder_argument = click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")


adapter_option = click.option(
    "--adapter",
    metavar="FILE.py:CLASS",
    help="Of a run of eightfold conform: its adapter. It is code, which no folder chooses.",
)


farm_options = option_group(
    number_option(
        "--workers",
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
    path_option(
        "--keys",
        metavar="DIR",
        help="Of --scheduler and --cluster: what eightfold campaign keys DIR has made.",
    ),
    click.option("--budget", metavar="TIME", help="No more cases begin after it: 90s, 30m, 2h."),
    number_option("--stop-after", help="No more cases begin after so many failures."),
    click.option(
        "--unit-limit",
        default="10m",
        show_default=True,
        metavar="TIME",
        help="A unit of cases that takes longer is tried again, three times at most.",
    ),
)
"""What says where units run, and when no more begin."""


@click.group()
def campaign() -> None:
    """Run many random cases over all cores or a farm; stop, resume and report."""


class _RunCommand(click.Command):
    """The command that begins campaigns: the options of the suites are options of it."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        argument, *options = super().get_params(ctx)
        return [argument, *_suite_options().values(), *options]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Suites"):
            formatter.write_dl([(name, _described(suite)) for name, suite in _runnable().items()])


def _described(suite: "Suite") -> str:
    return f"{suite.text}{f' ({suite.cases} cases)' if suite.cases else ''}"


@needs_extra("campaign", "campaign")
def _runnable() -> dict[str, "Suite"]:
    from eightfold.campaign.suite import suites

    return {name: suite for name, suite in suites().items() if suite.plan}


def _suite_options() -> dict[str, click.Option]:
    """Return the options of all suites by name; what helps says which suites know them."""
    of: dict[str, list[str]] = {}
    options: dict[str, click.Option] = {}
    for suite in _runnable().values():
        for option in suite.options:
            name = str(option.name)
            of.setdefault(name, []).append(suite.name)
            options[name] = options.get(name) or copy(option)
    for name, option in options.items():
        option.help = f"{option.help} Suites: {', '.join(of[name])}."
    return options


@campaign.command("run", cls=_RunCommand)
@click.argument("suites", nargs=-1, required=True, metavar="SUITE... [PATH...]")
@click.option(
    "--cases",
    multiple=True,
    metavar="[SUITE=]N",
    help="How many cases of each suite, or with its name of one; of operators for each of them.",
)
@farm_options
@path_option(
    "--out",
    default=Path("build/campaign"),
    show_default=True,
    metavar="DIR",
    help="Folder of the campaign, which is not there yet.",
)
@click.option("--list", "only_list", is_flag=True, help="Say what would run, and run nothing.")
@needs_extra("campaign", "campaign")
def run_command(
    suites: tuple[str, ...],
    cases: tuple[str, ...],
    out: Path,
    only_list: bool,
    **options: Any,
) -> None:
    """Begin a campaign of one or several suites.

    Suites that run together take the options that all of them know. Behind the suite files come the
    paths of the files, of folders of them, or of lists.
    """
    from eightfold.campaign.campaign import begin, planned
    from eightfold.campaign.folder import Folder

    farm = {name: options.pop(name) for name in FARM}
    names, paths = _split(suites)
    chosen = _chosen(names)
    if paths and len(chosen) > 1:
        raise InputError("suite files runs in a campaign of its own")
    options["path"] = (*options["path"], *paths)
    _check_options(chosen)
    counts = _counts(cases, chosen)
    options = {name: list(v) if isinstance(v, tuple) else v for name, v in options.items()}
    known = {suite.name: {str(option.name) for option in suite.options} for suite in chosen}
    units = planned(
        {
            name: {option: options[option] for option in names}
            | ({"cases": counts[name]} if name in counts else {})
            for name, names in known.items()
        }
    )
    if only_list:
        _list(units)
        return
    shared = sorted(set.intersection(*known.values()))
    asked = {"suites": [*known], "cases": counts, **{name: options[name] for name in shared}}
    folder = Folder(out)
    ready = farm_of(**farm)
    begin(folder, asked, units)
    _go_on(folder, **ready)


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of suites, and the paths of files behind the suite that takes them."""
    behind = words[words.index("files") + 1 :] if "files" in words else ()
    paths = [word for word in behind if word not in _runnable()]
    return [word for word in words if word not in paths], paths


def _chosen(names: Sequence[str]) -> "list[Suite]":
    known = _runnable()
    if unknown := [name for name in names if name not in known]:
        more = "" if "operators" in known else "; those that test the hardware come with a checkout"
        raise InputError(f"no suite {unknown[0]}; the suites are {', '.join(known)}{more}")
    return [known[name] for name in dict.fromkeys(names)]


def _check_options(chosen: "Sequence[Suite]") -> None:
    """Raise `InputError` if an option was given that a chosen suite does not know."""
    for name, option in _suite_options().items():
        if not is_given(name):
            continue
        for suite in chosen:
            if name not in {each.name for each in suite.options}:
                raise InputError(
                    f"{option.opts[0]}: suite {suite.name} does not know it; "
                    f"its options are {_option_names(suite)}"
                )


def _option_names(suite: "Suite") -> str:
    names = [option.opts[0] for option in suite.options]
    return ", ".join([*(["--cases"] if suite.cases else []), *names])


def _counts(texts: Sequence[str], chosen: "Sequence[Suite]") -> dict[str, int]:
    """Return how many cases there are of each suite that counts them."""
    counts = {suite.name: suite.cases for suite in chosen if suite.cases}
    for text in texts:
        name, equals, number = text.rpartition("=")
        of = [name] if equals else [suite.name for suite in chosen]
        for each in of:
            if each not in {suite.name for suite in chosen}:
                raise InputError(f"--cases {text}: {each} is none of the suites that are to run")
            if each not in counts:
                raise InputError(f"--cases {text}: suite {each} has all cases that there are")
        if not re.fullmatch(r"0*[1-9][0-9]{0,15}", number):
            raise InputError(f"--cases {text}: is not of the form N or SUITE=N, N at least 1")
        counts |= dict.fromkeys(of, int(number))
    return counts


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
@path_option("--html", help="One page, nothing of which is loaded from elsewhere.")
@path_option("--junit", help="JUnit XML, an entry for each case.")
@path_option("--json", help="The same as JSON; docs/campaign-json.md has every field.")
@needs_extra("campaign", "campaign")
def report(folder: Path, html: Path | None, junit: Path | None, json: Path | None) -> None:
    """Say what a campaign has shown, also of one that still runs."""
    from eightfold.campaign.folder import Folder
    from eightfold.campaign.report import write_report

    distinct_paths({}, {"--html": html, "--junit": junit, "--json": json})
    if html or junit or json:
        write_report(Folder(folder), html=html, junit=junit, json=json)
    _end(Folder(folder))


@campaign.command()
@folder_argument
@click.argument("case")
@path_option("--trace", help="Write the waves of the simulation.")
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
    from eightfold.campaign.farm import farm_commands, make_keys

    make_keys(folder)
    click.echo(farm_commands(folder))


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


FARM = tuple(signature(farm_of).parameters)
"""Options that say where and how long, not what."""


def run_units(folder: Any, kept: bool = True, **options: Any) -> str:
    """Run what waits in a campaign, and return why it ended; ``kept``: it can be resumed."""
    from eightfold.campaign.campaign import builds_of, go_on
    from eightfold.campaign.engine import shown_progress

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
