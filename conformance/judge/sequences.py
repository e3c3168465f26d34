"""Faults of control: results that are right for another case, for other parameters, or a state.

Cases are asked in a row, and what is known of the row are the results and the handshakes of every
cycle (`Times`). A fault is a rule that gives *every* answer of a simulation, right and wrong ones:
which case an answer is of (`_orders`), or what stands in its place and when (`_values`). Where no
rule gives the last answer too, there is no name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.answers import MISSING, Simulation
from eightfold.conformance.judge.explain import Indices, NamedMistake
from eightfold.conformance.judge.rules import Features, Mask, spread
from eightfold.conformance.judge.subject import Cases, Subject, agree, rows
from eightfold.golden.fixed_point import INT32_MAX, INT32_MIN, Integers, wrap32

ENOUGH = 8
"""Wrong answers that a fault has to explain, at least."""

PROBED = 64
"""Wrong answers that are tried before the others."""

SEEN = 3
"""Places at which answers are lost, doubled or repeated, at least."""

REACH = 16
"""Cycles between a cause and what it does, and cases between parameters, at most."""

LANES = (2, 4, 8, 16)
"""Channels that are side by side, as far as is looked for."""

_SENTENCES = {
    "answer_repeated": "Under back-pressure the answer before stands in an answer's place.",
    "answer_lost": "Under back-pressure answers get lost.",
    "answer_doubled": "Under back-pressure an answer is given twice.",
    "valid_dropped": "A case that is taken in the cycle in which an answer is given gets lost: "
    "push and pop at once drop the valid.",
    "parameters_before": "The parameters are those of the case before.",
    "parameters_after": "The parameters are those of the case after.",
    "channel_before": "The parameters are those of another channel or lane.",
    "nudge_per_stall": "The rounding's addend is added once more in each cycle of a stall.",
    "bias_per_stall": "The bias is added once more in each cycle of a stall.",
    "zero_point_per_stall": "The zero point is added once more in each cycle of a stall.",
    "sticky_flag": "A flag that was set is not cleared.",
}

FAULTS = {name: NamedMistake(name, sentence) for name, sentence in _SENTENCES.items()}
"""Faults of control by name, in the order in which they are looked for."""

UNDER_PRESSURE = ("answer_repeated", "answer_lost", "answer_doubled")
STALLED = (*UNDER_PRESSURE, "nudge_per_stall", "bias_per_stall", "zero_point_per_stall")
"""Faults that need a stall: without one every answer is right."""


@dataclass(frozen=True)
class Times:
    """When cases were taken and answers given, in cycles."""

    taken: NDArray[np.int64]
    """Of each case, shape (cases,)."""
    given: NDArray[np.int64]
    """Of each answer, also of those that nobody had asked for."""
    counted: Mask
    """Whether an answer counts: at least as many cases were taken as it makes answers."""
    waited: NDArray[np.int64]
    """How many cycles each answer was offered before it was given."""
    valid: Mask
    """Of each cycle, whether an answer is offered."""
    ready: Mask
    """Of each cycle, whether answers are taken."""

    @property
    def stalled(self) -> Mask:
        """Of each cycle, whether an answer is offered and not taken."""
        return self.valid & ~self.ready

    @classmethod
    def of(cls, simulation: Simulation) -> "Times | None":
        """Return the times of a simulation; None if nobody has seen handshakes."""
        bits = simulation.handshakes.astype(np.int64)
        valid, ready = (bits & 8) > 0, (bits & 4) > 0
        taken, given = np.flatnonzero((bits & 3) == 3), np.flatnonzero(valid & ready)
        if not taken.size or not given.size:
            return None
        stalls = np.concatenate([[0], np.cumsum(valid & ~ready)])
        waited = np.diff(stalls[given], prepend=0)
        # As the bench counts: the case of the same cycle is taken before.
        under_way = np.searchsorted(taken, given, "right")
        counted, answers = np.zeros(len(given), bool), 0
        for place, accepted in enumerate(under_way.tolist()):
            if answers < accepted:
                counted[place] = True
                answers += 1
        return cls(taken[: simulation.cases], given, counted, waited, valid, ready)


@dataclass(frozen=True)
class Row:
    """Cases that were asked in a row, and what came."""

    subject: Subject
    cases: Cases
    expected: Integers
    results: Integers
    simulation: Simulation
    times: Times | None

    @property
    def wrong(self) -> Mask:
        """Whether an answer is not right, or has not come."""
        return ~agree(self.results, self.expected)

    @property
    def all_times(self) -> Times | None:
        """The times, if every case was taken and answered."""
        count = len(self.expected)
        times = self.times
        return times if times and min(len(times.given), len(times.taken)) >= count else None


Found = dict[tuple[str, str], None]
"""Names of faults, and where and when they are made, in the order in which they are preferred."""


def faults_of(row: Row) -> Found:
    """Return the faults of control that give every answer of a row; none if all are right."""
    if not row.wrong.any():
        return {}
    complete = not (row.results == MISSING).any()
    found = dict.fromkeys(_orders(row, row.times) if row.times else ())
    if complete and row.wrong.sum() >= ENOUGH:
        for source in (_values, _multiples, _flags):
            found |= dict.fromkeys(source(row))
    # What needs a stall does nothing without one, if that was tried.
    count, right = row.simulation.again.get(UNPAUSED, (0, 0))
    return {key: None for key in found if key[0] not in STALLED or right == count}


UNPAUSED = "without pauses"
"""How failing cases are asked again so that nothing stalls."""


def _orders(row: Row, times: Times) -> Iterator[tuple[str, str]]:
    """Yield the faults that lose, double or repeat answers."""
    for name, where, cases in _numbers(times):
        numbers = cases[: len(row.expected)]
        if np.sum(np.diff(numbers) != 1) < SEEN or numbers.max() >= len(row.expected):
            continue
        predicted = np.full_like(row.results, MISSING)
        predicted[: len(numbers)] = row.expected[numbers]
        if np.array_equal(predicted, row.results):
            yield name, where


def _numbers(times: Times) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Yield by which rule answers are of which cases: name, where, the case of each answer."""
    every, counted = np.arange(len(times.given)), times.counted
    for where, stalled in _events(times):
        for twice in (stalled, _once(stalled)):
            steps = np.where(twice, 0, 1)
            steps[0] = 1
            yield "answer_doubled", where, (np.cumsum(steps) - 1)[counted]
        steps = np.where(stalled, 2, 1)
        yield "answer_lost", where, (np.cumsum(steps) - 1)[counted]
        yield "answer_repeated", where, np.maximum(every - stalled, 0)[counted]
        held = np.maximum.accumulate(np.where(stalled, 0, every))
        yield "answer_repeated", where, held[counted]
    offered = np.cumsum(times.valid)[times.given] - 1
    yield "answer_lost", "whatever waits", offered[counted]
    for name, where, lost in _losses(times):
        yield name, where, np.flatnonzero(~lost)


