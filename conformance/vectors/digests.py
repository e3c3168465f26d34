"""Digests of cases: what is asked and what is expected, whatever files or archives it is in."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from eightfold.conformance.vectors.operators import OperatorCase


def digest_of_cases(cases: Iterable[OperatorCase]) -> str:
    """Return the SHA-256 of models: their bytes, inputs, expected tensors, why they are refused."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(hashlib.sha256(case.model).digest())
        parts = [_named(case.inputs), _named(case.tensors)]
        facts = [case.operator, case.refusal, digest_of_arrays(parts)]
        digest.update(json.dumps(facts).encode())
    return digest.hexdigest()


def digest_of_arrays(tables: Iterable[Mapping[str, NDArray[Any]]]) -> str:
    """Return the SHA-256 of arrays with their names, types and shapes."""
    digest = hashlib.sha256()
    for table in tables:
        for name, array in sorted(table.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(array.tobytes())
        digest.update(b"\n")
    return digest.hexdigest()


def _named(tensors: Mapping[int, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {str(index): tensor for index, tensor in tensors.items()}
