"""The finding on models: outcomes, diagnosis, the smallest failing case, power."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress
from math import prod

import numpy as np

from eightfold.common.errors import InputError
from eightfold.conformance.answers import ModelAnswer
from eightfold.conformance.citation import broken
from eightfold.conformance.judge.explain import (
    Explained,
    Indices,
    Observations,
    explain,
    explained_sentences,
)
from eightfold.conformance.judge.models.mistakes import operator_mistakes, operator_power
from eightfold.conformance.judge.models.subject import OperatorMistake, OperatorRun, runs_of
from eightfold.conformance.judge.models.tolerances import measured, tolerance_of
from eightfold.conformance.judge.rules import Clause, Mask, clauses_of, common_text
from eightfold.conformance.profile import NETWORKS, Profile
from eightfold.conformance.vectors.models import OperatorCase
from eightfold.conformance.verdict import LISTED, CaseOutcome, ClaimFinding, FailedCase
from eightfold.model import Graph, Operator
from eightfold.operators import explain_element
from eightfold.run.reference.oracle import differ

_Facts = dict[str, bool]


def common(subjects: Sequence[OperatorRun], meant: Sequence[bool] | Mask) -> tuple[Clause, ...]:
    """Return rules that say which runs are meant; see `eightfold.conformance.judge.rules`."""
    facts = [_facts(subject) for subject in subjects]
    names = sorted({name for each in facts for name in each})
    table = {name: np.array([each.get(name, False) for each in facts]) for name in names}
    return clauses_of(table, np.asarray(meant, bool))


def _facts(subject: OperatorRun) -> _Facts:
    facts: _Facts = {}
    for name, value in subject.operator.options.items():
        if isinstance(value, bool | int | str):
            facts[f"the option {name} {value}"] = True
    for position, tensor in enumerate(subject.inputs):
        if tensor is None:
            facts[f"no input {position}"] = True
            continue
        facts[f"a constant as input {position}"] = tensor.data is not None
        facts[f"an input of the graph as input {position}"] = tensor.data is None
        facts[f"input {position} of type {tensor.dtype}"] = True
        facts[f"rank {len(tensor.shape)} of input {position}"] = True
        facts[f"a batch above 1 of input {position}"] = tensor.shape[:1] > (1,)
        facts |= _quantized(subject, position)
    if len(subject.inputs) < 3:
        facts["no third input"] = True
    facts |= _quantized(subject, -1)
    output = subject.output
    facts[f"rank {len(output.shape)} of the output"] = True
    facts["more than 1000 results"] = prod(output.shape) > 1000
    first = subject.tensor(0)
    facts["another shape of input and output"] = first is not None and first.shape != output.shape
    for text, holds in _RELATIONS.items():
        try:
            facts[text] = bool(holds(subject))
        except Exception:  # an operator that has no such tensor
            continue
    return facts


def _quantized(subject: OperatorRun, position: int) -> _Facts:
    tensor = subject.output if position < 0 else subject.inputs[position]
    if tensor is None or tensor.quantization is None:
        return {}
    name = "the output" if position < 0 else f"input {position}"
    points = tensor.quantization.zero_point
    single = tensor.quantization.scale.size == 1
    scale = np.frexp(tensor.quantization.scale)[0]
    return {
        f"a zero point of 0 of {name}": single and points[0] == 0,
        f"a zero point other than 0 of {name}": single and points[0] != 0,
        f"a zero point of -128 of {name}": single and points[0] == -128,
        f"a zero point of 127 of {name}": single and points[0] == 127,
        f"a scale per slice of {name}": not single,
        f"a scale that is a power of two of {name}": bool((scale == 0.5).all()),
        f"a scale above 1 of {name}": bool((tensor.quantization.scale > 1).any()),
    }


_RELATIONS: dict[str, Callable[[OperatorRun], object]] = {
    "another scale or zero point of the output than of the input": lambda s: (
        s.scales[0] != s.scales[1]
    ),
    "an output scale far below the input's": lambda s: s.scales[1][0] < s.scales[0][0] / 256,
    "a group convolution": lambda s: (
        s.operator.name == "CONV_2D" and s.codes(0).shape[3] != s.codes(1).shape[3]
    ),
    "operands of one shape": lambda s: s.codes(0).shape == s.codes(1).shape,
    "a window of one pixel": lambda s: s.codes(1).shape[1:3] == (1, 1),
    "a pool of one pixel": lambda s: (
        s.operator.options["filter_height"] == s.operator.options["filter_width"] == 1
    ),
    "a window of more pixels in a row than the stride": lambda s: (
        s.operator.options["filter_width"] > s.operator.options["stride_w"]
    ),
}
"""Features that several tensors make together."""


PROBED = 12
"""How many wrong runs, and how many exact ones, are asked of every mistake."""

SHOWN_REASONS = 5
"""Messages of refusals, crashes and the like that are repeated."""

_KNOWN = (CaseOutcome.EXACT, CaseOutcome.OFF_BY_ONE, CaseOutcome.WRONG, CaseOutcome.SHAPE)


@dataclass(frozen=True)
class ModelOutcome:
    """What an answer has shown of a case."""

    outcome: CaseOutcome
    message: str = ""
    """In one line, if it is not exact: what is wrong first, or what a runtime said."""
    place: tuple[int, tuple[int, ...]] | None = None
    """The first wrong element, if all shapes are right: tensor index and place."""


def shown(case: OperatorCase, answer: ModelAnswer) -> ModelOutcome:
    """Return what an answer has shown; the model's outputs are demanded, other tensors compared."""
    if (graph := case.graph) is None:
        return _illegal(case, answer)
    if answer.ending != "computed":
        return ModelOutcome(CaseOutcome[answer.ending.upper()], answer.message)
    for index in graph.outputs:
        if index in case.tensors and index not in answer.tensors:
            return ModelOutcome(CaseOutcome.MISSING, f"output tensor {index} is missing")
    order = [index for op in graph.operators for index in op.outputs if index in answer.tensors]
    for index in order:
        theirs, expected = answer.tensors[index], case.tensors[index]
        if theirs.shape != expected.shape or theirs.dtype != expected.dtype:
            shape = f"{theirs.dtype} of shape {list(theirs.shape)}"
            text = f"tensor {index} is {shape}, not {expected.dtype} of {list(expected.shape)}"
            return ModelOutcome(CaseOutcome.SHAPE, text)
    found = ModelOutcome(CaseOutcome.EXACT)
    for index in order:
        theirs, expected = answer.tensors[index], case.tensors[index]
        wrong = differ(theirs, expected)
        if not wrong.any():
            continue
        near = expected.dtype == np.int8 and np.abs(theirs.astype(int) - expected).max() == 1
        outcome = max(found.outcome, CaseOutcome.OFF_BY_ONE if near else CaseOutcome.WRONG)
        found = replace(found, outcome=outcome)
        if found.place is None:
            place = tuple(np.argwhere(wrong)[0].tolist())
            first = f"first at {list(place)}: {theirs[place]}, expected {expected[place]}"
            text = f"tensor {index}, {int(wrong.sum())} of {wrong.size} elements, {first}"
            found = ModelOutcome(outcome, text, (index, place))
    return found


