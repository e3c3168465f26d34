"""``eightfold conform``: hardware and programs of others, judged by the spec."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

EXAMPLE = """\b
Example, with a requantizer in Verilog of somebody's own:
  eightfold vectors requantizer -o vectors
  (cd vectors; iverilog -DDUT=mine bench.v ../mine.v -o bench; vvp -n bench)
  mkdir results; mv vectors/results.hex results
  eightfold conform judge vectors --results results --html verdict.html
"""


@click.group()
def conform() -> None:
    """Judge hardware, a simulator or a runtime by the spec; a mistake is called by its name."""


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the files of the report: --html, --junit, --json."""
    for name, text in reversed(REPORTS.items()):
        path = click.Path(path_type=Path)
        command = click.option(f"--{name}", type=path, metavar="FILE", help=text)(command)
    return command


REPORTS = {
    "html": "Write the report as a page for a browser.",
    "junit": "Write it as JUnit XML for continuous integration.",
    "json": "Write it as JSON; docs/conform-json.md has its fields.",
}


@conform.command("judge", epilog=EXAMPLE)
@click.argument("vectors", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR2",
    help="Folder with results.hex, .npz or .csv; of models with CASE/results.npz.",
)
@report_options
def judge(
    vectors: Path, results: Path, html: Path | None, junit: Path | None, json: Path | None
) -> None:
    """Judge results by the vectors in DIR, which eightfold vectors has written.

    DIR may also have several folders of vectors, such as DIR/requantizer and DIR/operators; then
    DIR2 has a folder of the same name for each. What is found is said in sentences, with the
    mistakes that these cases could not have told apart, and the conformance statement comes last.

    Exit status 1 if anything deviates, 2 if vectors or results cannot be used: changed since they
    were written, cut, or of other cases.
    """
    from eightfold.conformance.report import print_statement, require_reports, write_reports
    from eightfold.conformance.results.folders import judge_folders

    require_reports(html)  # better before the work than after
    judged = judge_folders(vectors, results, _judge_models)
    write_reports(judged.statement, judged.cases, html=html, junit=junit, json=json)
    print_statement(judged.statement)
    raise SystemExit(0 if judged.statement.conforms else 1)


def _judge_models(*arguments: Any) -> Any:
    # What judges models loads only where there are some.
    from eightfold.conformance.judge.models.finding import (  # pyright: ignore[reportMissingImports]
        judge_models,
    )

    return judge_models(*arguments)
