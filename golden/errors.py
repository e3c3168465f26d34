"""What golden raises where the reference kernels give no number to agree with."""

from collections.abc import Sequence

_SHOWN = 20  # numbers of an operand, in a message


def shortened(numbers: Sequence[object]) -> str:
    """Return a list as messages show it: its first 20 numbers, and how many more there are."""
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    more = f", ... {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    return f"[{shown}{more}]"


class SpecError(Exception):
    """The reference kernels define no result; the message is the rule that is broken."""


class RejectedError(SpecError):
    """The reference refuses the operator: its preparation returns an error."""


class AbortedError(SpecError):
    """A check in the reference kernel ends the process."""


class UndefinedError(SpecError):
    """The reference computes something, but C++ leaves it undefined; no number is the result."""
