"""The finding of a unit: what its answers say, by the mistakes that are known of it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eightfold.conformance.answers import Columns, Simulation, UnitAnswers
from eightfold.conformance.citation import broken
from eightfold.conformance.judge import sequences
from eightfold.conformance.judge.contracts import contract_of
from eightfold.conformance.judge.diagnosis import UnitVerdict, examine
from eightfold.conformance.judge.dot import DOT, steps_of
from eightfold.conformance.judge.forms import cases_of
from eightfold.conformance.judge.ranges import RANGES
from eightfold.conformance.judge.subject import Cases, Subject, agree, rows
from eightfold.conformance.judge.tables import parts_of
from eightfold.conformance.judge.tpu_mlir import SUBJECTS
from eightfold.conformance.profile import Profile
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import UnitCases
from eightfold.conformance.verdict import LISTED, CaseOutcome, ClaimFinding, FailedCase
from eightfold.golden.fixed_point import Integers

REACH = 64
"""Results are looked for so many cases away, at most."""

ENOUGH = 8
"""Results that have to agree, at least."""


def displacement(expected: Columns, results: Columns) -> tuple[int, int] | None:
    """Return from which case on all results are right for another case, and how far that is away.

    ``expected``, ``results``: by column; what is missing or unknown agrees with nothing.

    Of ``(first, by)`` up to ``first`` results are right, and each later one is that of the case
    ``by`` before it, or ``-by`` after it. At the end ``-by`` results may be missing. None if this
    is not so, or too few cases show it.
    """
    wanted, given = _rows(expected), _rows(results)
    wrong = np.flatnonzero((wanted != given).any(axis=1))
    if not wrong.size:
        return None
    first = int(wrong[0])
    for by in (sign * distance for distance in range(1, REACH + 1) for sign in (1, -1)):
        later = slice(max(first, by), len(wanted) + min(by, 0))
        other = slice(later.start - by, later.stop - by)
        if later.stop - later.start >= ENOUGH and np.array_equal(given[later], wanted[other]):
            return first, by
    return None


def displacement_sentence(expected: Columns, results: Columns) -> str:
    """Return what `displacement` finds in a sentence, with its likely cause; empty for nothing."""
    found = displacement(expected, results)
    if found is None:
        return ""
    first, by = found
    cases = "case" if abs(by) == 1 else f"{abs(by)} cases"
    start = "Each result is right for" if first == 0 else f"From case {first} on each is right for"
    if by > 0:
        cause = f"the latency is {by} more than stated, or something answers without being asked"
        return f"{start} the {cases} before it: {cause}."
    cause = (
        f"the latency is {-by} less than stated"
        if first == 0
        else f"{'an answer' if by == -1 else f'{-by} answers'} to case {first} on got lost"
    )
    return f"{start} the {cases} after it: {cause}."


def _rows(results: Columns) -> NDArray[np.int64]:
    columns = [np.asarray(values, np.int64) for values in results.values()]
    return np.concatenate([values.reshape(len(values), -1) for values in columns], axis=1)


def judge_unit(
    unit: str,
    profile: Profile,
    cases: UnitCases,
    answers: UnitAnswers,
    numbers: NDArray[np.int64] | None = None,
) -> ClaimFinding:
    """Return what is found of a unit.

    ``profile``: what is claimed; the cases are within it, and have the reference's results; an
    empty kind is one that is not known. ``numbers``: of the cases, where they are not all that were
    drawn; by default their places.

    Raises ValueError if a column of the answers is missing, or its shape or type is another.
    """
    expected = _joined(unit, cases.results, len(cases))
    results = _joined(unit, answers.results, len(cases))
    columns = {name: np.asarray(values).astype(np.int64) for name, values in cases.inputs.items()}
    named = np.arange(len(cases)) if numbers is None else numbers
    simulations = answers.simulations or (Simulation(len(cases)),)
    parts = [each for each in _parts(unit, profile, columns, simulations) if len(each.indices)]
    verdicts = []
    for part in parts:
        asked = (part.subject, part.cases, expected[part.indices], results[part.indices])
        numbers = named[part.indices]
        verdicts.append(examine(*asked, numbers=numbers, crashed=answers.crashed))
    judged = [(part.label, verdict) for part, verdict in zip(parts, verdicts, strict=True)]
    explained = _mistakes(verdicts)
    control = _control(parts, verdicts, expected, results, simulations)
    mistakes, said = control or (explained, tuple(_sentences(judged)))
    kinds = dict(zip(named.tolist(), cases.kinds.tolist(), strict=True))
    failed = sorted(
        (_with_kind(each, kinds[int(each.name)]) for found in verdicts for each in found.failed),
        key=lambda each: int(each.name),
    )
    counts = {outcome: sum(each.counts[outcome] for each in verdicts) for outcome in CaseOutcome}
    moved = "" if mistakes or explained else displacement_sentence(cases.results, answers.results)
    note = answers.note.strip().rstrip(".")
    deviates = answers.extra or any(n for outcome, n in counts.items() if outcome)
    return ClaimFinding(
        claim=unit,
        counts=counts,
        extra=answers.extra,
        mistakes=mistakes,
        rules=broken(unit, mistakes) if deviates and profile.spec == "tflite" else (),
        diagnosis=(
            *said,
            *([moved] if moved else []),
            *_by_kind(cases.kinds, ~agree(results, expected)),
            *([f"What answered has said: {note}."] if note else []),
        ),
        failed=tuple(failed[:LISTED]),
        smallest=_smallest(judged),
        contract=_distance(unit, profile, columns, cases.kinds),
        power=tuple(
            f"{label}{sentence}" for label, each in judged for sentence in each.power.sentences()
        ),
        known=sum(each.power.mistakes for each in verdicts),
        unseen=sum(len(each.power.unseen) for each in verdicts),
    )


@dataclass(frozen=True)
class _Part:
    """Cases that are judged together."""

    subject: Subject
    cases: Cases
    indices: NDArray[np.int64]
    label: str = ""
    """What its sentences begin with."""


def _control(
    parts: list[_Part],
    verdicts: list[UnitVerdict],
    expected: Integers,
    results: Integers,
    simulations: tuple[Simulation, ...],
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the faults of the order of cases and their neighbours, and what is said of them; None
    where there are none, or a mistake of the arithmetic explains all, also when failing cases were
    asked again."""
    again = dict[str, tuple[int, int]]()
    for each in simulations:
        for how, pair in each.again.items():
            count, right = again.get(how, (0, 0))
            again[how] = (count + pair[0], right + pair[1])
    if _mistakes(verdicts) and not sequences.is_control(again):
        return None
    if agree(expected, results).all() or len(parts) != 1:
        return None
    (part,) = parts
    found: list[dict[tuple[str, str], None]] = []
    begin = 0
    for each in simulations:
        chosen = slice(begin, begin + each.cases)
        begin += each.cases
        cases = rows(part.cases, chosen)
        times = sequences.Times.of(each)
        row = sequences.Row(part.subject, cases, expected[chosen], results[chosen], each, times)
        if row.wrong.any():
            found.append(sequences.faults_of(row))
    first, *others = found
    every = [key for key in first if all(key in other for other in others)]
    sentences = sequences.control_sentences(again)
    if every:
        names = tuple(dict.fromkeys(name for name, _ in every))
        where = next(where for name, where in every if name == names[0])
        text = f"{names[0]}: {sequences.FAULTS[names[0]].sentence} ({where.strip().rstrip('.')}.)"
        also = [f"These explain them as well: {', '.join(names[1:])}."] if names[1:] else []
        explains = f"It explains all {len(results)} answers."
        return names, (*sentences, f"{text} {explains}", *also)
    if not sequences.is_control(again):
        return None
    return (), (*sentences, "No fault of control with a name gives every answer.")


