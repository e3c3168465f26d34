"""What somebody's implementation answers to cases, before anybody judges it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MISSING = int(np.iinfo(np.int64).min)
"""In place of a unit's result that has not come."""

UNKNOWN = MISSING + 1
"""In place of a unit's result with bits that are neither 0 nor 1 (X or Z of a simulator)."""


@dataclass(frozen=True, kw_only=True)
class UnitAnswers:
    """What a unit answers.

    Attributes
    ----------
    results
        By column of the unit's results: int64 of shape (cases,), or (cases, length) of a list. Each
        element is any integer, `MISSING` or `UNKNOWN`. A float32 is its 32 bits.
    extra
        Answers that came beyond the last case.
    note
        In one line, why answers are missing: "no answer within 10000 cycles", an exception's text.
    crashed
        Whether what should have answered has ended with an error, or never began.
    """

    results: Mapping[str, NDArray[np.int64]]
    extra: int = 0
    note: str = ""
    crashed: bool = False


Ending = Literal["computed", "refused", "crashed", "timeout", "missing"]
"""How the run of a model ended; ``refused``: it was said that the model cannot be computed."""


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What an implementation makes of one model and its inputs.

    Attributes
    ----------
    ending
        How the run ended.
    tensors
        What it computed, by tensor index: the model's outputs at least, others as it likes.
    message
        In one line, why there are no tensors.
    """

    ending: Ending
    tensors: Mapping[int, NDArray[np.generic]] = field(default_factory=dict)
    message: str = ""
