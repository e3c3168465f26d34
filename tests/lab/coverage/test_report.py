"""The report holds the floor, and says what is below it."""

import pytest

from eightfold.campaign.coverage import AT_LEAST, Bin, Report
from eightfold.cases.operators import case_rng, random_case
from eightfold.operators import load_model, run_graph
from eightfold.target.config import PRESETS
from lab.coverage import EXCLUDED, covered, every_bin
from tests.support.networks.machine_run import compile_stream

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


def test_exclusions_exist_and_have_reasons() -> None:
    assert set(EXCLUDED) <= set(every_bin())
    assert all(len(reason) > 10 for reason in EXCLUDED.values())


def test_an_operator_that_has_run_shows_its_bins() -> None:
    model, inputs = random_case("ADD", case_rng("ADD", 1))
    graph = load_model(model)
    compiled = compile_stream(graph, PRESETS["small"], keep=True)
    results = {t: v for t, v in run_graph(graph, inputs).items() if t not in inputs}
    hits = covered(graph, compiled, inputs, results)
    rank = Bin("ADD", "rank", str(len(graph.tensors[graph.operators[0].inputs[0]].shape)))
    assert hits[rank] == 1
    assert set(hits) <= set(every_bin())
    activation = graph.operators[0].options["fused_activation_function"]
    crossed = [b for b in hits if b.point == "activation and saturation"]
    assert {b.name.startswith(f"('{activation}'") for b in crossed} == {True}
    report = Report({b: 2 * hits[b] for b in every_bin()}, EXCLUDED)
    assert report.hits[rank] == 2
    assert f"{len(report.missing)} missing" in report.summary()
