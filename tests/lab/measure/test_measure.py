"""What is kept of the operators is what the compiler says, and the documents are what is kept."""

import importlib
import json
from collections.abc import Sequence

import numpy as np
import pytest

from eightfold.cli.operator_list import (
    FILE,
    Description,
    Figure,
    Figures,
    describe_all,
    measured,
    summary,
    throughput,
)
from eightfold.common.files import IMPORT_ROOT
from eightfold.compiler import HARDWARE
from eightfold.isa import COUNTERS, Engine, Space
from eightfold.operators import SPEC_ROWS
from lab.documents import throughput as tables
from lab.documents.throughput import growths, reached
from lab.measure.__main__ import file_text
from lab.measure.models import SIZES, SOFTMAX
from lab.measure.rtl import compiled, engines, measure, operator_cycles, work
from lab.measure.series import SERIES
from tests.eightfold.compiler.test_refusals import RUN_TIME
from tests.support.command import Call
from tests.support.hardware.twins import TWINS

ALL_38 = f"38 of 38 operators of the spec on hardware, and {len(HARDWARE) - 38} more"


@pytest.fixture(scope="module")
def descriptions() -> list[Description]:
    return describe_all()


def test_every_operator_of_the_accelerator_is_there(descriptions: list[Description]) -> None:
    assert {each.name for each in descriptions} == HARDWARE == set(measured()) == set(SERIES)


def test_rows_of_the_spec_come_first_and_in_its_order(descriptions: list[Description]) -> None:
    assert [each.name for each in descriptions[: len(SPEC_ROWS)]] == [row.name for row in SPEC_ROWS]
    assert [each.row for each in descriptions[: len(SPEC_ROWS)]] == list(
        range(1, len(SPEC_ROWS) + 1)
    )
    beyond = [each.name for each in descriptions[len(SPEC_ROWS) :]]
    assert beyond == sorted(beyond)
    assert summary(descriptions) == ALL_38
    assert summary(descriptions[1:]).startswith("37 of 38")


def test_references_are_functions_of_golden(descriptions: list[Description]) -> None:
    for each in descriptions:
        module, _, function = each.reference.rpartition(".")
        assert callable(getattr(importlib.import_module(module), function))
    found = {each.name: each.reference for each in descriptions}
    assert found["SUB"] == "eightfold.golden.binary.sub"
    assert found["STRIDED_SLICE"] == "eightfold.golden.indexing.strided_slice"


def test_engines_are_those_of_the_commands(descriptions: list[Description]) -> None:
    found = {each.name: each.engines for each in descriptions}
    assert found["CONV_2D"] == ("matrix",)
    assert found["ADD"] == ("vector",)
    assert found["GATHER"] == ("mover",)
    assert set(found["MEAN"]) == {"matrix", "vector"}
    unused = [name for name, used in found.items() if not used]
    assert unused == ["RESHAPE", "SQUEEZE", "EXPAND_DIMS", "READ_VARIABLE"]


def test_operands_that_must_be_constant_are_found(descriptions: list[Description]) -> None:
    found = {each.name: each.constants for each in descriptions}
    assert {name for name in RUN_TIME if not found[name]} == set()
    assert found["CONV_2D"] == ("weights", "bias")
    assert found["PADV2"] == ("paddings",)
    assert found["RESHAPE"] == ("shape",)
    assert found["GATHER"] == found["ADD"] == ()


def test_limits_are_in_words(descriptions: list[Description]) -> None:
    found = {each.name: each.limits for each in descriptions}
    assert found["ADD"] == ""
    assert found["SPLIT"] == "constant: axis; types: int8, int32, int64"
    assert found["CONCATENATION"].endswith("no fused RELU, RELU_N1_TO_1, RELU6")


@pytest.mark.slow
@pytest.mark.parametrize("name", SERIES)
def test_figures_are_of_the_models_that_there_are(name: str) -> None:
    """``python -m lab.measure`` measures them again."""
    assert list(measured()[name]) == [series.label for series in SERIES[name]]
    for series in SERIES[name]:
        found = measured()[name][series.label]
        for size, figure in zip(series.sizes, found, strict=True):
            case = series.case(size)
            asked = (case.work.elements, case.work.units, case.macs)
            assert asked == (figure.elements, figure.units, figure.macs)


@pytest.mark.slow
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.usual(count=40)
def test_operands_and_results_of_the_largest_models_are_in_the_scratchpad(name: str) -> None:
    for series in SERIES[name]:
        case = series.case(series.largest)
        for issued in work(case, compiled(case)).values():
            places = {place.space for place in issued.reads + issued.writes}
            state = {Space.ARENA} if name == "ASSIGN_VARIABLE" else set()
            assert places <= {Space.SCRATCHPAD, Space.TABLES, *state}
            assert not issued.loads_table


def test_copies_to_memory_and_loads_of_tables_are_not_an_operators_work() -> None:
    case = SERIES["LOGISTIC"][0].case(SIZES[0])
    stream = compiled(case)
    issued = [each for each in stream.issued if each.operator == case.operator.index]
    assert [each.engine for each in issued] == [Engine.MOVER, Engine.VECTOR, Engine.MOVER, None]
    assert [each.engine for each in work(case, stream).values()] == [Engine.VECTOR]
    assert engines(case, stream) == (Engine.VECTOR,)
    outside = SERIES["LOGISTIC"][0].case(SIZES[0], inside=False)
    assert len(outside.graph.operators) == 1