def _once(stalled: Mask) -> Mask:
    """Return which answers are second ones, if a second one has none of its own."""
    found, twice = [], False
    for each in stalled.tolist():
        twice = each and not twice
        found.append(twice)
    return np.array(found)


def _events(times: Times) -> Iterator[tuple[str, Mask]]:
    """Yield what can be said of answers under back-pressure."""
    waited = times.waited
    unready = np.diff(np.cumsum(~times.ready)[times.given], prepend=0)
    for least in (1, 2, 3, 4):
        cycles = "a cycle" if least == 1 else f"{least} cycles"
        for what, counts in (
            (f"that had to wait {cycles} or more", waited),
            (f"before which ready was low for {cycles} or more", unready),
        ):
            yield f"at answers {what}", counts >= least
            yield f"behind answers {what}", np.append(False, counts[:-1] >= least)
    for back in range(1, REACH):
        yield f"if ready is low {back} cycles before", _at(~times.ready, times.given - back)


def _losses(times: Times) -> Iterator[tuple[str, str, Mask]]:
    pops = np.zeros(len(times.valid), bool)
    pops[times.given] = True
    after = np.append(times.taken[1:], len(pops) + REACH)
    for distance in range(REACH):
        yield "valid_dropped", f"{distance} cycles after", _at(pops, times.taken + distance)
        for name, cycles in (("its case", times.taken), ("the next case", after)):
            where = f"{distance} cycles after {name} is taken"
            yield "answer_lost", where, _at(times.stalled, cycles + distance)
            yield "answer_lost", where, _at(~times.ready, cycles + distance)
    for room in range(1, REACH + 1):
        yield "answer_lost", f"where {room} are under way already", _overflows(times, room)


def _overflows(times: Times, room: int) -> Mask:
    """Return which cases find as many under way as there is room for, and get lost."""
    lost = np.zeros(len(times.taken), bool)
    kept = 0
    before = np.searchsorted(times.given, times.taken, "right").tolist()
    for place, answered in enumerate(before):
        lost[place] = kept - answered >= room
        kept += not lost[place]
    return lost


