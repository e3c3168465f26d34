"""One small fault at a time in Amaranth's source, at every place where there may be one."""

import ast
import difflib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise


@dataclass(frozen=True, order=True)
class Edit:
    """Bytes ``start`` to ``end`` of a text, and what takes their place."""

    start: int
    end: int
    text: str


class Source:
    """A text, whose places count its bytes in UTF-8, as the parser's columns do."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        lines = self._bytes.splitlines(keepends=True)
        self._starts = [0, *accumulate(map(len, lines))]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins, and where it has ended; brackets around it do not count."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, start: int, end: int) -> str:
        return self._bytes[start:end].decode()

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self.text(*self.span(node))

    def line(self, place: int) -> int:
        return self._bytes.count(b"\n", 0, place) + 1

    def edited(self, edit: Edit) -> str:
        changed = self._bytes[: edit.start] + edit.text.encode() + self._bytes[edit.end :]
        return changed.decode()


OPERATORS: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.BitXor: ("^", ("|", "&")),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
}
"""How an operator is written, and what takes its place."""

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
}

KINDS = (
    "statement",
    "operator",
    "comparison",
    "constant",
    "slice",
    "reset",
    "inversion",
    "condition",
    "mux",
    "elif",
)
"""What a mutant may be.

- ``statement``: one that is added to a domain is left out, or the call that connects interfaces.
- ``operator``, ``comparison``: another one in its place.
- ``constant``: one more or one less, also of a reset value or a slice; a truth value inverted. A
  flag, ``unsigned(1)``, does not get a second bit, which would be 0 always.
- ``slice``: a bound that is no constant moved by one.
- ``reset``: a signal without a reset value is reset to 1; not one that is not reset, whose first
  value means nothing.
- ``inversion``: ``~`` left out.
- ``condition``: of an ``If`` or ``Elif``, inverted, or always true.
- ``mux``: the values of a `Mux` exchanged, or always one of them.
- ``elif``: ``If`` in place of ``Elif``.
"""


@dataclass(frozen=True)
class Mutant:
    """A file's text with one change.

    ``path``: the file, such as ``hw/blocks/skid.py``. ``number``: of the mutant among all those of
    the file, in the order of their places. ``kind``: one of `KINDS`. ``line``: where the change
    begins, from 1 on. ``before``, ``after``: the whole text, without and with the change.
    """

    path: str
    number: int
    kind: str
    line: int
    before: str
    after: str

    @property
    def diff(self) -> str:
        texts = (self.before.splitlines(keepends=True), self.after.splitlines(keepends=True))
        return "".join(difflib.unified_diff(*texts, self.path, self.path))


def mutants(path: str, text: str) -> list[Mutant]:
    """Return every mutant of a file, in the order of their places.

    Each is Python that can be parsed; whether it elaborates, and to another netlist, is not known.
    ``path``: what the file is called in the mutants. Raises SyntaxError if it is not Python.
    """
    finder = _Finder(Source(text))
    finder.visit(ast.parse(text))
    found = []
    for kind, edit in sorted(finder.found, key=lambda each: (each[1], each[0])):
        line = finder.source.line(edit.start)
        found.append(Mutant(path, len(found), kind, line, text, finder.source.edited(edit)))
    return found


def draw(files: Mapping[str, str], count: int, seed: int) -> list[Mutant]:
    """Return ``count`` different mutants of some files, each as likely, or all if there are less.

    The same files and seed give the same mutants, and more of them begin with these.
    """
    found = [mutant for path in sorted(files) for mutant in mutants(path, files[path])]
    random.Random(seed).shuffle(found)
    return found[:count]


class _Finder(ast.NodeVisitor):
    """Collects the changes of a file: kind, and what is edited."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[tuple[str, Edit]] = []

    def _add(self, kind: str, node: ast.expr | ast.stmt, *texts: str) -> None:
        start, end = self.source.span(node)
        self.found += [(kind, Edit(start, end, text)) for text in texts]

    def _between(
        self, kind: str, left: ast.expr, right: ast.expr, old: str, new: Sequence[str]
    ) -> None:
        """Replace the operator between two expressions, of which one may be in brackets."""
        start = self.source.span(left)[1]
        gap = self.source.text(start, self.source.span(right)[0])
        place = start + len(gap[: gap.index(old)].encode())
        self.found += [(kind, Edit(place, place + len(old), text)) for text in new]

    # What is no hardware: types, what users are told, decorators and defaults of arguments.

    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
            super().visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if not all(isinstance(statement, ast.Raise) for statement in node.body):
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_FunctionDef(node)

    # What is.

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if _is_domain(node.target):
            if isinstance(node.value, ast.List):
                for element in node.value.elts:
                    self._add("statement", element, "*()")
            else:
                self._add("statement", node.value, "[]")
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and _name(node.value.func) in CONNECTIONS:
            self._add("statement", node, "pass")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if (kind := type(node.op)) in OPERATORS:
            self._between("operator", node.left, node.right, *OPERATORS[kind])
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        pairs = list(pairwise([node.left, *node.comparators]))
        for place, comparison in enumerate(node.ops):
            if (kind := type(comparison)) in COMPARISONS:
                self._between("comparison", *pairs[place], *COMPARISONS[kind])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self._add("constant", node, str(node.value + 1))
            if node.value > 0:
                self._add("constant", node, str(node.value - 1))

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                text = self.source.of(bound)
                self._add("slice", bound, f"({text}) + 1", f"({text}) - 1")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "reset_less":  # a reset in addition is no fault
            self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Invert):
            self._add("inversion", node, f"({self.source.of(node.operand)})")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name == "Mux" and len(node.args) == 3:
            condition, yes, no = map(self.source.of, node.args)
            self._add("mux", node, f"Mux({condition}, {no}, {yes})", f"({yes})", f"({no})")
        elif name == "Signal" and not {"init", "reset_less"} & {k.arg for k in node.keywords}:
            self._add("reset", node, _with_argument(self.source.of(node), "init=1"))
        elif name in ("If", "Elif") and _is_module(node.func) and len(node.args) == 1:
            condition = self.source.of(node.args[0])
            self._add("condition", node.args[0], f"({condition}) == 0", "1")
            if name == "Elif":
                self._add("elif", node.func, "m.If")
        elif name == "unsigned" and [ast.unparse(argument) for argument in node.args] == ["1"]:
            self._add("constant", node.args[0], "0")
            return
        self.generic_visit(node)


CONNECTIONS = ("connect", "connect_flat")
"""Functions whose call is a statement of the hardware."""


def _name(function: ast.expr) -> str:
    """Return what a called function is called last."""
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_domain(target: ast.expr) -> bool:
    """Return whether statements are added to a domain: ``m.d.sync`` or the like."""
    return (
        isinstance(target, ast.Attribute | ast.Subscript)
        and isinstance(target.value, ast.Attribute)
        and target.value.attr == "d"
    )


def _is_module(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and _name(function.value) == "m"


def _with_argument(call: str, argument: str) -> str:
    """Return a call's text with one more argument at its end."""
    inside = re.sub(r",?\s*\)$", "", call)
    return f"{inside}{'' if inside.endswith('(') else ', '}{argument})"
