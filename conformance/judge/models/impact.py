"""What mistakes do to whole networks: which outputs change, how far, and what becomes of accuracy.

A mistake is put in at the operator. Golden has no parameter by which one could choose another
arithmetic, so that nothing can be right by another one's rules; and nothing of it is replaced while
it runs. A network is computed operator by operator instead: by golden, or by the very function
with which the judge has named the mistake (`OperatorMistake.results`). What is said here of a
mistake is so said of what was diagnosed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.common.files import read_arrays
from eightfold.conformance.judge.contracts import Contract, contract_of
from eightfold.conformance.judge.models.mistakes import operator_mistakes
from eightfold.conformance.judge.models.scaling import in_operators
from eightfold.conformance.judge.models.subject import OperatorMistake, OperatorRun
from eightfold.conformance.profile import NETWORKS, Profile
from eightfold.conformance.verdict import ClaimFinding
from eightfold.golden.quantization import Reference
from eightfold.model.inputs import frames_of, random_inputs
from eightfold.operators import load_model, run_graph, run_graphs

INFERENCES = 16
"""Random inputs of a network for which none are given."""

Mistaken = Mapping[str, OperatorMistake]
"""The mistake that is made in an operator, by the operator's name."""


@dataclass(frozen=True, kw_only=True)
class Impact:
    """What mistakes do to a network."""

    network: str
    mistakes: tuple[str, ...]
    made: int
    operators: int
    """In how many operators they are made, and how many the network has."""
    inferences: int
    changed: int
    """How many were run, and in how many of them an output has changed."""
    largest: float
    """The largest difference of an output's element: of codes, or of numbers where ``codes`` is
    false, which it is where an output is float32."""
    codes: bool
    agree: int
    """Inferences whose top-1 is as before: the first largest element of the first output."""
    right: int | None = None
    before: int | None = None
    """Inferences whose top-1 is the label, with the mistakes and without; None without labels."""

    @property
    def outputs_text(self) -> str:
        if not self.changed:
            return f"none of {self.inferences} outputs changes"
        unit = (" code" if self.largest == 1 else " codes") * self.codes
        change = "changes" if self.changed == 1 else "change"
        far = f"by up to {self.largest:.6g}{unit}"
        return f"{self.changed} of {self.inferences} outputs {change}, {far}"

    @property
    def accuracy_text(self) -> str:
        """What becomes of accuracy in words; where there are no labels, of top-1."""
        if self.right is None:
            return f"top-1 as before in {self.agree} of {self.inferences}"
        was = " as before" if self.right == self.before else f", {self.before} before"
        return f"accuracy {self.right} of {self.inferences}{was}"

    @property
    def text(self) -> str:
        if not self.made:
            return "none, no operator makes the mistake"
        where = f"{', '.join(self.mistakes)} in {self.made} of {self.operators} operators"
        return f"{where}: {self.outputs_text}; {self.accuracy_text}"


class Network:
    """A network with inputs, which runs with mistakes in it.

    ``model``: the bytes of a ``.tflite`` file. ``arrays``: inputs as
    `eightfold.model.inputs.frames_of` takes them, and ``labels``, integers, if they are known; or,
    of a network with one input, that under any name and with or without a batch. Without them
    `INFERENCES` random inputs, uniform over all codes: those of ``seed``, and the seeds that
    follow. ``most``: keep to so many of the inputs, the first.

    Raises InputError if the model is refused, or arrays do not fit.
    """

    def __init__(
        self,
        name: str,
        model: bytes,
        arrays: Mapping[str, np.ndarray] | None = None,
        *,
        seed: int = 0,
        reference: Reference = "litert",
        most: int | None = None,
    ) -> None:
        self.name = name
        self.reference: Reference = reference
        self.graph = load_model(model)
        self.labels: NDArray[np.integer] | None = None
        if arrays is None:
            seeds = range(seed, seed + INFERENCES)
            self.inputs = [random_inputs(self.graph, each) for each in seeds]
        else:
            self.inputs = self._given(dict(arrays))
        self.inputs = self.inputs[:most]
        self.labels = None if self.labels is None else self.labels[:most]

    @classmethod
    def load(cls, text: str, **options: Any) -> "Network":
        """Return the network that ``MODEL.tflite`` or ``MODEL.tflite=INPUTS.npz`` names.
        ``options`` and errors as those of a `Network`."""
        file, _, given = text.partition("=")
        try:
            arrays = read_arrays(Path(given)) if given else None
            return cls(Path(file).stem, Path(file).read_bytes(), arrays, **options)
        except OSError as error:
            raise InputError(f"{text}: cannot be read: {error}") from None
        except InputError as error:
            raise InputError(f"{text}: {error}") from None

    def _given(self, arrays: dict[str, np.ndarray]) -> list[dict[int, np.ndarray]]:
        labels = arrays.pop("labels", None)
        if len(self.graph.inputs) == len(arrays) == 1:
            shape = self.graph.tensors[self.graph.inputs[0]].shape
            ((_, array),) = arrays.items()
            if array.ndim and array[:1].size == np.prod(shape):
                arrays = {f"tensor_{self.graph.inputs[0]}": array.reshape(len(array), *shape)}
        count = min((len(each) for each in arrays.values() if each.ndim), default=0)
        if not count:
            raise InputError("there are no inputs: give arrays whose first axis counts them")
        if labels is not None and (labels.shape != (count,) or labels.dtype.kind not in "iu"):
            found = f"{labels.dtype} of {labels.shape}"
            raise InputError(f"labels must be {count} integers, not {found}")
        self.labels = labels
        return frames_of(self.graph, arrays, count)

    @cached_property
    def golden(self) -> list[dict[int, np.ndarray]]:
        """The tensors of each inference, by index."""
        return run_graphs(self.graph, self.inputs, self.reference)

    def impact(self, mistaken: Mistaken) -> Impact:
        """Return what mistakes do to the outputs. Raises InputError if golden refuses what an
        operator is given then, as an index beyond its tensor."""
        made = [op for op in self.graph.operators if op.name in mistaken]
        pairs = list(zip(self.golden, self.run(mistaken), strict=True))
        outputs = self.graph.outputs
        codes = all(np.issubdtype(self.graph.tensors[i].dtype, np.integer) for i in outputs)
        distances = [max(_distance(a[i], b[i]) for i in outputs) for a, b in pairs]
        tops = np.array([[int(side[outputs[0]].argmax()) for side in pair] for pair in pairs])
        known = self.labels is not None
        return Impact(
            network=self.name,
            mistakes=tuple(dict.fromkeys(mistaken[op.name].name for op in made)),
            made=len(made),
            operators=len(self.graph.operators),
            inferences=len(pairs),
            changed=sum(each > 0 for each in distances),
            largest=max(distances),
            codes=codes,
            agree=int((tops[:, 0] == tops[:, 1]).sum()),
            right=int((tops[:, 1] == self.labels).sum()) if known else None,
            before=int((tops[:, 0] == self.labels).sum()) if known else None,
        )

    def run(self, mistaken: Mistaken) -> Iterator[dict[int, np.ndarray]]:
        """Yield the tensors of each inference with mistakes; state goes from one to the next."""
        state = self.graph.initial_state()
        for inputs, golden in zip(self.inputs, self.golden, strict=True):
            values = {**inputs, **state}
            changed = {i for i in state if not np.array_equal(state[i], golden[i])}
            for operator in self.graph.operators:
                if not all(index in golden for index in operator.outputs):
                    continue  # no output comes from it, and it has no number as its result
                if changed.isdisjoint(operator.inputs):
                    right = golden
                else:
                    right = run_graph(self.graph, values, self.reference, [operator])
                results = [right[index] for index in operator.outputs]
                if operator.name in mistaken:
                    run = OperatorRun(self.graph, operator, values, (*results,), self.reference)
                    results = mistaken[operator.name].results(run)
                for index, result in zip(operator.outputs, results, strict=True):
                    values[index] = result
                    if not np.array_equal(result, golden[index]):
                        changed.add(index)
            yield values
            state = self.graph.next_state(values)


