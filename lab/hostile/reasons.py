"""What is accepted on purpose though LiteRT refuses it."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """A rule of LiteRT's that is not followed."""

    says: str
    """What LiteRT's message has in it, a regular expression."""

    rule: str
    """What LiteRT refuses."""

    why: str
    """Why the file is accepted here."""


REASONS = (
    Reason(
        "not a valid Flatbuffer buffer",
        "a file that the flatbuffer verifier refuses: a misaligned offset, text without its end",
        "nothing outside of the file is read, and what it says has one meaning",
    ),
    Reason(
        "Didn't find op for builtin opcode '.*' version",
        "a version of an operator that this LiteRT does not register",
        "versions say which runtimes know a model's types and options; what those are is checked "
        "itself; in other subgraphs nothing is run",
    ),
    Reason(
        "Did not get tensors in subgraph 0",
        "a graph without any tensor",
        "it computes nothing, and says so: no inputs, operators or outputs",
    ),
)
"""All of them; docs/testplan.md lists them."""


def reason_for(message: str) -> Reason | None:
    """Return why a file is accepted that LiteRT refuses with ``message``; None: it should not."""
    return next((reason for reason in REASONS if re.search(reason.says, message)), None)
