"""A conformance statement as JSON: every field, as docs/conform-json.md lists them."""

from typing import Annotated, Any, TypedDict


class FailedJson(TypedDict):
    """A case that is not exact."""

    name: Annotated[
        str,
        "of a unit the number of the case, of models their folder among the vectors",
    ]
    outcome: Annotated[str, "A field of `counts`"]
    message: Annotated[str, "what is wrong first, or what a runtime said"]


class CountsJson(TypedDict):
    """Numbers of cases, by how they ended."""

    exact: Annotated[int, "equal, bit for bit"]
    off_by_one: Annotated[int, "no result is further than 1 from the right one"]
    wrong: Annotated[int, "some result is"]
    shape: Annotated[int, "A result has another shape or type"]
    accepted: Annotated[int, "models that have to be refused, and were computed"]
    refused: Annotated[int, "models that have to be computed, and were refused"]
    crashed: Annotated[int, "what should have answered ended with an error"]
    timeout: Annotated[int, "it did not end in time"]
    missing: Annotated[int, "A result has not come"]
    unknown_bits: Annotated[int, "some bits are neither 0 nor 1"]


class FindingJson(TypedDict):
    """What was found of a claim that was asked."""

    headline: Annotated[str, "the finding in a sentence"]
    asked: Annotated[
        int,
        "how many cases were asked for; of models to refuse that have not been answered, of "
        "which an operator may have fewer, as many as were planned",
    ]
    cases: Annotated[int, "how many of them were answered, and judged"]
    counts: Annotated[CountsJson, "cases by outcome"]
    extra: Annotated[int, "results that came without being asked for"]
    mistakes: Annotated[
        list[str],
        "names of the mistakes that explain every known result, if some do: each does so "
        "alone, `a and b` are two at once; of `tables`, those of each operator that "
        "deviates",
    ]
    rules: Annotated[list[str], "which [rules](spec.md) it breaks; none of another spec"]
    diagnosis: Annotated[list[str], "what is wrong, in sentences"]
    smallest: Annotated[
        list[str],
        "the smallest failing case: the reference's arithmetic line by line, theirs beside it",
    ]
    failed: Annotated[list[FailedJson], "the cases that are not exact, the first 1,000 of them"]
    contract: Annotated[
        list[str],
        "how far the profile's contract is from the spec, and the smallest case that differs; "
        "empty where the spec is kept",
    ]
    power: Annotated[
        list[str],
        "sentences on the mistakes that these cases could not have told apart",
    ]
    known: Annotated[
        int,
        "how many mistakes with a name there are of it; 0 where that is not computed",
    ]
    unseen: Annotated[int, "how many of them these cases could not have told from the reference"]
    grade: Annotated[
        str | None,
        "`exact`; `within T` (no code is further than `tolerance` from the right one, and nothing "
        "else is wrong); or `deviates`; null where not all is answered and no answer is wrong",
    ]
    farthest: Annotated[
        int | None,
        "of models, the largest difference of a code; null if a result is missing, or another one "
        "than a code is wrong",
    ]
    tolerance: Annotated[int | None, "T of an operator, as docs/tolerances.md has it; null without"]


class ClaimJson(TypedDict):
    """A unit or operator of the spec, or networks."""

    claim: Annotated[str, "A unit, an operator by the schema's name, or `networks`"]
    layer: Annotated[str, "`unit`, `operator` or `network`"]
    standing: Annotated[
        str,
        "of a claim that was asked `deviates` (some answer is not right, whatever else is "
        "known), `incomplete` (not all of its cases were answered, or it has none), `no "
        "deviation found` (all are exact, at level `smoke`) or `conforms` (all are exact, "
        "at `standard` or `full`); of others `not asked` (the profile claims it) or `not "
        "claimed`",
    ]
    finding: Annotated[FindingJson | None, "what was found; null if it was not asked"]


class StatementJson(TypedDict):
    """What was found of an implementation."""

    schema_version: Annotated[int, "version of this format"]
    kit: Annotated[str, "version of the conformance kit, which drew the cases"]
    line: Annotated[str, "the conformance statement"]
    standing: Annotated[
        str,
        "the worst `standing` of all claims that were asked, the worst first: `deviates`, "
        "`incomplete`, `no deviation found`, `conforms`",
    ]
    holds: Annotated[
        bool,
        "whether all that was asked is answered and right; the exit status is 0 if so",
    ]
    conforms: Annotated[
        bool,
        "whether all that was asked conforms: it holds, and the level is `standard` or `full`",
    ]
    subject: Annotated[str, "what was judged: the name of a folder of results, or of an adapter"]
    profile: Annotated[dict[str, Any], "what is claimed: the fields of a profile"]
    level: Annotated[str, "`smoke`, `standard` or `full`"]
    seed: Annotated[int, "what the cases were drawn by"]
    facts: Annotated[
        dict[str, Any],
        "what else is known of how the statement was made: texts by name",
    ]
    claims: Annotated[list[ClaimJson], "every unit and operator of the spec, and networks"]
    beside: Annotated[list[str], "A sentence for each aspect that was asked, such as `strictness`"]
    aspects: Annotated[
        list[ClaimJson],
        "what was asked beside: `CONV_2D.beyond-spec`, `CONV_2D.strictness`; no part of "
        "`standing`, `holds` and `conforms`",
    ]
