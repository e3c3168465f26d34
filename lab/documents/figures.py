"""The documents' figures of cycles: ``python -m lab.documents.figures FOLDER``, ``make
figures``.

Every network runs as ``eightfold run --compare`` runs it: in RTL with every tensor compared with
LiteRT's reference kernels, and once more as an application runs it, which is what the figures are
of. Where the compiler leaves out channels, it runs with all of them too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from eightfold.common.errors import HardwareError, InputError
from eightfold.common.files import IMPORT_ROOT, write_file
from eightfold.common.markers import replace_between
from eightfold.common.program import CONFIG_HELP
from eightfold.common.terminal import terminal_progress
from eightfold.run.session import Session
from lab.documents.cycle_chart import chart, require_matplotlib
from lab.documents.cycle_tables import (
    NETWORKS,
    Measurement,
    Network,
    cycles_of,
    number,
    operator_tables,
    overview_table,
    problems,
    summary_table,
    task_table,
)

ROOT = IMPORT_ROOT
DOCUMENT = Path("docs/cycles.md")
CHART = Path("docs/images/cycles.svg")
README = Path("README.md")
CHANNELS = "channels"
"""The rule of the compiler that leaves out channels."""

SUMMARY, OPERATORS, OVERVIEW = "cycles", "cycles per operator", "cycles table"
TASKS = "tasks table"
"""Names of the generated parts, see `eightfold.common.markers`."""


def networks_of(folder: Path) -> list[tuple[Network, Path]]:
    """Return `NETWORKS` that the folder has; without any of them every model of the folder.

    Raises
    ------
    InputError
        If it has no model.
    """
    known = [(network, folder / f"{network.stem}.tflite") for network in NETWORKS]
    if found := [(network, path) for network, path in known if path.is_file()]:
        return found
    models = sorted(folder.glob("*.tflite"))
    if not models:
        raise InputError(f"{folder}: no .tflite files there; name the folder of the models")
    return [(Network(path.stem, path.stem, path.name), path) for path in models]


def measure(
    models: Sequence[tuple[Network, Path]], configs: Sequence[str], backend: str, seed: int
) -> Iterator[Measurement]:
    """Run every network at every configuration.

    Raises
    ------
    HardwareError
        If a tensor differs from LiteRT's, or an operator did not run in hardware.
    """
    for config in configs:
        for network, path in models:
            with (
                terminal_progress(f"running {path.name}, config {config}") as progress,
                Session(backend, config, progress=progress) as session,
                Session(backend, config, no_rewrite=[CHANNELS], progress=progress) as whole,
            ):
                runs = [session.run(path, seed=seed, compare=True)]
                if any(CHANNELS in line for line in runs[0].rewrites):
                    runs.append(whole.run(path, seed=seed, compare=True))
            for run in runs:
                if found := problems(run):
                    raise HardwareError(f"{path.name}, config {config}: {'; '.join(found)}")
                run.config = Path(config).stem
            yield Measurement(network, *runs)


def write_documents(measurements: Sequence[Measurement], root: Path, drawing: str | None) -> None:
    """Rewrite the generated parts of the documents below ``root``, and the chart.

    Raises
    ------
    InputError
        If a document is missing or lacks the markers.
    """
    _rewrite(
        root / DOCUMENT,
        {SUMMARY: summary_table(measurements), OPERATORS: operator_tables(measurements)},
    )
    _rewrite(root / README, {OVERVIEW: overview_table(measurements), TASKS: task_table()})
    if drawing is not None:
        path = root / CHART
        write_file(path, drawing)


def _rewrite(path: Path, parts: dict[str, str]) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; the figures need a file to go to") from None
    try:
        for name, content in parts.items():
            text = replace_between(text, name, content)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    write_file(path, text)


@click.command(context_settings={"show_default": True})
@click.argument("models", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--config", "configs", multiple=True, default=("base", "small", "large"), help=CONFIG_HELP
)
@click.option("--backend", type=click.Choice(["verilator", "icarus"]), default="verilator")
@click.option("--seed", default=0, help="Of the random inputs.")
@click.option("--root", type=click.Path(path_type=Path), default=ROOT, help="Of the documents.")
@click.option("--no-chart", is_flag=True, help="Leave the chart as it is.")
def figures(
    models: Path, configs: tuple[str, ...], backend: str, seed: int, root: Path, no_chart: bool
) -> None:
    """Run the networks in the folder MODELS, and write their cycles into the documents.

    The chart is of the first configuration.
    """
    if not no_chart:
        require_matplotlib()
    done = []
    for item in measure(networks_of(models), configs, backend, seed):
        done.append(item)
        for label, run in item.labelled():
            click.echo(f"{label} on {run.config}: {number(cycles_of(run))} cycles")
    drawn = [item for item in done if item.result.config == Path(configs[0]).stem]
    write_documents(done, root, None if no_chart else chart(drawn))


if __name__ == "__main__":
    from eightfold.common.program import one_line_errors

    one_line_errors(figures)
