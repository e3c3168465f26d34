"""A network that fails, made smaller: the fewest of its operators that fail in the same way."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import cast

import numpy as np

from eightfold.campaign.records import GOOD, Case, Evidence
from eightfold.campaign.shrink import Budget, shrink
from eightfold.campaign.suites.suite import Tensors
from eightfold.execute import run_graph
from eightfold.golden.quantization import Reference
from eightfold.model import load_model
from eightfold.model.part import part_of
from lab.hostile.subject import fitting_inputs

Judge = Callable[[bytes, Tensors], Case]
"""Gives the case of a model and its inputs."""

WHOLE = "whole.tflite"
"""The file of the network as it was drawn, among those of a case that was shrunk."""


def smaller_network(
    case: Case,
    model: bytes,
    inputs: Mapping[int, np.ndarray],
    judge: Judge,
    budget: Budget,
    reference: str = "litert",
) -> Case:
    """Return a case whose evidence is of the fewest operators that fail as all of them do.

    Parameters
    ----------
    case
        How the whole network ended; its verdict and message stay. One that is good stays whole.
    model, inputs
        The network. A tensor that the operators left out have made becomes an input, with
        golden's values, those of ``reference``.
    judge
        Runs a part. It fails in the same way if its verdict is the same, and its message begins
        with the same words, numbers apart.
    budget
        What shrinking may take.
    """
    if case.verdict in GOOD:
        return case
    ways: dict[tuple[int, ...], Case] = {}

    def fails(operators: list[int]) -> bool:
        part = part_of(model, operators)
        with suppress(Exception):  # what does not load makes no sense without the others
            found = judge(part, fitting_inputs(load_model(part), values))
            ways[tuple(operators)] = found
            return (found.verdict, _way(found)) == (case.verdict, _way(case))
        return False

    try:
        graph = load_model(model)
    except Exception:  # which is what failed
        return case
    values = dict(inputs)
    with suppress(Exception):
        values |= run_graph(graph, values, cast(Reference, reference))
    left = shrink(range(len(graph.operators)), fails, budget)
    evidence = case.evidence or Evidence()
    if len(left) == len(graph.operators):
        return case
    found = ways[tuple(left)]
    names = ", ".join(str(graph.operators[number]) for number in left)
    log = (
        f"shrunk to {len(left)} of {len(graph.operators)} operators, which fail in the same way; "
        f"{WHOLE} has all: {names or 'none'}"
    )
    smaller = found.evidence or evidence
    log = "\n".join([log, "", found.message, "", smaller.log])
    return replace(case, evidence=replace(smaller, log=log, files={WHOLE: model}))


_WORDS = 60  # characters of a message that say what failed: names of tensors may follow


def _way(case: Case) -> str:
    return re.sub(r"\d+", "0", case.message)[:_WORDS].partition(",")[0]
