"""The tables that say what the source tree says.

Presets, rows of the spec, proofs, reasons, rooms, the list of tests, and the fields of the JSON
reports, as classes declare them.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from types import ModuleType, NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from eightfold.campaign.report import as_json as campaign
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.markers import markdown
from eightfold.conformance import report as statement
from eightfold.conformance.citation import UNSHOWN, mistakes_of_rule
from eightfold.operators import OPERATORS, spec
from eightfold.run import assessment as verdict
from eightfold.run.report import result as run
from eightfold.target.config import PRESETS, AcceleratorConfig
from lab.coverage import POINTS
from lab.documents.part import number, table_part
from lab.formal.proof import Proof
from lab.formal.proofs import BY_NAME
from lab.hostile.trial import REASONS

SHOWN = 6
"""Mistakes of a rule that are listed by name."""

SCHEMAS = {"check": verdict, "run": run, "conform": statement, "campaign": campaign}
"""By the name of the page: modules whose last class with a meaning for each field is the report."""

WORDS = {int: "integer", float: "number", str: "string", bool: "boolean", NoneType: "null"}


def field_tables(schema: ModuleType) -> str:
    """Return a section for each class of a schema, the whole report first."""
    classes = [each for each in vars(schema).values() if _is_declared(each)]
    return "\n".join(map(_section, reversed(classes)))


def _is_declared(kind: Any) -> bool:
    """Return whether a class says of each of its fields what it means."""
    fields = vars(kind).get("__annotations__", {}) if isinstance(kind, type) else {}
    return bool(fields) and all(get_origin(hint) is Annotated for hint in fields.values())


def _section(declared: type) -> str:
    hints = get_type_hints(declared, include_extras=True)
    parts = {name: get_args(hint) for name, hint in hints.items()}
    rows = [(f"`{name}`", _type_in_words(kind), text) for name, (kind, text) in parts.items()]
    table = markdown(("field", "type", "what it is"), rows)
    return f"### {_title(declared)}\n\n{declared.__doc__}\n\n{table}"


def _title(declared: type) -> str:
    return declared.__name__.removesuffix("Json").removesuffix("Report")


def _type_in_words(kind: Any) -> str:
    """Return a type in words, a class as a link to its section."""
    if kind in WORDS:
        return WORDS[kind]
    if _is_declared(kind):
        return f"[{_title(kind)}](#{_title(kind).lower()})"
    if get_origin(kind) is Literal:
        return WORDS[str]
    parts = [_type_in_words(each) for each in get_args(kind) if each is not ...]
    if get_origin(kind) in (list, tuple):
        return f"list of {parts[0]}s" if parts[0].isalpha() else f"list of {parts[0]}"
    return "object" if get_origin(kind) is dict else " or ".join(parts)


def list_of_tests() -> str:
    """Return a section for each folder below ``tests/``, with a row for each file of tests."""
    files = sorted((IMPORT_ROOT / "tests").rglob("test_*.py"), key=lambda path: path.parts[:-1])
    sections = []
    for folder, paths in groupby(files, key=lambda path: path.parent):
        rows = [(f"`{path.name}`", first_paragraph(path)) for path in sorted(paths)]
        title = folder.relative_to(IMPORT_ROOT).as_posix()
        sections.append(f"## {title}\n\n{markdown(('file', 'what its tests show'), rows)}")
    return "\n".join(sections)


def first_paragraph(path: Path) -> str:
    """Return the first paragraph of a module's docstring in one line, as a cell of a table."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not docstring:
        raise ValueError(f"{path} has no docstring; it is the test plan's word on its tests")
    words = " ".join(docstring.partition("\n\n")[0].split())
    return words.replace("``", "`").replace("|", "\\|")


SIZES: tuple[tuple[str, Callable[[AcceleratorConfig], str]], ...] = (
    ("lanes (`lanes`)", lambda config: number(config.lanes)),
    ("products of a lane per cycle (`width`)", lambda config: number(config.width)),
    ("MACs per cycle", lambda config: number(config.macs_per_cycle)),
    ("products in (`multiplier`)", lambda config: STYLES[config.multiplier]),
    ("of those in DSP blocks all the same (`dsp_taps`)", lambda config: number(config.dsp_taps)),
    ("bytes of a beat (`port`)", lambda config: number(config.port)),
    ("scratchpad (`scratchpad`)", lambda config: size(config.scratchpad)),
    ("bytes of a scratchpad access", lambda config: number(config.vector)),
    ("weights fetched ahead (`weight_buffer`)", lambda config: size(config.weight_buffer)),
    ("partial sums of a lane (`psum_depth`)", lambda config: number(config.psum_depth)),
    ("parameter banks (`parameter_banks`)", lambda config: number(config.parameter_banks)),
    ("result vectors that wait (`output_depth`)", lambda config: number(config.output_depth)),
    (
        "depthwise window, rows x columns",
        lambda config: f"{config.window_rows} x {config.window_columns}",
    ),
    (
        "channels of which a depthwise vector has two pixels",
        lambda config: number(config.pixel) if config.pixel else "",
    ),
    ("vectors of a line (`line_depth`)", lambda config: number(config.line_depth)),
    ("vector lanes (`vector_lanes`)", lambda config: number(config.vector_lanes)),
    ("tables of 256 entries (`tables`)", lambda config: number(config.tables)),
    ("command words per queue (`command_queue`)", lambda config: number(config.command_queue)),
    (
        "requantizers of all lanes (`requantizers`)",
        lambda config: number(config.requantizers or max(config.lanes, config.vector_lanes)),
    ),
    ("GATHER (`gather`)", lambda config: _yes(config.gather)),
    ("row functions (`rows`)", lambda config: _yes(config.rows)),
    ("performance counters (`counters`)", lambda config: _yes(config.counters)),
    ("watchdog (`watchdog`)", lambda config: _yes(config.watchdog)),
    ("offsets of 32 bits (`wide_strides`)", lambda config: _yes(config.wide_strides)),
)
"""What a row is called, the configuration's field in brackets, and its cell."""

