"""The rows as the Markdown table of ``docs/operators.md``."""

from pathlib import Path

from eightfold.execute.runners import RUNNERS
from eightfold.spec.operand import label
from eightfold.spec.row import INT8_RANGE, SAME, Granularity, Row, Source, TensorRule
from eightfold.spec.rows import ROWS, place_of
from lab.documents.part import table_part


def operator_table() -> str:
    """Return one Markdown row per row of the spec."""
    lines = [
        "| # | Operator | Inputs | Output | Restriction | Golden | Test |",
        "|--:|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        name = f"{row.name} ({row.remark})" if row.remark else row.name
        cells = (
            f"{place_of(row)}",
            name,
            _operands(row.inputs, row.variadic),
            _operands(row.outputs, False),
            _restrictions(row),
            golden_link(row.name) if row.name in RUNNERS else "not yet",
            f"`-k [{row.name}-`" if row.name in RUNNERS else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def golden_link(name: str) -> str:
    """Return the golden function of an operator as a Markdown link to its module."""
    function = RUNNERS[name].golden_name
    path = "/".join(function.split(".")[1:-1])
    return f"[`{function.removeprefix('eightfold.golden.')}`](../{path}.py)"


def _operands(rules: tuple[TensorRule, ...], variadic: bool) -> str:
    if variadic:
        return f"{_words(rules[0])} ..."
    return "; ".join(_words(rule) for rule in rules)


def _words(rule: TensorRule) -> str:
    words = [label("", rule).strip(" ()").lower(), " or ".join(rule.dtypes)]
    if rule.quantized and rule.dtypes == ("int8",) and rule.range and rule.range != INT8_RANGE:
        words.append(f"[{rule.range[0]}, {rule.range[1]}]")
    if rule.granularity is Granularity.PER_AXIS:
        words.append(rule.granularity + (f" (dim = {rule.axis})" if rule.axis is not None else ""))
    text = " ".join(filter(None, words))
    if rule.source is Source.KERNELS:
        text = f"*{text}*"
    return f"[{text}]" if rule.optional and rule.source is Source.KERNELS else text


def _restrictions(row: Row) -> str:
    found = [SAME] if row.same else []
    for side, rules in (("input", row.inputs), ("output", row.outputs)):
        for rule in rules:
            if rule.restriction is not None:
                place = str(rule.role).lower() or side
                found.append(f"{place}: `{rule.restriction}`")
    return "; ".join(found)


TABLE = table_part("operator table", Path("docs/operators.md"), operator_table)
