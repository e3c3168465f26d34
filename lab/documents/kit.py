"""The tables of the conformance kit: mistakes with a name, and what was found of runtimes.

All but `mistake_table` are slow: `naming_table` and `runtime_table` judge models of every operator
at level standard, which takes minutes; `liar_table` simulates each mistake of each form, half an
hour. Frozen sets of vectors that have no tag are in preparation, and drawn anew to state their
digests; a set with one has been released: it stays, and what is drawn otherwise gets another
version.
"""

import json
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from eightfold.common.markers import markdown
from eightfold.conformance.adapters.adapter import ModelRunner, load_adapter
from eightfold.conformance.judge.dot import OF_TILES as STEP_MISTAKES
from eightfold.conformance.judge.forms import FORMS
from eightfold.conformance.judge.models import tolerances
from eightfold.conformance.judge.models.finding import judge_models
from eightfold.conformance.judge.models.impact import Impact
from eightfold.conformance.judge.models.mistakes import names_told
from eightfold.conformance.judge.sequences import FAULTS
from eightfold.conformance.judge.variants import MISTAKES
from eightfold.conformance.liars import Named, every_liar
from eightfold.conformance.profile import OPERATORS, PROFILES
from eightfold.conformance.units.unit import Level
from eightfold.conformance.vectors.frozen import RECIPES, Recipe, recipes, write_set
from eightfold.conformance.vectors.models import model_cases
from eightfold.conformance.verdict import CaseOutcome, ClaimFinding
from lab.documents.part import Part, number, percent, table_part
from lab.measure import impact

FILE = Path("conformance/vectors") / RECIPES


def drawn(recipe: Recipe) -> Recipe:
    """Return a recipe with what is drawn by it now; one with a tag as it is."""
    if recipe.tag:
        return recipe
    with tempfile.TemporaryDirectory(prefix="eightfold-") as scratch:
        return write_set(Path(scratch) / "set", Recipe(**{**vars(recipe), "sha256": ""}))


def recipe_text(text: str) -> str:
    """Return the text of ``sets.json`` with what each recipe gives."""
    table = {name: Recipe(name=name, **facts) for name, facts in json.loads(text).items()}
    stated: Mapping[str, Mapping[str, object]] = {
        name: {k: v for k, v in vars(drawn(recipe)).items() if k != "name" and (v or k != "claims")}
        for name, recipe in table.items()
    }
    return json.dumps(stated, indent=1) + "\n"


def set_table() -> str:
    """Return a row per set: its cases, size, state and digest."""
    rows = [
        (
            f"`{each.name}`",
            number(each.cases),
            f"{each.size / 1e6:.1f} MB",
            f"release {each.tag}" if each.tag else "in preparation",
            f"`{each.sha256}`",
        )
        for each in recipes().values()
    ]
    return markdown(("set", "cases", "files", "written by", "SHA-256"), rows)


SIMULATORS = ("verilator", "icarus")

MISTAKES_PAGE = Path("docs/figures/mistakes.md")


def mistake_table() -> str:
    """Return a row per mistake: its name, its sentence, and the forms that it is made in."""
    rows = [
        (
            f"`{mistake.name}`",
            mistake.sentence,
            "all" if len(mistake.forms) == len(FORMS) else ", ".join(mistake.forms),
        )
        for mistake in MISTAKES.values()
    ]
    return markdown(("mistake", "what the unit does", "form"), rows, text=3)


def control_table() -> str:
    """Return a row per fault of control, and per mistake of a processing element's tiles."""
    rows = [
        (unit, f"`{mistake.name}`", mistake.sentence)
        for unit, mistakes in (("any", FAULTS.values()), ("sequence", STEP_MISTAKES))
        for mistake in mistakes
    ]
    return markdown(("unit", "fault", "what the unit does"), rows)


def naming_table(level: Level = "standard", operators: Sequence[str] = OPERATORS) -> str:
    """Return how many mistakes each operator knows, and how a runtime that makes one is called."""
    rows = []
    for operator in operators:
        named = names_told(operator, PROFILES["tflite"], level).values()
        rows.append((operator, *_counts(named)))
    titles = ("operator", "mistakes", "named alone", "with others", "not to be seen")
    return markdown(titles, rows, text=1)


def _counts(named: Collection[Sequence[str]]) -> tuple[str, str, str, str]:
    alone = sum(len(names) == 1 for names in named)
    unseen = sum(not names for names in named)
    return str(len(named)), str(alone), str(len(named) - alone - unseen), str(unseen)


def liar_table(simulators: Sequence[str] = SIMULATORS) -> str:
    """Return a row per mistake, and a right unit, and a column per form: how each was named."""
    verdicts: dict[tuple[str, str], list[Named]] = {}
    for form in FORMS:
        for simulator in simulators:
            for each in every_liar(form, simulator, "standard"):
                verdicts.setdefault((" and ".join(each.mistakes), form), []).append(each)
    rows = [
        (
            f"`{name}`" if name else "none",
            *(_cell(verdicts.get((name, form), [])) for form in FORMS),
        )
        for name in ("", *MISTAKES)
    ]
    return markdown(("mistake in RTL", *(f"`{form}`" for form in FORMS)), rows, text=1 + len(FORMS))


def _cell(named: Sequence[Named]) -> str:
    """Return how a liar was named, in each simulator where they differ."""
    texts = dict.fromkeys(_text(each) for each in named)
    if len(texts) < 2:
        return next(iter(texts), "")
    return "; ".join(f"{each.simulator}: {_text(each)}" for each in named)


def _text(named: Named) -> str:
    return "named" if named.mistakes and named.named == named.mistakes else named.said


