"""The page of one run: what the network took in the hardware, and how its tensors compare."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eightfold import isa
from eightfold.common.program import option_words
from eightfold.run.report.clock import GIVEN
from eightfold.run.report.page import SERIES, Verdict, chart, machine, render
from eightfold.run.report.result import OperatorReport, Record, RunResult, mac_limit, verdict
from eightfold.run.report.table import times
from eightfold.run.report.timeline import MATRIX, counts_of, memory_maps, timeline

BAR = 22
"""Pixels of an operator in the chart of cycles."""

LONG = 25
"""Operators in the chart that are seen at once."""

HEAT = 70
"""Percent of a colour that stands for all of an operator's cycles."""


@dataclass(frozen=True, kw_only=True)
class OperatorRow:
    """An operator on the accelerator against its limits, all in cycles.

    ``multipliers``: those that its MACs done take if all multipliers work. ``port``: beats
    on the busier of the port's two channels while it ran. ``reached``: the larger of both over its
    cycles, above 1 where multipliers worked for it while the operator before still ran.
    """

    operator: OperatorReport
    multipliers: int
    port: int

    @property
    def reached(self) -> float | None:
        cycles = self.operator.cycles
        return max(self.multipliers, self.port) / cycles if cycles else None


@dataclass(frozen=True, kw_only=True)
class CounterRow:
    """A counter: what it counts, in all, and per operator on the accelerator.

    ``cells``: of each operator its count, and how strong the colour is, in percent.
    """

    name: str
    text: str
    total: int
    share: float
    cells: Sequence[tuple[int, int]]


def run_page(result: RunResult) -> str:
    """Return the page of a run that has a `eightfold.run.report.result.Record`.

    Raises `InputError` if a package of the extra ``report`` is not installed.
    """
    record = result.record
    assert record is not None, "Session.run(..., record=True) keeps what the page shows"
    hardware = [operator for operator in result.operators if operator.where == "hardware"]
    left = [o for o in result.operators if o.where == "golden" and result.backend != "golden"]
    rows = [_row(operator, result) for operator in hardware]
    simulated = bool(record.streams)
    changed = [operator for operator in result.operators if operator.rewritten]
    shown: dict[str, Any] = {"left": left, "changed": changed}
    if simulated:
        shown |= {
            "timeline": timeline(record.streams, result.operators),
            "matrix_states": [(colour, words) for words, colour in MATRIX.values()],
            "chart": _chart(rows, result),
            "maps": memory_maps(record.streams, record.names),
            "counters": list(_counters(record, hardware)),
        }
    return render(
        "run.html.j2",
        title=f"{result.model.rpartition('/')[2]} on {_where(result)}",
        verdict=Verdict(
            state=_state_of(result), sentence=f"{_of_frames(result)}{verdict(result)}."
        ),
        facts=list(_facts(result)),
        result=result,
        times=times(result),
        record=record,
        rows={row.operator.index: row for row in rows},
        operator_names={operator.index: operator.name for operator in result.operators},
        simulated=simulated,
        **shown,
    )


def _where(result: RunResult) -> str:
    if result.backend == "golden":
        return "golden"
    return f"the accelerator {result.config}, simulated with {result.backend.capitalize()}"


def _state_of(result: RunResult) -> Any:
    if not result.compared:
        return "incomplete"
    return "failed" if any(each.mismatches for each in result.frames or [result]) else "passed"


def _of_frames(result: RunResult) -> str:
    """Return how many frames there were and which differ, and that the rest is of the last one."""
    if not result.frames:
        return ""
    wrong = [str(n) for n, frame in enumerate(result.frames) if frame.mismatches]
    told = f"; frames that differ: {', '.join(wrong)}" if wrong else "; none differs"
    told = told if result.compared else ""
    return f"{len(result.frames)} frames{told}. What follows is of the last one. "


def _row(operator: OperatorReport, result: RunResult) -> OperatorRow:
    beats = [operator.counters.get(name, 0) for name in ("READ_BEATS", "WRITE_BEATS")]
    return OperatorRow(
        operator=operator,
        multipliers=mac_limit(operator.hardware_macs or 0, result.macs_per_cycle),
        port=max(beats),
    )


