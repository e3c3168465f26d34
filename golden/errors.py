"""What golden raises where the reference kernels give no number to agree with."""


class SpecError(Exception):
    """The reference kernels define no result; the message is the rule that is broken."""


class RejectedError(SpecError):
    """The reference refuses the operator: its preparation returns an error."""


class AbortedError(SpecError):
    """A check in the reference kernel ends the process."""


class UndefinedError(SpecError):
    """The reference computes something, but C++ leaves it undefined; no number is the result."""