def _parts(
    unit: str, profile: Profile, columns: Cases, simulations: tuple[Simulation, ...]
) -> Iterator[_Part]:
    everything = np.arange(len(next(iter(columns.values()))))
    if unit == "requantizer":
        cases = cases_of(profile.form, columns)
        yield _Part(contract_of(profile).subject, cases, everything)
    elif unit == "sequence":
        begins = np.cumsum([0, *(each.cases for each in simulations[:-1])]).tolist()
        yield _Part(*steps_of(columns, begins), everything)
    elif unit == "tables":
        single = profile.rounding == "single"
        for subject, cases, indices in parts_of(columns, profile.reference, single=single):
            yield _Part(subject, cases, indices, f"{subject.name}: ")
    else:
        subjects = {"dot": DOT, "fake_quantize": RANGES, **SUBJECTS}
        yield _Part(subjects[unit], columns, everything)


def _distance(
    unit: str, profile: Profile, columns: Cases, kinds: NDArray[np.str_]
) -> tuple[str, ...]:
    """Return which rules of the spec a contract breaks, why, and how far it is from the spec, in
    lines; nothing where there is none."""
    if unit != "requantizer" or not profile.contract:
        return ()
    waived = [
        f"The contract breaks {identity} by {each.rule}{f': {each.reason}' * bool(each.reason)}."
        for each in profile.contract
        for identity in broken(unit, [each.rule])
    ]
    cases = cases_of(profile.form, columns)
    return (*waived, *contract_of(profile).distance(cases, kinds))


