"""What LiteRT's reference kernels say to a file that was accepted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from eightfold.model import normalize_dimensions
from eightfold.operators import load_model
from eightfold.run.reference.oracle import Oracle, OracleAborted, OracleRejected, litert_tensors
from lab.hostile.subject import fitting_inputs

_ORACLES: list[Oracle] = []  # one for each process, kept between files
_SECONDS = 600.0  # of wall-clock time: what limits it is the processor time of the process


@dataclass(frozen=True)
class Opinion:
    """LiteRT's answer."""

    outcome: str
    """``equal``, ``different``, ``rejected`` (an error of its preparation), ``failed`` (one of its
    kernels, which may be about values) or ``aborted`` (its process ended)."""

    message: str = ""


def ask_litert(
    content: bytes, given: Mapping[int, np.ndarray], computed: Mapping[int, np.ndarray]
) -> Iterator[Opinion]:
    """Yield whether LiteRT runs a file and computes the same tensors.

    Parameters
    ----------
    content
        A file that loads.
    given
        As for `lab.hostile.subject.examine`.
    computed
        Golden's tensors by index; empty: only whether LiteRT runs it.
    """
    if not _ORACLES:
        _ORACLES.append(Oracle(timeout=_SECONDS))
    (oracle,) = _ORACLES
    graph = load_model(content)
    inputs = fitting_inputs(graph, given)
    model = normalize_dimensions(content) if graph.notes() else content
    try:
        oracle.run(model, inputs)
        expected = litert_tensors(oracle, model, graph, inputs, computed) if computed else {}
    except OracleRejected as error:
        at_run = "failed to invoke" in str(error)
        yield Opinion("failed" if at_run else "rejected", str(error))
        return
    except OracleAborted as error:
        yield Opinion("aborted", str(error))
        return
    for operator in graph.operators:
        for index in operator.outputs:
            if index in expected and (said := difference(computed[index], expected[index])):
                yield Opinion("different", f"{operator}, tensor {index}: {said}")
                return
    yield Opinion("equal")


def difference(got: np.ndarray, expected: np.ndarray) -> str:
    """Return how two tensors differ, empty if not; NaN equals NaN."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype}{list(got.shape)}, not {expected.dtype}{list(expected.shape)}"
    different = np.argwhere((got != expected) & ~((got != got) & (expected != expected)))
    if not different.size:
        return ""
    place = tuple(different[0].tolist())
    return f"{len(different)} of {got.size} differ, {got[place]}, not {expected[place]}"
