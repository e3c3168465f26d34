"""The facts of a campaign that its page shows: plain data, bounded however many cases there are.

Among them when it ran, what its units took, and charts of that; and what the folder of a case that
did not pass says of it: operators, tensors, first difference.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eightfold.campaign.records import Unit
from eightfold.campaign.store import Results, Row, Spent
from eightfold.common.errors import InputError
from eightfold.common.files import read_arrays
from eightfold.model import Graph, Operator, Quantization, Tensor, read_model
from eightfold.run.reference.oracle import differ
from eightfold.run.report.page import MUTED, SERIES, chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # pyright: ignore[reportMissingImports]


WORST_FIRST = ("failed", "error", "lost", "waiting", "passed", "refused")
"""Verdicts of cases, and that they wait; of several the first is what a place shows."""

SHOWN_IN_FULL = 200
"""Failures that the page shows in full."""

SEEDS_LISTED = 40
"""Seeds, and ranges of seeds, that the page lists for an operator and a column."""

KINDS_LISTED = 60
"""Kinds of what did not pass that the page lists for a verdict."""

_KINDS_TOLD_APART = 500
_MESSAGE = 300  # characters by which kinds are told apart

Place = tuple[str, str, str]
"""Suite, operator and column."""


@dataclass
class Cell:
    """The cases of an operator in a column.

    ``counts``: cases by verdict, and those that are ``waiting``; ``run``, ``lost``, ``waiting``:
    seeds of the units that have ended, that are lost, and that wait; ``units``, ``seconds``: how
    many have ended, and what they took together; ``bad``: the first cases that failed or ended by
    an error.
    """

    suite: str
    operator: str
    column: str
    counts: Counter[str] = field(default_factory=Counter)
    run: list[range] = field(default_factory=list)
    lost: list[range] = field(default_factory=list)
    waiting: list[range] = field(default_factory=list)
    units: int = 0
    seconds: float = 0.0
    bad: list[Row] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Cases, run or not."""
        return self.counts.total()

    @property
    def verdict(self) -> str:
        """The worst of its cases."""
        return next((v for v in WORST_FIRST if self.counts[v]), "waiting")


@dataclass
class Kind:
    """Cases of an operator that did not pass, and whose messages differ in numbers alone."""

    verdict: str
    suite: str
    operator: str
    message: str
    count: int = 0
    columns: dict[str, None] = field(default_factory=dict)
    first: list[Row] = field(default_factory=list)


def cells(results: Results) -> dict[Place, Cell]:
    """Return the cases of every operator in every column, in the order of the plan."""
    units: dict[Place, Cell] = {}
    for planned in results.units():
        unit = planned.unit
        place = (unit.suite, unit.operator, unit.column)
        cell = units.setdefault(place, Cell(*place))
        ranges = {"done": cell.run, "lost": cell.lost, "waiting": cell.waiting}
        _append(ranges[planned.state], unit.seeds)
        cell.units += planned.state == "done"
        cell.seconds += planned.seconds or 0.0
    found = dict(units)
    for (suite, operator, column, verdict), count in results.counts().items():
        place = (suite, operator, column)
        if place not in found:  # its units name no operator, so that their seeds are those of all
            whole = units.get((suite, "", column), Cell(*place))
            found[place] = Cell(*place, run=whole.run)
        found[place].counts[verdict] += count
    return {place: cell for place, cell in found.items() if cell.counts}


def kinds(results: Results, *verdicts: str) -> list[Kind]:
    """Return what did not pass by what it has in common, the most frequent first.

    Each has its first cases, `SHOWN_IN_FULL` at most.
    """
    found: dict[tuple[str, ...], Kind] = {}
    for row in results.rows(*verdicts):
        text = re.sub(r"-?\d+", "0", row.message[:_MESSAGE])
        key = (row.verdict, row.suite, row.operator, text)
        if key not in found and len(found) >= _KINDS_TOLD_APART:
            key = (row.verdict, row.suite, row.operator)
        kind = found.setdefault(key, Kind(row.verdict, row.suite, row.operator, row.message))
        kind.count += 1
        kind.columns[row.column] = None
        if len(kind.first) < SHOWN_IN_FULL:
            kind.first.append(row)
    return sorted(found.values(), key=lambda kind: -kind.count)


