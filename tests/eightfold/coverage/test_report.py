"""The report holds the floor, and says what is below it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from eightfold.compiler import compile_network
from eightfold.config import PRESETS
from eightfold.conformance.models.operators import case_rng, random_case
from eightfold.coverage.bins import Bin, Collector, every_bin
from eightfold.coverage.exclusions import EXCLUDED
from eightfold.coverage.report import AT_LEAST, Report, load, main, markdown
from eightfold.errors import InputError
from eightfold.execute import run_graph
from eightfold.model import load_model

ONE, OTHER = Bin("ADD", "rank", "1"), Bin("ADD", "rank", "2")


@pytest.mark.parametrize(
    ("hits", "excluded", "wrong"),
    [
        ({ONE: AT_LEAST, OTHER: AT_LEAST}, [], None),
        ({ONE: AT_LEAST, OTHER: AT_LEAST - 1}, [], "ADD: rank: 2: hit fewer than"),
        ({ONE: AT_LEAST, OTHER: 0}, [OTHER], None),
        ({ONE: AT_LEAST, OTHER: 1}, [OTHER], "ADD: rank: 2: excluded, but hit"),
        ({ONE: AT_LEAST}, [OTHER], "ADD: rank: 2: excluded, but no bin"),
    ],
)
def test_holds_the_floor(hits: dict[Bin, int], excluded: list[Bin], wrong: str | None) -> None:
    report = Report(hits, dict.fromkeys(excluded, "a reason"))
    assert report.holds == (wrong is None)
    assert (wrong is None and not report.lines()) or report.lines()[0].startswith(str(wrong))


def test_no_hits_are_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no hits-\*.yml; run tests with EIGHTFOLD_COVERAGE"):
        load(tmp_path)


def test_exclusions_exist_and_have_reasons() -> None:
    assert set(EXCLUDED) <= set(every_bin())
    assert all(len(reason) > 10 for reason in EXCLUDED.values())


def test_hits_of_processes_add_up(tmp_path: Path) -> None:
    model, inputs = random_case("ADD", case_rng("ADD", 1))
    graph = load_model(model)
    (segment,) = compile_network(graph, PRESETS["small"], keep=True).segments
    assert segment.compiled is not None
    results = {t: v for t, v in run_graph(graph, inputs).items() if t not in inputs}
    collector = Collector()
    collector.sample(graph, segment.compiled, inputs, results)
    first = collector.write(tmp_path)
    once = load(tmp_path)
    (tmp_path / "hits-other.yml").write_text(first.read_text(encoding="utf-8"), encoding="utf-8")
    twice = load(tmp_path)
    rank = Bin("ADD", "rank", str(len(graph.tensors[graph.operators[0].inputs[0]].shape)))
    assert once.hits[rank] >= 1
    assert {b: 2 * n for b, n in once.hits.items()} == dict(twice.hits)
    assert set(once.hits) == set(every_bin())
    assert f"{rank.name} ({twice.hits[rank]})" in markdown(twice)


def test_the_command_fails_below_the_floor(tmp_path: Path) -> None:
    Collector().write(tmp_path)
    result = CliRunner().invoke(main, [str(tmp_path)])
    assert result.exit_code == 1
    assert "hit fewer than" in result.output
    assert (tmp_path / "coverage.md").exists()