def _illegal(case: OperatorCase, answer: ModelAnswer) -> ModelOutcome:
    if answer.ending == "refused":
        return ModelOutcome(CaseOutcome.EXACT)
    if answer.ending == "computed":
        return ModelOutcome(CaseOutcome.ACCEPTED, f"to be refused: {case.refusal}")
    message = f"{answer.message}; to be refused: {case.refusal}"
    return ModelOutcome(CaseOutcome[answer.ending.upper()], message)


@dataclass(frozen=True, eq=False)
class _Judged:
    """A case with the runs of its operators, the answer, and what it has shown."""

    name: str
    case: OperatorCase
    runs: Sequence[OperatorRun]
    answer: ModelAnswer
    shown: ModelOutcome

    @property
    def size(self) -> int:
        arrays = (*self.case.inputs.values(), *self.case.tensors.values())
        return sum(array.size for array in arrays)

    def answered(self) -> "Iterator[Answered]":
        """Yield the runs of operators whose operands are right and whose results are known."""
        computed, theirs = self.case.tensors, self.answer.tensors
        for run in self.runs if self.shown.outcome in _KNOWN else ():
            results = tuple(theirs.get(index) for index in run.operator.outputs)
            is_right = all(
                index in theirs
                and theirs[index].shape == computed[index].shape
                and not differ(theirs[index], computed[index]).any()
                for index in run.operator.inputs
                if index in computed
            )
            if is_right and any(each is not None for each in results):
                yield Answered(run, results)


@dataclass(frozen=True, eq=False)
class Answered:
    """A run of an operator and somebody's results of it, in the operator's order.

    ``theirs`` has None for an output that is not known.
    """

    subject: OperatorRun
    theirs: tuple[np.ndarray | None, ...]

    def is_given_by(self, results: Sequence[np.ndarray]) -> bool:
        """Return whether ``results`` are theirs, type and shape too, as far as these are known."""
        pairs = zip(results, self.theirs, strict=True)
        known = [(result, theirs) for result, theirs in pairs if theirs is not None]
        alike = all((a.shape, a.dtype) == (b.shape, b.dtype) for a, b in known)
        return alike and not any(differ(a, b).any() for a, b in known)

    @property
    def exact(self) -> bool:
        return self.is_given_by(self.subject.expected)