@dataclass(frozen=True)
class Column:
    """A runtime, and the profile that it is held against."""

    title: str
    adapter: str
    profile: str


COLUMNS = (
    Column("LiteRT reference", "litert", "tflite"),
    Column("LiteRT optimized", "litert-optimized", "tflite"),
    Column("XNNPACK", "xnnpack", "tflite"),
    Column("TFLite Micro", "tflm", "tflm"),
    Column("TFLite Micro against LiteRT", "tflm", "tflite"),
)

PASSES = ("", ".beyond-spec")
"""What each operator is asked: models within the spec, and those that kernels take beyond it."""


def findings(
    column: Column, level: Level = "standard", operators: Sequence[str] = OPERATORS
) -> dict[str, tuple[ClaimFinding, ...]]:
    """Return what is found of a runtime by each of `PASSES`, by operator."""
    profile = PROFILES[column.profile]
    results = {}
    with cast(ModelRunner, load_adapter(column.adapter)) as runner:
        for operator in operators:
            found = []
            for aspect in PASSES:
                cases = list(model_cases(operator + aspect, profile, level))
                answers = runner.answer_all([(case.model, case.inputs) for case in cases])
                found.append(judge_models(operator, cases, answers, profile, power=False))
            results[operator] = tuple(found)
    return results


def both(found: Sequence[ClaimFinding], level: Level = "standard") -> str:
    """Return `entry` within the spec, and beyond it where something deviates there."""
    within, beyond = found
    text = entry(within, level)
    if beyond.right or not beyond.cases:
        return text
    return f"{text}; beyond the spec {entry(beyond, level)}"


def entry(finding: ClaimFinding, level: Level = "standard") -> str:
    """Return a finding in a few words: it conforms, or the counts, and the mistake's name."""
    if finding.right:
        return finding.standing(level)
    name = f"`{finding.mistakes[0]}`: " if finding.mistakes else ""
    return f"{name}{finding.outcomes(but=CaseOutcome.EXACT)} of {finding.cases}"


def runtime_table() -> str:
    """Return a row per operator and a column per runtime, as `both` says what was found."""
    columns = [findings(column) for column in COLUMNS]
    rows = [(operator, *(both(column[operator]) for column in columns)) for operator in OPERATORS]
    conforming = [sum(within.right for within, _ in column.values()) for column in columns]
    rows.append(("conform", *(f"{count} of {len(OPERATORS)}" for count in conforming)))
    titles = ("operator", *(column.title for column in COLUMNS))
    return markdown(titles, rows, text=len(titles))


RUNTIME_TITLES = {
    "litert-optimized": "LiteRT optimized",
    "xnnpack": "XNNPACK",
    "tflm": "TFLite Micro",
    "tosa": "TOSA",
    "openvino-float": "OpenVINO, float32",
    "openvino": "OpenVINO, int8",
}


def tolerance_table() -> str:
    """Return a row per operator: T, and how far each runtime was from the reference."""
    known = tolerances.measured()["rows"]
    rows = []
    for operator, row in known.items():
        tolerance = tolerances.tolerance_of(operator, known)
        cells = (_deviation(row[name]) for name in RUNTIME_TITLES)
        rows.append((operator, "-" if tolerance is None else str(tolerance), *cells))
    titles = ("row", "T", *RUNTIME_TITLES.values())
    return markdown(titles, rows, text=1)


def _deviation(found: Mapping[str, int]) -> str:
    """Return the largest deviation and the share of elements that deviate; of how many models."""
    models, computed, elements, deviating, largest = found.values()
    if not computed:
        return "refused"
    some = "" if computed == models else f" ({computed} of {models})"
    return f"{largest}, {percent(deviating, elements)}{some}" if deviating else f"0{some}"


def measured_with() -> str:
    """Return what tolerances were measured with, in a sentence."""
    known = tolerances.measured()
    versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
    return (
        f"The first {known['count']} models within the spec of seed {known['seed']}, or as many as "
        f"there are; kit {known['kit']}, {versions}; instruction sets {known['processor']}.\n"
    )


def impact_table() -> str:
    """Return a row per mistake and a column per network: what it changes."""
    found = impact.measured()
    networks = {each.network: each for each in found}
    by_mistake: dict[str, dict[str, Impact]] = {}
    for each in found:
        by_mistake.setdefault(" ".join(each.mistakes), {})[each.network] = each
    titles = ("mistake", *(f"{name}, {each.inferences}" for name, each in networks.items()))
    rows = [
        (f"`{name}`", *(_impact(row[network]) for network in networks))
        for name, row in by_mistake.items()
    ]
    right = (str(each.before or each.inferences) for each in networks.values())
    return markdown(titles, [("none", *(f"0; {count}" for count in right)), *rows], text=1)


def _impact(found: Impact) -> str:
    """Return outputs that change, by how much at most; accuracy, or top-1 as before."""
    far = f", {found.largest:.4g}" if found.changed else ""
    return f"{found.changed}{far}; {found.agree if found.right is None else found.right}"


TABLES = (
    table_part("tolerances", Path("docs/tolerances.md"), tolerance_table),
    table_part("measured", Path("docs/tolerances.md"), measured_with),
    table_part("impact", Path("docs/impact.md"), impact_table),
    table_part("mistakes", MISTAKES_PAGE, mistake_table),
    table_part("control", MISTAKES_PAGE, control_table),
    table_part("operators", MISTAKES_PAGE, naming_table, slow=True),
    table_part("liars", MISTAKES_PAGE, liar_table, slow=True),
    table_part("runtimes", Path("docs/figures/runtimes.md"), runtime_table, slow=True),
    Part("sets", FILE, recipe_text, slow=True),
    table_part("sets", Path("docs/vectors.md"), set_table),
)
