"""A conformance statement as JSON: every field, as docs/conform-json.md lists them."""

from typing import Any, TypedDict


class FailedJson(TypedDict):
    """A case that is not exact."""

    name: str
    """Of a unit the number of the case, of models their folder among the vectors."""

    outcome: str
    """A field of ``counts``."""

    message: str
    """What is wrong first, or what a runtime said."""


class CountsJson(TypedDict):
    """Numbers of cases, by how they ended."""

    exact: int
    """Equal, bit for bit."""

    off_by_one: int
    """No result is further than 1 from the right one."""

    wrong: int
    """Some result is."""

    shape: int
    """A result has another shape or type."""

    accepted: int
    """Models that have to be refused, and were computed."""

    refused: int
    """Models that have to be computed, and were refused."""

    crashed: int
    """What should have answered ended with an error."""

    timeout: int
    """It did not end in time."""

    missing: int
    """A result has not come."""

    unknown_bits: int
    """Some bits are neither 0 nor 1."""


class FindingJson(TypedDict):
    """What was found of a claim that was asked."""

    headline: str
    """The finding in a sentence."""

    asked: int
    """How many cases were asked for; of models to refuse that have not been answered, of which an
    operator may have fewer, as many as were planned.
    """

    cases: int
    """How many of them were answered, and judged."""

    counts: CountsJson
    """Cases by outcome."""

    extra: int
    """Results that came without being asked for."""

    mistakes: list[str]
    """Names of the mistakes that explain every known result, if some do: each does so alone, ``a
    and b`` are two at once; of ``tables``, those of each operator that deviates.
    """

    diagnosis: list[str]
    """What is wrong, in sentences."""

    smallest: list[str]
    """The smallest failing case: the reference's arithmetic line by line, theirs beside it."""

    failed: list[FailedJson]
    """The cases that are not exact, the first 1,000 of them."""

    power: list[str]
    """Sentences on the mistakes that these cases could not have told apart."""

    known: int
    """How many mistakes with a name there are of it; 0 where that is not computed."""

    unseen: int
    """How many of them these cases could not have told from the reference."""


class ClaimJson(TypedDict):
    """A unit or operator of the spec, or networks."""

    claim: str
    """A unit, an operator by the schema's name, or ``networks``."""

    layer: str
    """``unit``, ``operator`` or ``network``."""

    standing: str
    """Of a claim that was asked ``deviates`` (some answer is not right, whatever else is known),
    ``incomplete`` (not all of its cases were answered, or it has none), ``no deviation found`` (all
    are exact, at level ``smoke``) or ``conforms`` (all are exact, at ``standard`` or ``full``); of
    others ``not asked`` (the profile claims it) or ``not claimed``.
    """

    finding: FindingJson | None
    """What was found; null if it was not asked."""


class StatementJson(TypedDict):
    """What was found of an implementation."""

    schema_version: int
    """Version of this format."""

    kit: str
    """Version of the conformance kit, which drew the cases."""

    line: str
    """The conformance statement."""

    standing: str
    """The worst ``standing`` of all claims that were asked, the worst first: ``deviates``,
    ``incomplete``, ``no deviation found``, ``conforms``.
    """

    holds: bool
    """Whether all that was asked is answered and right; the exit status is 0 if so."""

    conforms: bool
    """Whether all that was asked conforms: it holds, and the level is ``standard`` or ``full``."""

    subject: str
    """What was judged: the name of a folder of results, or of an adapter."""

    profile: dict[str, Any]
    """What is claimed: the fields of a profile."""

    level: str
    """``smoke``, ``standard`` or ``full``."""

    seed: int
    """What the cases were drawn by."""

    facts: dict[str, Any]
    """What else is known of how the statement was made: texts by name."""

    claims: list[ClaimJson]
    """Every unit and operator of the spec, and networks."""