STYLES = {"infer": "DSP blocks", "rows": "carry chains"}
"""What makes the products of each multiplier style."""


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def preset_table() -> str:
    """Return a column per preset, a row per size."""
    rows = [(title, *map(cell, PRESETS.values())) for title, cell in SIZES]
    return markdown(("", *(f"`{name}`" for name in PRESETS)), rows, text=1)


def size(count: int) -> str:
    """Return bytes in KiB."""
    return f"{count / 1024:g} KiB"


def golden_link(name: str) -> str:
    """Return an operator's name as a Markdown link to the module of golden that computes it."""
    module = OPERATORS[name].golden_name.split(".")[1:-1]
    return f"[{name}](../{'/'.join(module)}.py)"


COVERED: dict[str, tuple[str, ...]] = {
    "Input 0": ("zero point of input 0", "codes"),
    "Input 1": ("zero point of input 1", "filter scales", "weights"),
    "Input 2": ("bias", "overflow"),
    "Output 0": ("zero point", "result codes", "saturation"),
    "restriction": ("quantization",),
}
"""Points of coverage that are about a place of a row; the others are about the results."""


def rule_list() -> str:
    """Return a section for each row of the spec, and a paragraph with a heading for each rule."""
    lines = []
    for operator, rules in groupby(spec.RULES.values(), key=lambda rule: rule.operator):
        lines.append(f"## {operator.capitalize() if operator == spec.GENERAL else operator}\n")
        for rule in rules:
            lines.append(f"### {rule.identity}\n\n{rule.text}\n")
            lines += [f"- {what}: {text}" for what, text in _known(rule) if text] + [""]
    return "\n".join(lines)


def _known(rule: spec.SpecRule) -> Iterator[tuple[str, str]]:
    """Yield what is known of a rule: a title, and words."""
    yield "In the spec", rule.source.removeprefix("spec, ")
    yield "`eightfold check`", code(rule.checks) or spec.ARITHMETIC
    yield "[Coverage](testplan.md#functional-coverage)", ", ".join(points_of(rule))
    mistakes = mistakes_of_rule(rule)
    more = f", and {len(mistakes) - SHOWN} more" * (len(mistakes) > SHOWN)
    yield "[Mistakes](mistakes.md)", UNSHOWN.get(rule.identity) or code(mistakes[:SHOWN]) + more


def points_of(rule: spec.SpecRule) -> list[str]:
    """Return the points of coverage that are about a rule of a row."""
    mine = COVERED.get(rule.place.removesuffix(f" {spec.RESTRICTION}"), ())
    others = {n for place in COVERED if spec.rule_at(rule.operator, place) for n in COVERED[place]}
    names = [point.name for point in POINTS.get(rule.operator, ())]
    return [n for n in names if (n not in others if rule.place == spec.RESULTS else n in mine)]


def code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def proof_table() -> str:
    """Return a row for each family of proofs: what holds, if what, by what, how it can fail."""
    families: dict[str, list[Proof]] = {}
    for proof in BY_NAME.values():
        families.setdefault(proof.family or proof.name, []).append(proof)
    rows = [
        (
            f"`{proofs[0].file}`",
            proofs[0].text,
            proofs[0].assumed or "nothing",
            "; ".join(dict.fromkeys(proof.method for proof in proofs)),
            str(len(proofs)),
            str(sum(len(proof.breaks) for proof in proofs)),
        )
        for proofs in families.values()
    ]
    head = ("file", "what holds", "what is assumed", "proved", "proofs", "faults refuted")
    return markdown(head, rows, text=4)


def reason_table() -> str:
    """Return a row per reason."""
    rows = [(reason.rule, reason.why) for reason in REASONS]
    return markdown(("LiteRT refuses", "it is accepted because"), rows, text=2)


def room_table() -> str:
    """Return a row per room: the first paragraph of what its `__init__` says."""
    divided = [sorted((IMPORT_ROOT / house).iterdir()) for house in ("eightfold", "lab")]
    rooms = [IMPORT_ROOT / name for name in ("golden", "hw", "sim", "conformance", "boards")]
    rooms += [path for house in divided for path in house if not path.is_symlink()]
    rows = [
        (f"`{room.relative_to(IMPORT_ROOT).as_posix()}/`", first_paragraph(room / "__init__.py"))
        for room in rooms
        if (room / "__init__.py").is_file()
    ]
    return markdown(("room", "what it holds"), rows)


TABLES = (
    table_part("tests", Path("docs/figures/tests.md"), list_of_tests),
    table_part("rooms", Path("CONTRIBUTING.md"), room_table),
    table_part("presets", Path("docs/architecture.md"), preset_table),
    table_part("rules", Path("docs/spec.md"), rule_list),
    table_part("proofs", Path("docs/proofs.md"), proof_table),
    table_part("reasons", Path("docs/testplan.md"), reason_table),
    *(
        table_part("fields", Path(f"docs/{name}-json.md"), partial(field_tables, schema))
        for name, schema in SCHEMAS.items()
    ),
)