def _counters(record: Record, hardware: Sequence[OperatorReport]) -> Iterator[CounterRow]:
    totals = counts_of(record.streams)[-1].tolist()
    for (name, text), total in zip(isa.COUNTERS, totals, strict=True):
        values = [
            (o.cycles or 0 if name == "CYCLES" else o.counters[name], o.cycles) for o in hardware
        ]
        cells = [(value, round(HEAT * value / (cycles or 1))) for value, cycles in values]
        yield CounterRow(name=name, text=text, total=total, share=total / totals[0], cells=cells)


def _chart(rows: Sequence[OperatorRow], result: RunResult) -> str:
    """Return cycles per operator as bars, with both limits in them."""

    def draw(axes: Any) -> None:
        places = np.arange(len(rows))
        above = 24 if len(rows) > LONG else 0  # where the end is out of sight, numbers there too
        cycles = [row.operator.cycles or 0 for row in rows]
        needed = [row.multipliers for row in rows]
        axes.barh(places, cycles, 0.72, color=SERIES[5], alpha=0.45, label="cycles")
        axes.barh(places, needed, 0.72, color=SERIES[0], label="limit of the multipliers")
        axes.vlines(
            [row.port for row in rows],
            places - 0.42,
            places + 0.42,
            color=SERIES[1],
            linewidth=3,
            label="limit of the memory port",
        )
        axes.set_yticks(places, [f"{r.operator.index} {r.operator.name}" for r in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0)
        axes.set_xlabel("cycles")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.grid(axis="x")
        axes.tick_params(labeltop=bool(above))
        axes.spines["left"].set_visible(False)
        axes.legend(
            handles=[*axes.containers, *axes.collections],
            loc="lower left",
            bbox_to_anchor=(0, 1 + above / (BAR * len(rows))),
            ncols=3,
            borderaxespad=0,
        )

    label = f"cycles of the {len(rows)} operators of {result.model}, with their limits"
    return chart(draw, width=1196, height=80 + BAR * len(rows), label=label)


def _facts(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield what the run was made from, and what made the page."""
    yield "Model", result.model
    provenance = result.provenance
    if provenance is not None:
        yield "SHA-256 of the model", provenance.model_sha256
        yield "Command", _command(result)
        if provenance.seed is not None:
            frames = " + n in frame n" if result.frames else ""
            yield "Input", f"random, seed {_first_seed(result)}{frames}"
        else:
            yield "Input", provenance.input_file or "given from Python"
        if result.backend != "golden":
            yield "Memory", provenance.memory
            if result.clock:
                yield "Clock", f"{result.clock.mhz:g} MHz, {result.clock.source}"
            yield "Stall probability of the memory", str(provenance.stall)
        if provenance.netlist:
            yield "Simulated", f"netlist {provenance.netlist}"
    yield "Reference", result.reference
    yield "Configuration", result.config
    if provenance is not None:
        sizes = provenance.configuration.items()
        yield "Sizes", ", ".join(f"{name} {value}" for name, value in sizes)
        for name, version in provenance.versions.items():
            if version:
                yield name.capitalize(), version
    yield "Machine", machine()
    yield "Seconds", f"{result.seconds:.1f}"


def _first_seed(result: RunResult) -> int:
    """Return ``--seed``: the seed of the last frame is as many more as there were before it."""
    assert result.provenance is not None and result.provenance.seed is not None
    return result.provenance.seed - max(0, len(result.frames) - 1)


def _command(result: RunResult) -> str:
    """Return what repeats the run."""
    provenance = result.provenance
    assert provenance is not None
    clock = result.clock if result.clock and result.clock.source == GIVEN else None
    options = {
        "backend": result.backend,
        "config": result.config,
        "reference": result.reference,
        "seed": None if provenance.seed is None else _first_seed(result),
        "frames": len(result.frames) or None,
        "input": provenance.input_file,
        "fallback": provenance.fallback,
        "batch": provenance.batch,
        "memory": provenance.memory if provenance.memory != "ideal" else None,
        "no_rewrite": provenance.no_rewrite,
        "no_cascade": not provenance.cascade,
        "stall": provenance.stall or None,
        "netlist": provenance.netlist,
        "clock": f"{clock.mhz:g}" if clock else None,
        **{name: getattr(provenance, name) for name in ("compare", "all_tensors", "fast")},
    }
    return shlex.join(["eightfold", "run", result.model, *option_words(options)])