def _at(mask: Mask, cycles: NDArray[np.int64]) -> Mask:
    """Return a mask in some of the cycles; False beyond its ends."""
    inside = (cycles >= 0) & (cycles < len(mask))
    return inside & mask[np.clip(cycles, 0, len(mask) - 1)]


def _conditions(row: Row) -> dict[str, Mask]:
    """Return when a fault may be made: of each case, by what a sentence says; always first."""
    count = len(row.expected)
    table = {"": np.ones(count, bool)}
    if (times := row.all_times) is None:
        return table
    given, waited = times.given[:count], times.waited[:count]
    close = np.append(False, np.diff(times.taken) == 1)
    table[" Where a case comes right behind the one before."] = close
    table[" Where a case does not come right behind the one before."] = ~close
    stalls = np.cumsum(times.stalled)
    held = stalls[given] - stalls[times.taken]
    for text, counts in (
        ("whose answer waits", waited),
        ("behind an answer that waits", np.append(0, waited[:-1])),
        ("that are in the unit while an answer waits", held),
    ):
        for least in (1, 2, 3):
            table[f" In cases {text}, {least} cycles or more."] = counts >= least
    for distance in range(REACH // 2):
        low = _at(~times.ready, times.taken + distance)
        table[f" If ready is low {distance} cycles after a case is taken."] = low
    return table


Instead = Callable[[Indices], Integers]
"""What stands in place of the right answers of some cases."""


def _gives(row: Row, instead: Instead, wrong: Indices) -> bool:
    """Return whether what stands ``instead`` gives all wrong answers, some of which are tried
    before the rest."""
    return all(
        agree(row.results[some], instead(some)).all() for some in (spread(wrong, PROBED), wrong)
    )


def _when(row: Row, instead: Instead, free: Mask) -> Iterator[str]:
    """Yield under which conditions what stands ``instead`` gives every answer, but those free."""
    wrong = row.wrong & ~free
    if wrong.sum() < ENOUGH or not _gives(row, instead, np.flatnonzero(wrong)):
        return
    right = ~row.wrong & ~free & ~agree(row.expected, instead(np.arange(len(free))))
    for text, holds in _conditions(row).items():
        if holds[wrong].all() and not holds[right].any():
            yield text


PARAMETERS = ("multiplier", "shift", "zero_point", "low", "high")
PARAMETERS_OF_DOT = ("input_zero_point", "weight_zero_point", "bias")
"""What cases have beside their operands, of a requantizer and of a dot product."""


def _values(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the faults that take parameters or an answer from elsewhere."""
    place = np.arange(len(row.expected))
    fields = PARAMETERS_OF_DOT if row.subject.name == "dot" else PARAMETERS
    if all(field in row.cases for field in fields):
        chosen = [fields, *(s for size in (1, 2, 3, 4) for s in combinations(fields, size))]
        # Fewer fields explain more than more do, and all are what is most likely.
        for some in dict.fromkeys(chosen):
            for name, where, source in _sources(place):
                free = (source < 0) | (source >= len(place))
                moved = np.clip(source, 0, len(place) - 1)
                for when in _when(row, partial(_moved, row, some, moved), free):
                    what = "All of them" if some == fields else ", ".join(some)
                    yield name, f"{what}{where}.{when}"
    for when in _when(row, lambda some: row.results[np.maximum(some - 1, 0)], place < 1):
        if "ready" in when or "waits" in when:
            yield "answer_repeated", when.strip()


def _moved(row: Row, fields: Sequence[str], places: Indices, some: Indices) -> Integers:
    """Return the results of some cases with the fields of those at ``places`` of all."""
    cases = rows(row.cases, some)
    cases |= {field: row.cases[field][places[some]] for field in fields}
    return row.subject.compute(cases, ())


def _sources(place: NDArray[np.int64]) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Yield from which case a case may have its parameters: name, where, its place."""
    yield "parameters_before", "", place - 1
    yield "parameters_after", "", place + 1
    for lanes in LANES:
        group = place // lanes * lanes
        yield "channel_before", f" of the lane before, of {lanes}", group + (place - 1) % lanes
        yield "channel_before", f" of the lane after, of {lanes}", group + (place + 1) % lanes
        yield "channel_before", f" of the first lane, of {lanes}", group
    for distance in range(2, REACH + 1):
        yield "channel_before", f", of {distance} cases before", place - distance


def _multiples(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the faults that add something once more per stall."""
    count = len(row.expected)
    if (times := row.all_times) is None:
        return
    first = int(np.argmax(row.wrong))  # before which nothing was added, and there something
    for what, compute in _additions(row):
        for where, more in _stalls(times, count):
            if more[first] and agree(compute(more), row.results).all():
                yield what, where


def _stalls(times: Times, count: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield how many cycles cases are stalled, by where that counts."""
    total = np.cumsum(times.stalled)
    counts = {
        "While its answer waits": times.waited[:count],
        "While it is in the unit": total[times.given[:count]] - total[times.taken],
    }
    for what, stalled in (("an answer waits", times.stalled), ("ready is low", ~times.ready)):
        advanced = np.cumsum(~stalled) - ~stalled
        at = np.bincount(advanced[stalled], minlength=len(advanced) + REACH)
        for stage in range(REACH):
            counts[f"In stage {stage} while {what}"] = at[advanced[times.taken] + stage]
    for where, more in counts.items():
        yield f"{where}.", more
        yield f"{where}, once however long.", np.minimum(more, 1)


def _additions(row: Row) -> Iterator[tuple[str, Callable[[NDArray[np.int64]], Integers]]]:
    """Yield what may be added more often: the fault, and the results by how much more often."""
    cases, compute = row.cases, row.subject.compute
    if "clear" in cases:
        first = np.maximum.accumulate(np.where(cases["clear"] != 0, np.arange(len(row.wrong)), 0))

        def of_steps(more: NDArray[np.int64]) -> Integers:
            run = np.cumsum(more)
            return wrap32(row.expected + cases["bias"] * (run - (run - more)[first]))

        yield "bias_per_stall", of_steps
        yield "bias_per_stall", lambda more: of_steps(np.where(cases["clear"] != 0, more, 0))
        return
    for field, fault in (("bias", "bias_per_stall"), ("zero_point", "zero_point_per_stall")):
        if field in cases:
            yield (
                fault,
                lambda more, field=field: compute({**cases, field: cases[field] * (1 + more)}, ()),
            )
    for which in ("first_nudges", "second_nudges") if "multiplier" in cases else ():
        yield "nudge_per_stall", lambda more, which=which: compute({**cases, which: more}, ())


def _flags(row: Row) -> Iterator[tuple[str, str]]:
    """Yield what flags that stay set explain: from some case on, something else is computed."""
    wrong = np.flatnonzero(row.wrong)
    first = int(wrong[0])
    features: Features = {}
    for what, instead in _effects(row):
        if not _gives(row, instead, wrong):
            continue
        differs = np.flatnonzero(~agree(instead(np.arange(len(row.wrong))), row.results))
        last = int(differs[-1]) if differs.size else -1
        # Without a right answer that shows when it was set, only the cases alone show a flag.
        if not (-is_control(row.simulation.again) <= last < first):
            continue
        features = features or _bounds(row) | row.subject.features(row.cases, row.wrong)
        begins = {text: int(np.argmax(mask)) for text, mask in features.items() if mask.any()}
        causes = [text for text, begin in begins.items() if last <= begin <= first]
        if causes:
            cause = next((text for text in causes if text in what), causes[0])
            yield "sticky_flag", f"From case {first} on {what}, after {cause}."


def _bounds(row: Row) -> Features:
    if "high" not in row.cases:
        return {}
    return {
        "a result at the upper bound": row.expected == row.cases["high"],
        "a result at the lower bound": row.expected == row.cases["low"],
    }


def _effects(row: Row) -> Iterator[tuple[str, Instead]]:
    """Yield what a flag may do: in words, and the results of cases if it does."""
    if "high" in row.cases:
        for end, bound in (("upper", "high"), ("lower", "low")):
            yield f"each has a result at the {end} bound", row.cases[bound].__getitem__
    for end in (-128, 127, INT32_MIN, INT32_MAX):
        yield (f"each result is {end}", lambda some, end=end: np.full_like(row.expected[some], end))
    for mistake in row.subject.mistakes:
        yield (
            f"each is computed as by {mistake.name}",
            lambda some, mistake=mistake: row.subject.compute(rows(row.cases, some), (mistake,)),
        )


def control_sentences(again: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return what failing cases show that were asked again, in sentences."""
    if not again:
        return []
    parts = [f"{right} of {count} are right {how}" for how, (count, right) in again.items()]
    found = [f"Failing cases asked again: {', '.join(parts)}."]
    if is_control(again):
        found.insert(0, "Arithmetic right, control wrong: alone each failing case is right.")
    return found


ALONE = "alone or behind themselves"
"""How failing cases are asked again without neighbours."""


def is_control(again: Mapping[str, tuple[int, int]]) -> bool:
    """Return whether failing cases are right without their neighbours."""
    count, right = again.get(ALONE, (0, 0))
    return 0 < count == right