def _distance(right: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference between elements; infinite between shapes, or to a NaN."""
    if right.shape != theirs.shape:
        return np.inf
    with np.errstate(invalid="ignore"):
        found = np.abs(theirs.astype(np.float64) - right.astype(np.float64))
    same = (right == theirs) | ((right != right) & (theirs != theirs))
    return float(np.nan_to_num(np.where(same, 0, found), nan=np.inf).max(initial=0))


def check_profile(profile: Profile) -> None:
    """Raise InputError unless golden runs networks as a profile says."""
    if profile.spec != "tflite" or profile.rounding == "single":
        raise InputError(
            f"--impact: profile {profile.name}: golden runs networks of TFLite with two roundings "
            "alone; leave --impact out, or take a profile of those"
        )


def mistakes_found(
    findings: Sequence[ClaimFinding], contract: Contract
) -> tuple[dict[str, OperatorMistake], list[str]]:
    """Return the first mistake with a name of each claim that deviates, as operators make it.

    And the claims that deviate and of which no such mistake is known. A mistake of an operator
    counts before the requantizer's, which comes with the rules of its contract.
    """
    made: dict[str, OperatorMistake] = {}
    unknown = []
    for finding in sorted(findings, key=lambda each: each.claim != "requantizer"):
        if finding.standing("full") == "deviates":
            found = _executable(finding, contract)
            made |= found
            unknown += [] if found else [finding.claim]
    return made, unknown


def _executable(finding: ClaimFinding, contract: Contract) -> dict[str, OperatorMistake]:
    if finding.claim == "requantizer" and finding.mistakes:
        known = {each.name: each for each in contract.subject.mistakes}
        made = [known[name] for name in finding.mistakes[0].split(" and ")]
        return in_operators([*contract.rules, *made])
    pairs = [(finding.claim, name) for name in finding.mistakes[:1]]
    if finding.claim == NETWORKS:
        pairs = [tuple(name.split(" ", 1)) for name in finding.mistakes]
    elif finding.layer != "operator":
        return {}
    return {
        operator: mistake
        for operator, name in reversed(pairs)
        for mistake in operator_mistakes(operator)
        if mistake.name == name
    }


def impact_facts(
    findings: Sequence[ClaimFinding], profile: Profile, networks: Sequence[Network]
) -> list[tuple[str, str]]:
    """Return what a profile's contract, if it states one, and the mistakes that were found do to
    networks: pairs of a title and a sentence."""
    contract = contract_of(profile)
    mistaken, unknown = mistakes_found(findings, contract)
    facts = [
        (f"Impact of the contract on {each.name}", each.impact(in_operators(contract.rules)).text)
        for each in networks
        if contract.rules
    ]
    if unknown and networks:
        why = "deviates by no mistake with a name that could be made in a network"
        facts.append(("Impact unknown", "; ".join(f"{claim} {why}" for claim in unknown)))
    for network in networks:
        text = network.impact(mistaken).text if mistaken else "none, no mistake to make was found"
        facts.append((f"Impact on {network.name}", text))
    return facts