def shown_in_full(found: Sequence[Kind]) -> list[Row]:
    """Return the cases that the page shows in full: some of every kind, kind by kind."""
    taken: list[list[Row]] = [[] for _ in found]
    turns = zip_longest(*(kind.first for kind in found))
    in_turns = ((rows, row) for turn in turns for rows, row in zip(taken, turn, strict=True) if row)
    for rows, row in islice(in_turns, SHOWN_IN_FULL):
        rows.append(row)
    return [row for rows in taken for row in rows]


def add_bad(found: Mapping[Place, Cell], results: Results) -> None:
    """Add to each cell its first cases that failed or ended by an error."""
    for row in results.rows("failed", "error"):
        bad = found[row.suite, row.operator, row.column].bad
        if len(bad) < SEEDS_LISTED:
            bad.append(row)


def case_id(unit: Unit, row: Row) -> str:
    """Return the ``id`` of a case in the page."""
    own = f"-{row.operator}" if row.operator != unit.operator else ""
    return f"case-{unit.case_name(row.seed)}{own}"


def listed(ranges: Iterable[range]) -> str:
    """Return ranges of seeds as a text, ``0..99, 200``; the first `SEEDS_LISTED` of them."""
    texts = [str(r.start) if len(r) == 1 else f"{r.start}..{r.stop - 1}" for r in ranges]
    more = len(texts) - SEEDS_LISTED
    return ", ".join(texts[:SEEDS_LISTED]) + (f" and {more:,} more ranges" if more > 0 else "")


def _append(ranges: list[range], seeds: range) -> None:
    if ranges and ranges[-1].stop == seeds.start:
        ranges[-1] = range(ranges[-1].start, seeds.stop)
    else:
        ranges.append(seeds)


WIDTH, HEIGHT = 580, 240
"""The size of a chart, in pixels."""

_BARS = 60
_LONG = 600.0  # seconds from which on minutes are shown


class Interval(NamedTuple):
    """A time during which units ran.

    ``start`` and ``end`` are seconds since 1970, ``worked`` is its start on a clock that stands
    still while no units run.
    """

    start: float
    end: float
    worked: float


def intervals(results: Results) -> list[Interval]:
    """Return when units ran; sessions at the same time, of merged campaigns, are one interval."""
    ended = [spent.ended for spent in results.spent()]
    sessions = results.sessions()
    joined: list[list[float]] = []
    for number, (start, end, _, _) in enumerate(sessions):
        if end is None:  # it was killed, or runs: known is when its last unit ended
            later = sessions[number + 1][0] if number + 1 < len(sessions) else float("inf")
            end = max((moment for moment in ended if start <= moment <= later), default=start)
        end = max(start, end)  # somebody may have set the clock back
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    before = accumulate((end - start for start, end in joined), initial=0.0)
    return [Interval(start, end, at) for (start, end), at in zip(joined, before, strict=False)]


def working_time(moment: float, ran: Sequence[Interval]) -> float:
    """Return the seconds that a campaign had run at a moment."""
    for interval in reversed(ran):
        if moment >= interval.start:
            return interval.worked + min(moment, interval.end) - interval.start
    return 0.0


def worked(ran: Sequence[Interval]) -> float:
    """Return the seconds that a campaign has run."""
    return working_time(float("inf"), ran)


def by_column(spent: Sequence[Spent]) -> dict[str, list[Spent]]:
    """Return the units of each column: a colour of the charts each."""
    found: dict[str, list[Spent]] = {}
    for each in spent:
        found.setdefault(each.unit.column, []).append(each)
    return dict(sorted(found.items()))