def judge_models(
    claim: str,
    cases: Sequence[OperatorCase],
    answers: Sequence[ModelAnswer],
    profile: Profile,
    names: Sequence[str] | None = None,
    *,
    power: bool = True,
) -> ClaimFinding:
    """Return what answers to models say of whoever has given them.

    ``claim``: an operator, or `NETWORKS`. ``answers``: in the order of the cases; ValueError if
    there are not as many. ``names``: of the cases; their numbers if None. ``power``: whether to
    find out what the cases could not have told apart, which takes as long as all else.
    """
    labels = [str(number) for number in range(len(cases))] if names is None else names
    judged = [
        _Judged(name, case, runs_of(case, profile.reference), answer, shown(case, answer))
        for name, case, answer in zip(labels, cases, answers, strict=True)
    ]
    counts = Counter(each.shown.outcome for each in judged)
    failed = [each for each in judged if each.shown.outcome != CaseOutcome.EXACT]
    runs = [run for each in judged for run in each.answered()]
    networks = claim == NETWORKS
    mistakes, diagnosis = _of_networks(judged, runs) if networks else _of_operator(claim, runs)
    diagnosis += _endings(judged, networks)
    finding = ClaimFinding(
        claim=claim,
        counts={outcome: counts[outcome] for outcome in CaseOutcome if counts[outcome]},
        mistakes=mistakes,
        rules=broken(claim, mistakes) if failed else (),
        diagnosis=tuple(diagnosis),
        failed=tuple(
            FailedCase(name=each.name, outcome=each.shown.outcome, message=each.shown.message)
            for each in failed[:LISTED]
        ),
        smallest=tuple(_smallest(failed)),
        farthest=_farthest(judged),
        tolerance=tolerance_of(claim, measured()["rows"]),
    )
    # Models to refuse have no arithmetic in which a mistake could be seen.
    computed = any(not case.refusal for case in cases)
    return _with_power(finding, judged) if power and computed else finding


def _farthest(judged: Sequence[_Judged]) -> int | None:
    """Return the largest difference of a code; None if results are missing, or others are wrong."""
    far = 0
    for each in judged:
        if each.shown.outcome > CaseOutcome.WRONG:
            return None
        for index in each.case.tensors.keys() & each.answer.tensors.keys():
            right, theirs = each.case.tensors[index], each.answer.tensors[index]
            if not differ(theirs, right).any():
                continue
            if right.dtype != np.int8:
                return None
            far = max(far, int(np.abs(theirs.astype(np.int64) - right).max()))
    return far


def _of_operator(operator: str, runs: Sequence[Answered]) -> tuple[tuple[str, ...], list[str]]:
    """Return the mistakes that explain all results, and the diagnosis in sentences."""
    wrong = np.array([not run.exact for run in runs], bool)
    if not wrong.any():
        return (), []
    explained = explain(_evidence(operator, runs, wrong))
    mistakes = tuple(each.name for each in explained.full)
    return mistakes, _sentences(explained, runs)


def _evidence(
    operator: str, runs: Sequence[Answered], wrong: Mask
) -> Observations[OperatorMistake]:
    """Return the runs as evidence: small ones first, some of the wrong and the exact before all."""
    small = sorted(range(len(runs)), key=lambda number: runs[number].subject.size)
    by_outcome = [[n for n in small if wrong[n]], [n for n in small if not wrong[n]]]
    probed = [n for numbers in by_outcome for n in numbers[:PROBED]]
    rest = [n for numbers in by_outcome for n in numbers[PROBED:]]

    @cache
    def gives_one(mistake: OperatorMistake, number: int) -> bool:
        return runs[number].is_given_by(mistake.results(runs[number].subject))

    def gives(mistakes: tuple[OperatorMistake, ...], numbers: Indices) -> Mask:
        (mistake,) = mistakes
        return np.array([gives_one(mistake, number) for number in numbers.tolist()], bool)

    return Observations(
        mistakes=operator_mistakes(operator),
        gives=gives,
        known=np.array(probed + rest),
        wrong=wrong,
        probed=np.array(probed),
        compared=np.array(probed),
    )


def _sentences(explained: Explained[OperatorMistake], runs: Sequence[Answered]) -> list[str]:
    found = explained_sentences(explained.full, explained.closest, len(runs), pairs=False)
    if explained.full:
        return found
    left = "models that it does not explain"
    what = left if explained.closest else "models whose results are not exact"
    remainder = explained.remainder
    clauses = common([run.subject for run in runs], remainder)
    return [*found, common_text(int(remainder.sum()), what, clauses)]