def _joined(unit: str, arrays: Mapping[str, NDArray], count: int) -> Integers:
    """Return the columns of results side by side, int64 of shape (n,) or (n, length)."""
    columns = UNIT_KINDS[unit].results
    for column in columns:
        shape = column.shape(count)
        values = arrays.get(column.name)
        if values is None or values.shape != shape or values.dtype.kind not in "iu":
            found = "none" if values is None else f"{values.dtype} of {values.shape}"
            raise ValueError(f"{unit}: {column.name} must be integers of {shape}, not {found}")
    if len(columns) == 1:
        return arrays[columns[0].name].astype(np.int64)
    wide = [arrays[column.name].astype(np.int64).reshape(count, -1) for column in columns]
    return np.concatenate(wide, axis=1)


def _mistakes(verdicts: list[UnitVerdict]) -> tuple[str, ...]:
    """Return the names of what explains all that deviates."""
    deviating = [each for each in verdicts if each.counts[CaseOutcome.EXACT] < each.known]
    if not all(verdict.explanations for verdict in deviating):
        return ()
    return tuple(each.name for verdict in deviating for each in verdict.explanations)


_Labelled = list[tuple[str, UnitVerdict]]
"""Verdicts on parts, each with what its sentences begin with."""


def _sentences(judged: _Labelled) -> Iterator[str]:
    for label, verdict in judged:
        first, *others = verdict.diagnosis() or [""]
        if first:
            yield f"{label}{first}"
            yield from others
        elif label and any(not other.conforms for _, other in judged):
            yield f"{label}all {verdict.cases} are exact."


def _by_kind(kinds: NDArray[np.str_], wrong: NDArray[np.bool_]) -> Iterator[str]:
    every, bad = Counter(kinds.tolist()), Counter(kinds[wrong & (kinds != "")].tolist())
    if texts := [f"{bad[name]} of {every[name]} {name}" for name in sorted(bad)]:
        yield f"By kinds of cases, not exact are {', '.join(texts)}."


def _with_kind(case: FailedCase, kind: str) -> FailedCase:
    if not kind:
        return case
    return replace(case, message=f"{case.message} ({kind})" if case.message else kind)


def _smallest(judged: _Labelled) -> tuple[str, ...]:
    """Return the smallest failing case, of the first part that has one with a known result."""
    failures = [(label, each.failure) for label, each in judged if each.failure]
    if not failures:
        return ()
    label, failure = min(failures, key=lambda each: each[1].result is None)
    first, *others = failure.lines()
    return (f"{label}{first}", *others)