def rate_chart(columns: Mapping[str, Sequence[Spent]], ran: Sequence[Interval]) -> str:
    """Return an SVG of the cases per second over the time that the campaign ran."""
    total = max(worked(ran), 1e-3)
    scale, unit = (60.0, "minutes") if total >= _LONG else (1.0, "seconds")
    edges = np.linspace(0, total, _BARS + 1)
    rates = [_rates(units, ran, edges) for units in columns.values()]

    def draw(axes: "Axes") -> None:
        _stack(axes, edges / scale, rates)
        for interval in ran[1:]:
            axes.axvline(interval.worked / scale, color=MUTED, linewidth=1, linestyle="--")
        axes.set_xlim(0, total / scale)
        axes.set_xlabel(f"{unit} of running")
        axes.set_ylabel("cases per second")

    label = f"cases per second over {total / scale:.1f} {unit}"
    return chart(draw, width=WIDTH, height=HEIGHT, label=label)


def _rates(units: Sequence[Spent], ran: Sequence[Interval], edges: np.ndarray) -> np.ndarray:
    """Return the cases per second between edges; a unit's cases are spread over its seconds."""
    ended = np.array([[working_time(each.ended, ran)] for each in units])
    seconds = np.array([[max(each.seconds, 1e-3)] for each in units])
    counts = np.array([each.unit.count for each in units])
    done = np.clip((edges - ended + seconds) / seconds, 0, 1)
    return np.diff(counts @ done) / np.diff(edges)


def seconds_chart(columns: Mapping[str, Sequence[Spent]]) -> str:
    """Return an SVG of how many units took how many seconds."""
    seconds = [[max(each.seconds, 1e-3) for each in units] for units in columns.values()]
    every = [value for values in seconds for value in values]
    edges = np.geomspace(min(every) / 1.1, max(every) * 1.1, _BARS + 1)
    counts = [np.histogram(values, edges)[0] for values in seconds]

    def draw(axes: "Axes") -> None:
        _stack(axes, edges, counts)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xlabel("seconds per unit")
        axes.set_ylabel("units")

    label = f"seconds of {len(every)} units, {min(every):.3g} to {max(every):.3g}"
    return chart(draw, width=WIDTH, height=HEIGHT, label=label)


def _stack(axes: "Axes", edges: np.ndarray, series: Sequence[np.ndarray]) -> None:
    lower = np.zeros(_BARS)
    for number, heights in enumerate(series):
        colour = SERIES[number % len(SERIES)]
        axes.bar(edges[:-1], heights, np.diff(edges), lower, align="edge", color=colour)
        lower = lower + heights
    axes.grid(axis="y")
    axes.locator_params(axis="y", integer=True)


OPERATORS_SHOWN = 3
TENSORS_SHOWN = 24
"""How many tensors of a model are shown at most."""

LOG_LINES = 80
_LINE = 400
"""Lines of a log that are shown, and characters of each."""

_VALUES = 3  # scales or zero points per channel that are written out


@dataclass(frozen=True)
class OperatorFacts:
    """An operator of the model, and its options as the schema names them."""

    index: int
    name: str
    options: dict[str, str]


@dataclass(frozen=True)
class TensorFacts:
    """A tensor of the operators that are shown."""

    index: int
    name: str
    role: str
    dtype: str
    shape: str
    scale: str
    zero_point: str
    differs: bool


class Difference(NamedTuple):
    """How a tensor differs from what was expected.

    ``where`` is the index of the first element that does, in the order of memory; None where the
    shapes or types differ, which ``expected`` and ``got`` say then.
    """

    tensor: int
    where: tuple[int, ...] | None
    expected: str
    got: str
    elements: int = 0
    of: int = 0


@dataclass(kw_only=True)
class Failure:
    """What is known of a case that did not pass.

    ``operators``, ``tensors``: those of the model that are about the difference; ``operator_count``
    is how many it has. ``log``, ``left``: the first lines of the log, and how many more there are;
    ``files``: what is in the case's folder; ``note``: why something is not known.
    """

    operators: list[OperatorFacts] = field(default_factory=list)
    operator_count: int = 0
    tensors: list[TensorFacts] = field(default_factory=list)
    tensor_count: int = 0
    differences: list[Difference] = field(default_factory=list)
    log: str = ""
    left: int = 0
    files: list[str] = field(default_factory=list)
    note: str = ""