def events(ends: dict[int, int]) -> np.ndarray:
    rows = np.zeros((len(ends) + 1, 2 + len(COUNTERS)), np.int64)
    rows[:, 2 + [name for name, _ in COUNTERS].index("CYCLES")] = [*ends.values(), 9999]
    rows[:-1, 1] = list(ends)
    rows[-1, 0] = -1
    return rows


def test_cycles_count_from_when_operands_and_tables_are_there() -> None:
    case = SERIES["LOGISTIC"][0].case(SIZES[0])
    stream = compiled(case)
    (own,) = work(case, stream)
    table = next(i for i, issued in enumerate(stream.issued) if issued.loads_table)
    before = {1: 100, 2: 120}
    assert operator_cycles(case, stream, events(before | {table: 110, own: 300, 5: 400})) == 180
    assert operator_cycles(case, stream, events(before | {table: 290, own: 300, 5: 400})) == 10
    renamed = SERIES["RESHAPE"][0].case(SIZES[0])
    assert operator_cycles(renamed, compiled(renamed), events(before)) == 0


def made_up(cycles: Sequence[int], units: Sequence[int] | None = None) -> list[Figure]:
    every = zip((100, 1000, 9000), units or (0, 0, 0), cycles, strict=True)
    return [Figure(n, u, 2 * n, c, 2 * c) for n, u, c in every]


def test_throughput_leaves_out_what_does_not_grow() -> None:
    assert throughput(made_up((70, 250, 1850))) == 5
    assert throughput(made_up((70, 250, 1850)), macs=True) == 10
    assert throughput(made_up((20, 20, 20))) is None


def test_growth_finds_what_each_element_and_unit_takes() -> None:
    long, short = SERIES["SOFTMAX"]
    figures: Figures = {
        "SOFTMAX": {
            long.label: made_up(
                [50 + n // 2 + 30 * n // 100 for n in (100, 1000, 9000)], (1, 10, 90)
            ),
            short.label: made_up([50 + n // 2 + 3 * n for n in (100, 1000, 9000)], (10, 100, 900)),
        }
    }
    (found,) = growths("SOFTMAX", figures).values()
    assert tables.formula(found) == "50 + 0.5 per element + 30 per row"
    assert found.worst < 1e-9


def test_series_that_do_not_fit_together_are_fitted_apart() -> None:
    long, short = SERIES["SOFTMAX"]
    figures: Figures = {
        "SOFTMAX": {
            long.label: made_up((150, 1050, 9050), (1, 10, 90)),
            short.label: made_up((700, 2500, 18500), (10, 100, 900)),
        }
    }
    found = growths("SOFTMAX", figures)
    formulas = {label: tables.formula(growth) for label, growth in found.items()}
    assert formulas == {long.label: "50 + 1 per element", short.label: "500 + 2 per element"}
    assert max(growth.worst for growth in found.values()) < 1e-9


def test_growth_of_what_takes_no_cycles_is_not_fitted() -> None:
    assert growths("RESHAPE", measured()) == {}


def test_requirements_name_what_falls_short() -> None:
    figures = {name: dict(series) for name, series in measured().items()}
    label = SERIES["SOFTMAX"][0].label
    for cycles, meets in (((0, 1000, 9000), True), ((0, 1000, 9100), False)):
        figures["SOFTMAX"][label] = made_up(cycles)
        assert (reached(SOFTMAX, figures)[f"SOFTMAX {label}"] >= SOFTMAX.least) == meets
        line = tables.requirement_table(figures).splitlines()[-1]
        assert (f"SOFTMAX {label} (" not in line) == meets


def test_documents_follow_the_figures() -> None:
    """``make documents`` writes them."""
    figures = {name: dict(series) for name, series in measured().items()}
    figures["ADD"]["equal shapes"] = made_up((1, 2, 5000))
    for now, other in zip(tables.parts(), tables.parts(lambda: figures), strict=True):
        text = (IMPORT_ROOT / now.document).read_text(encoding="utf-8")
        assert now.rewrite(text) == text
        assert other.rewrite(text) != text, other.name


@pytest.mark.slow
def test_file_is_what_is_written() -> None:
    """Its facts are the compiler's of today; ``python -m lab.measure --keep`` writes them."""
    assert FILE.read_text(encoding="utf-8") == file_text(measured())


def test_the_command_lists_them(call: Call) -> None:
    status, out, err = call("ops")
    assert (status, err) == (0, "")
    assert out.endswith(f"{ALL_38}\n")
    assert "eightfold.golden.transposed_convolution.transpose_conv" in out
    assert "DEPTHWISE_CONV_2D" in out


def test_the_command_prints_json(call: Call, descriptions: list[Description]) -> None:
    status, out, _ = call("ops", "--json")
    assert status == 0
    assert json.loads(out) == json.loads(json.dumps([each.as_json() for each in descriptions]))


@pytest.mark.long  # tests/eightfold/run/test_session.py holds a network's cycles to the documents
def test_rtl_takes_the_cycles_that_are_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another simulation, of some operators alone: the figures do not depend on the others."""
    monkeypatch.setattr("lab.measure.rtl.PRESETS", TWINS)
    names = ("ADD", "CONV_2D", "GATHER", "MEAN", "PAD", "RESHAPE", "SHAPE", "SOFTMAX", "SPLIT")
    found = measure(names, 1)
    expected = measured()
    for name in names:
        assert found[name] == {label: every[:1] for label, every in expected[name].items()}