def _of_networks(
    judged: Sequence[_Judged], runs: Sequence[Answered]
) -> tuple[tuple[str, ...], list[str]]:
    """Return which operators deviate first, and why, as far as their results are known."""
    wrong = [each for each in judged if each.shown.place is not None]
    if not wrong:
        return (), []
    guilty = Counter(run.subject.operator.name for run in runs if not run.exact)
    found, mistakes = [], []
    if not guilty:
        found.append(
            "Which operator deviates first cannot be told from the networks' outputs alone; an "
            "adapter may return the other tensors as well."
        )
    for name, count in sorted(guilty.items()):
        mine = [run for run in runs if run.subject.operator.name == name]
        found.append(f"{name} deviates on right operands, {count} of {len(mine)} times.")
        names, sentences = _of_operator(name, mine)
        mistakes += [f"{name} {each}" for each in names]
        found += sentences
    return tuple(mistakes), found


def _endings(judged: Sequence[_Judged], networks: bool) -> list[str]:
    """Return what models have in common that gave no results, and what was said of them."""
    legal = [each for each in judged if each.runs]
    found = []
    for ending in ("REFUSED", "CRASHED", "TIMEOUT", "MISSING"):
        outcome = CaseOutcome[ending]
        meant = [each.shown.outcome == outcome for each in legal]
        what = f"models that ended as {outcome.text}"
        if not networks and 1 < sum(meant) < len(legal):
            clauses = common([each.runs[0] for each in legal], meant)
            found.append(common_text(sum(meant), what, clauses))
        found += _said(f"Said of {what}", compress(legal, meant))
    accepted = [each for each in judged if each.shown.outcome == CaseOutcome.ACCEPTED]
    found += _said("Accepted though illegal", accepted)
    others = (CaseOutcome.EXACT, CaseOutcome.ACCEPTED)
    illegal = [each for each in judged if not each.runs and each.shown.outcome not in others]
    return found + _said("Illegal models that were not refused", illegal)


def _said(title: str, judged: Iterable[_Judged]) -> list[str]:
    counted = Counter(each.shown.message for each in judged if each.shown.message).most_common()
    if not counted:
        return []
    texts = [f"{text} ({count})" if count > 1 else text for text, count in counted[:SHOWN_REASONS]]
    more = f"; {len(counted) - SHOWN_REASONS} others" if len(counted) > SHOWN_REASONS else ""
    return [f"{title}: {'; '.join(text.rstrip('.') for text in texts)}{more}."]


def _smallest(failed: Sequence[_Judged]) -> list[str]:
    """Return the smallest failing case: one with results before others, the reference's steps."""
    if not failed:
        return []
    each = min(failed, key=lambda one: (one.shown.place is None, not one.runs, one.size))
    title = f"case {each.name}: {each.shown.message or each.shown.outcome.text}"
    if each.shown.place is None:
        return [title]
    index, place = each.shown.place
    run = next(run for run in each.runs if index in run.operator.outputs)
    position = run.operator.outputs.index(index)
    try:
        lines = explain_element(run.graph, run.operator, run.values, position, place, run.reference)
    except InputError:  # an element that has no explanation is still wrong
        lines = []
    theirs = each.answer.tensors[index][place]
    expected = each.case.tensors[index][place]
    end = f"theirs: {theirs}, expected {expected}"
    if expected.dtype.kind in "iu":
        end += f", difference {int(theirs) - int(expected):+d}"
    steps = (f"  {line}" for line in (*lines, end))
    return [title, *_parameters(run.graph, run.operator), *steps]


def _parameters(graph: Graph, operator: Operator) -> list[str]:
    lines = []
    for role, indices in (("input", operator.inputs), ("output", operator.outputs)):
        for position, index in enumerate(indices):
            if index < 0:
                continue
            tensor = graph.tensors[index]
            text = f"  {role} {position}: {tensor.dtype} {list(tensor.shape)}"
            if tensor.quantization is not None:
                scale, zero = tensor.quantization.scale, tensor.quantization.zero_point
                several = f" and {scale.size - 1} more" if scale.size > 1 else ""
                text += f", scale {scale[0]}{several}, zero point {zero[0]}"
            lines.append(text)
    options = ", ".join(f"{name} {value}" for name, value in operator.options.items())
    return [*lines, f"  options: {options}"] if options else lines


def _with_power(finding: ClaimFinding, judged: Sequence[_Judged]) -> ClaimFinding:
    subjects = [run for each in judged for run in each.runs]
    if finding.claim == NETWORKS:
        kinds = len({run.operator.name for run in subjects})
        networks = sum(bool(each.runs) for each in judged)
        text = (
            f"{networks} networks have {len(subjects)} operators of {kinds} kinds. Which mistakes "
            "can be told apart is judged operator by operator."
        )
        return replace(finding, power=(text,))
    power = operator_power(finding.claim, subjects)
    return replace(
        finding, power=tuple(power.sentences()), known=power.mistakes, unseen=len(power.unseen)
    )