def read_failure(folder: Path, message: str) -> Failure:
    """Return what the folder of a case says, beside its message.

    A file that is missing or damaged leaves its part out, with a note: a report is made of what
    there is.
    """
    found = Failure(files=sorted(path.name for path in folder.glob("*")))
    try:
        expected, got = (_tensors(folder / f"{side}.npz") for side in ("expected", "got"))
        found.differences = differences(expected, got)
        if "model.tflite" in found.files:
            _add_model(found, read_model(folder / "model.tflite"))
    except InputError as error:
        found.note = str(error)
    if "log.txt" in found.files:
        text = (folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        while text.startswith(f"{message}\n"):  # which the page says already
            text = text.removeprefix(message).lstrip("\n")
        lines = text.rstrip().splitlines()
        found.log = "\n".join(line[:_LINE] for line in lines[:LOG_LINES])
        found.left = max(0, len(lines) - LOG_LINES)
    return found


def differences(
    expected: Mapping[int, np.ndarray], got: Mapping[int, np.ndarray]
) -> list[Difference]:
    """Return how the tensors differ that both sides have, in their order."""
    found = []
    for tensor in sorted(set(expected) & set(got)):
        one = expected[tensor]
        other = got[tensor]
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            found.append(Difference(tensor, None, _kind(one), _kind(other)))
            continue
        places = np.argwhere(differ(one, other))
        if len(places):
            where = tuple(places[0].tolist())
            values = str(one[where]), str(other[where])
            found.append(Difference(tensor, where, *values, len(places), one.size))
    return found


def _kind(array: np.ndarray) -> str:
    return f"{array.dtype.name} {_shape(array.shape)}"


def _tensors(path: Path) -> dict[int, np.ndarray]:
    if not path.exists():
        return {}
    arrays = read_arrays(path)
    if any(array.dtype.kind not in "biuf" for array in arrays.values()):
        raise InputError(f"{path.name}: has something else than numbers")
    try:
        return {int(name.removeprefix("tensor_")): array for name, array in arrays.items()}
    except ValueError:
        raise InputError(f"{path.name}: has no names of tensors") from None


def _add_model(found: Failure, graph: Graph) -> None:
    different = {difference.tensor for difference in found.differences}
    # A network's first operator that differs is where its fault is: those behind it inherit it.
    wrong = [o for o in graph.operators if different & set(o.outputs)][:1]
    shown = wrong or list(graph.operators[:OPERATORS_SHOWN])
    found.operators = [OperatorFacts(o.index, o.name, _options(o.options)) for o in shown]
    found.operator_count = len(graph.operators)
    roles = dict(_roles(shown))
    found.tensor_count = len(roles)
    found.tensors = [
        _tensor(graph.tensors[index], role, index in different and role.startswith("output"))
        for index, role in list(roles.items())[:TENSORS_SHOWN]
    ]


def _roles(operators: Iterable[Operator]) -> Iterable[tuple[int, str]]:
    for operator in operators:
        for what, indices in (("input", operator.inputs), ("output", operator.outputs)):
            for number, index in enumerate(indices):
                if index >= 0:
                    yield index, f"{what} {number}"


def _options(options: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
        for name, value in options.items()
    }


def _tensor(tensor: Tensor, role: str, differs: bool) -> TensorFacts:
    if tensor.data is not None:
        role += ", constant"
    kind = tensor.dtype.name, _shape(tensor.shape), *_quantization(tensor.quantization)
    return TensorFacts(tensor.index, tensor.name, role, *kind, differs)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _quantization(quantization: Quantization | None) -> tuple[str, str]:
    """Return scale and zero point as texts; values that differ along an axis are counted."""
    if quantization is None:
        return "–", "–"
    scale = [f"{value:.9g}" for value in quantization.scale]  # tells all float32 apart
    zero_point = [str(value) for value in dict.fromkeys(quantization.zero_point.tolist())]
    axis = f" ({len(scale)} along axis {quantization.axis})" if len(scale) > 1 else ""
    return _some(scale) + axis, _some(zero_point)


def _some(values: list[str]) -> str:
    return ", ".join(values[:_VALUES]) + (", ..." if len(values) > _VALUES else "")
