"""The documents' figures: tables from made-up runs, and runs that must not become figures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.markers import begin, end, markdown
from eightfold.estimate.estimate import Estimate
from eightfold.isa import COUNTERS
from eightfold.model import Graph
from eightfold.operators import load_model
from eightfold.run.report.result import OperatorReport, RunResult
from eightfold.target.memory import PROFILES
from lab.documents import figures

KWS, AD = figures.NETWORKS[0], figures.NETWORKS[3]


def operator(index: int, macs: int, cycles: int | None, **counters: int) -> OperatorReport:
    return OperatorReport(
        index=index,
        name="CONV_2D" if macs else "ADD",
        shape=(1, 4, 4, 8),
        macs=macs,
        hardware_macs=macs,
        where="golden" if cycles is None else "hardware",
        cycles=cycles,
        engine_cycles=cycles,
        multiplier_cycles=cycles if macs else 0,
        utilisation=macs / 256 / cycles if macs and cycles else None,
        counters=counters,
    )


def run(operators: list[OperatorReport], config: str = "base", **fields: Any) -> RunResult:
    outputs = fields.pop("outputs", {7: np.arange(3, dtype=np.int8)})
    return RunResult(
        model="made-up.tflite",
        config=config,
        backend="verilator",
        reference="litert",
        tensors=outputs,
        outputs=outputs,
        operators=operators,
        macs_per_cycle=256,
        **fields,
    )


def two_operators(config: str = "base") -> RunResult:
    reasons = {"ISSUE": 14, "WEIGHTS": 3, "OPERANDS": 2, "DRAIN": 4, "WAIT": 5}
    counters = {f"MATRIX_{name}": cycles for name, cycles in reasons.items()}
    convolution = operator(0, 2561, 30, **counters, READ_BEATS=20)
    return run([convolution, operator(1, 0, 10, VECTOR_BUSY=9, WRITE_BEATS=6)], config)


def cells(table: str) -> list[list[str]]:
    """Return the cells of a Markdown table, its alignments left out."""
    lines = table.splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:1] + lines[2:]]


def shown_part(document: str, name: str) -> str:
    """Return the generated part of a document as it is."""
    text = (IMPORT_ROOT / document).read_text(encoding="utf-8")
    return text.partition(f"{begin(name)}\n")[2].partition(end(name))[0]


def test_limit_rounds_up() -> None:
    assert [figures.mac_limit(macs, 256) for macs in (0, 1, 256, 257)] == [0, 1, 1, 2]


def test_columns_of_text_are_left_and_of_numbers_right() -> None:
    assert markdown(("a", "b", "c"), [("x", "1", "2")], text=1) == (
        "| a | b | c |\n|---|--:|--:|\n| x | 1 | 2 |\n"
    )


def test_every_cycle_of_an_operator_has_one_reason() -> None:
    head, convolution, addition, total, shares = cells(figures.operator_table(two_operators()))
    rows = [dict(zip(head, row, strict=True)) for row in (convolution, addition, total, shares)]
    reasons = [title for title, _ in figures.MATRIX_REASONS] + ["none"]
    for row, cycles in zip(rows, (30, 10, 40), strict=False):
        assert sum(int(row[title]) for title in reasons) == cycles == int(row["cycles"])
    assert rows[0]["none"] == "2" and rows[1]["none"] == "10"
    assert rows[0]["MACs"] == "2,561" and rows[0]["limit"] == "11"
    assert rows[0]["utilisation"] == "33.3 %" and rows[1]["utilisation"] == "-"
    assert rows[0]["done"] == "2,561" and rows[0]["engines worked"] == "30"
    assert rows[1]["vector"] == "9" and rows[2]["beats read"] == "20"
    assert rows[2]["utilisation"] == "25.0 %" and rows[3]["limit"] == "27.5 %"
    assert rows[3]["issue"] == "35.0 %"


def test_reasons_that_overlap_at_a_border_leave_none_below_zero() -> None:
    made_up = run([operator(0, 256, 10, MATRIX_ISSUE=9, MATRIX_WAIT=2)])
    head, row, *_ = cells(figures.operator_table(made_up))
    assert dict(zip(head, row, strict=True))["none"] == "0"


def test_an_operator_without_cycles_has_no_utilisation() -> None:
    head, row, *_ = cells(figures.operator_table(run([operator(0, 256, 0), operator(1, 0, 5)])))
    assert dict(zip(head, row, strict=True))["utilisation"] == "-"


def test_reasons_are_counters_of_the_accelerator() -> None:
    names = {name for name, _ in COUNTERS}
    assert {counter for _, counter in figures.MATRIX_REASONS} <= names


def test_summary_has_cycles_limit_and_beats_of_every_run() -> None:
    measured = [
        figures.Measurement(KWS, two_operators()),
        figures.Measurement(figures.Network("mine", "mine", "mine.tflite"), two_operators("small")),
    ]
    head, *rows = cells(figures.summary_table(measured))
    found = [dict(zip(head, row, strict=True)) for row in rows]
    named = [(row["Network"], row["Preset"]) for row in found]
    assert named == [("KWS", "base"), ("mine", "small")]
    for row in found:
        assert row["Cycles"] == "40" and row["Limit"] == "11"
        assert row["Utilisation"] == "27.5 %" and row["Beats read"] == "20"


def test_overview_has_our_presets_and_gaps_where_nothing_was_measured() -> None:
    measured = [
        figures.Measurement(KWS, two_operators()),
        figures.Measurement(AD, two_operators()),
        figures.Measurement(KWS, two_operators("small")),
    ]
    head, *rows = cells(figures.overview_table(measured))
    assert head == ["", "MACs per cycle", "KWS", "AD", "Figure is"]
    assert rows[:2] == [
        ["**Eightfold `base`**", "256", "**40**", "**40**", "RTL simulation"],
        ["**Eightfold `small`**", "256", "**40**", "", "RTL simulation"],
    ]


def test_a_network_without_some_channels_stands_beside_the_whole_one() -> None:
    whole, live = two_operators(), two_operators()
    live.operators[0].cycles = 5
    measured = [figures.Measurement(KWS, live, whole), figures.Measurement(AD, two_operators())]
    head, ours, *peers = cells(figures.overview_table(measured))
    assert head[2:5] == ["KWS", "KWS live", "AD"]
    assert ours[2:5] == ["**40**", "**15**", "**40**"]
    assert all(row[3] == "" for row in peers)
    found = [row[0] for row in cells(figures.summary_table(measured))[1:]]
    assert found == ["KWS", "KWS live", "AD"]
    assert "### KWS live on `base`: 15 cycles" in figures.operator_tables(measured)


def test_overview_has_the_figures_of_every_peer_and_what_they_are() -> None:
    labels = {network.label for network in figures.NETWORKS}
    assert all(peer.cycles and peer.cycles.keys() <= labels for peer in figures.PEERS)
    table = figures.overview_table(
        [figures.Measurement(network, two_operators()) for network in figures.NETWORKS]
    )
    rows = {row[0]: row[1:] for row in cells(table)}
    for peer in figures.PEERS:
        cycles = [peer.cycles.get(network.label, "") for network in figures.NETWORKS]
        assert rows[peer.name] == [peer.multipliers, *cycles, peer.kind]


def test_tasks_that_were_estimated_are_in_the_readme_with_whose_figures_they_are() -> None:
    head, *rows = cells(figures.task_table())
    assert [row[0] for row in rows] == [task.name for task in figures.TASKS]
    assert head[2:] == list(figures.TASKS[0].estimates)
    readme = (IMPORT_ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{begin('tasks table')}\n{figures.task_table()}{end('tasks table')}" in readme
    for task in figures.TASKS:
        assert task.folder.rpartition("/")[2] in readme


def test_readme_has_the_cycles_of_the_page_of_cycles_and_every_peer() -> None:
    overview = cells(shown_part("README.md", "cycles table"))
    summary = cells(shown_part("docs/cycles.md", "cycles"))
    columns = overview[0]
    shown = {row[0]: dict(zip(columns, row, strict=True)) for row in overview[1:]}
    for network, preset, _, _, cycles, *_ in summary[1:]:
        assert shown[f"**Eightfold `{preset}`**"][network] == f"**{cycles}**"
    for peer in figures.PEERS:
        row = shown[peer.name]
        assert {label: row[label] for label in peer.cycles} == peer.cycles
        assert row["Figure is"] == peer.kind


def test_a_network_that_no_peer_has_run_stands_alone() -> None:
    mine = figures.Measurement(figures.Network("mine", "mine", "mine.tflite"), two_operators())
    assert len(cells(figures.overview_table([mine]))) == 2


def test_a_run_that_is_equal_to_litert_has_no_problem() -> None:
    assert figures.problems(run([operator(0, 256, 9, MATRIX_ISSUE=1)], compared=True)) == []


def mismatching() -> RunResult:
    result = run([operator(0, 1, 2)], compared=True)
    result.operators[0].mismatches = 3
    return result


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (run([operator(0, 1, 2)]), "nothing was compared"),
        (mismatching(), "3 elements differ"),
        (run([operator(0, 1, None)], compared=True), "in golden: 0 CONV_2D"),
        (run([operator(0, 1, 2)], compared=True, untimed="compare"), "that is timed was left out"),
    ],
)
def test_runs_that_must_not_become_figures(made: RunResult, message: str) -> None:
    assert any(message in problem for problem in figures.problems(made))


def test_a_folder_gives_the_known_networks_in_their_order(tmp_path: Path) -> None:
    for name in ("ad01_int8", "kws_ref_model", "another"):
        (tmp_path / f"{name}.tflite").touch()
    assert [network.label for network, _ in figures.networks_of(tmp_path)] == ["KWS", "AD"]


def test_a_folder_without_known_networks_gives_all_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no .tflite files"):
        figures.networks_of(tmp_path)
    for name in ("b", "a"):
        (tmp_path / f"{name}.tflite").touch()
    found = [(n.label, path.name) for n, path in figures.networks_of(tmp_path)]
    assert found == [("a", "a.tflite"), ("b", "b.tflite")]


PAGES = ("README.md", "docs/cycles.md", "docs/figures/cycles.md", "docs/memories.md")


def test_documents_of_the_project_have_the_places_for_the_figures(tmp_path: Path) -> None:
    for name in PAGES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((IMPORT_ROOT / name).read_text("utf-8"), encoding="utf-8")
    measured = [figures.Measurement(KWS, two_operators())]
    figures.write_documents(measured, "| memory |\n", tmp_path)
    readme, summary, operators, memories = ((tmp_path / name).read_text("utf-8") for name in PAGES)
    assert figures.overview_table(measured) in readme and figures.task_table() in readme
    assert figures.summary_table(measured) in summary
    assert figures.operator_tables(measured) in operators
    assert "begin -->\n| memory |\n<!--" in memories


@pytest.mark.parametrize("text", [None, "# Cycles\n"])
def test_a_document_without_a_place_is_one_clear_line(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "cycles.md").write_text(text)
    with pytest.raises(InputError, match=r"cycles\.md: .*need a place to go to"):
        figures.write_documents([figures.Measurement(KWS, two_operators())], "", tmp_path)


DIGITS = load_model(IMPORT_ROOT / "examples" / "digits" / "digits.tflite")


def test_cells_have_cycles_and_the_buss_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(graph: Graph, config: str, memory: str) -> Estimate:
        assert graph is DIGITS
        cycles = {"ideal": 900, "sdr-sdram-16": 1000}.get(memory, 1800)
        return Estimate({0: cycles, 1: 200 if config == "base" else 0}, {}, 900)

    monkeypatch.setattr(figures, "estimated", taken)
    table = figures.memory_table([("D", DIGITS)], ("small", "base"))
    head, _, small, base = table.splitlines()
    assert head == f"| network | preset | {' | '.join(f'`{name}`' for name in PROFILES)} |"
    cells = "900 (**100.0 %**) | 1,800 (50.0 %) | 1,800 (50.0 %) | 1,000 (**90.0 %**)"
    assert small == f"| D | `small` | {cells} |"
    cells = "1,100 (81.8 %) | 2,000 (45.0 %) | 2,000 (45.0 %) | 1,200 (75.0 %)"
    assert base == f"| D | `base` | {cells} |"


@pytest.mark.slow
def test_a_slow_memory_makes_the_port_the_limit() -> None:
    fast, slow = (figures.estimated(DIGITS, "base", memory) for memory in ("ideal", "sdr-sdram-16"))
    assert fast.bus < 0.9 * fast.total
    assert 0.9 * slow.total <= slow.bus <= slow.total


def test_chart_is_the_same_each_time_and_has_every_operator() -> None:
    pytest.importorskip("matplotlib", reason="the chart's package is in the extra docs")
    measured = [figures.Measurement(KWS, two_operators()), figures.Measurement(AD, two_operators())]
    drawn = figures.chart(measured)
    assert drawn == figures.chart(measured)
    assert "<dc:date>" not in drawn
    assert drawn.count("0 CONV_2D") >= 2 and "KWS on base: 40 cycles" in drawn


CYCLES_TABLE = """
<!-- cycles table: begin -->
|  | MACs per cycle | KWS | VWW | VWW live | IC | AD | Figure is |
|---|--:|--:|--:|--:|--:|--:|--:|
| **Eightfold `nano`** | 16 | **100** | **500** | **200** | **400** | **1,600** | RTL simulation |
| Another machine | 64 | 1 | 1 |  | 1 | 1 | estimate |
<!-- cycles table: end -->
"""

SYNTHESIS_TABLE = """
<!-- synthesis table: begin -->
| lane | nano (4x4, infer) | LFE5U-85F, speed 6 | 1877 | 1389 | 8 | 1 | 143 / 149 | 3 | 10 + 31 |
| accelerator | nano (4x4, infer) | LFE5U-85F, speed 6 | 2000 | 3 | 10 | 4 | 100 / 105 | 3 | 1 + 2 |
| accelerator | nano (4x4, infer) | XC7A100T | 7 | 7 | 7 | 7 | not routed |  | 416 |
| accelerator | base (16x16, rows) | LFE5U-85F | 8 | 8 | 8 | 8 | not routed |  | 416 |
<!-- synthesis table: end -->
"""


def test_cycles_are_those_without_channels_that_nobody_reads() -> None:
    cycles = figures.cycles_by_preset(CYCLES_TABLE)
    assert cycles == {"nano": {"KWS": 100, "VWW": 200, "IC": 400, "AD": 1600}}


def test_a_preset_that_is_not_routed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(CYCLES_TABLE.replace("nano", "base"), encoding="utf-8")
    (tmp_path / figures.SYNTHESIS).write_text(SYNTHESIS_TABLE, encoding="utf-8")
    monkeypatch.setattr(figures, "IMPORT_ROOT", tmp_path)
    assert figures.efficiency_table().splitlines()[2:] == ["| `base` | not routed |  |  |  |"]


def test_the_mean_is_geometric_and_the_area_that_of_the_routed_accelerator() -> None:
    machines = figures.machines(SYNTHESIS_TABLE)
    assert machines == {"nano": figures.Machine(mhz=100, luts=2000, dsps=10)}
    rate = machines["nano"].per_second({"KWS": 100, "VWW": 200, "IC": 400, "AD": 800})
    assert rate == pytest.approx(1e8 / (100 * 200 * 400 * 800) ** 0.25)
