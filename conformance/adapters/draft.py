"""A first adapter and profile for a module that nobody has described yet, from its ports' names.

What is guessed stands in the files to be looked at; what is not has a comment that begins with
``edit:``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import classes_of, imported, somebodys_code
from eightfold.conformance.adapters.stream import StreamAdapter
from eightfold.conformance.units.registry import UNIT_KINDS

if TYPE_CHECKING:  # loads a simulator's toolchain
    from eightfold.sim.simulator.foreign import Port

COLUMNS: dict[str, str] = {
    "accumulator": "acc|accum|accumulator|sum|x|din|data|value|psum",
    "multiplier": "mult|multiplier|mul|m|m0|mantissa|scale|quantized",
    "shift": "shift|shr|rshift|shamt|sh|exponent|exp|right",
    "zero_point": "zp|zero|zeropoint|offset|oz|z",
    "low": "low|lo|min|least",
    "high": "high|hi|max|most",
    "inputs": "inputs|input|x|a|act|acts|activation|activations|data",
    "weights": "weights|weight|w|wt|b|filter|coef|kernel",
    "bias": "bias",
    "input_zero_point": "zx|xz|zp|zero|offset",
    "weight_zero_point": "zw|wz",
    "length": "length|len|n|count",
    "clear": "clear|clr|first|init",
    "last": "last|final|flush",
    "result": "result|res|q|y|out|dout|sum|acc|data",
}
"""Words of a port's name that stand for a column; columns without an entry are their own name."""

CLOCK = "clk|clock|aclk|clk_i|i_clk|pclk|hclk"
RESET = r"(?:i_)?(?:a|n|s|sys_?)?rst(?:n|_n|_ni|_i|b)?|(?:a|n|sys_)?reset(?:n|_n|_ni|_i|b)?|reset_l"
ACTIVE_LOW = r".*n|.*_ni|n.*|.*b|.*_l"
VALID, READY = "valid|vld|start|go|req|en|enable", "ready|rdy|ack"
DONE = "valid|vld|done|finish|finished"


@dataclass(frozen=True)
class Draft:
    """An adapter in Python, a profile in TOML, and how many places of them have to be looked at."""

    adapter: str
    profile: str
    questions: int


def draft(file: Path, top: str | None, unit: str, adapter: Path) -> Draft:
    """Return the draft for a module.

    ``file``: its source, ``.v``, ``.sv``, ``.vhd``, or ``.py`` with a component of Amaranth.
    ``top``: the module; the only one that no other in the file has within it, if it is None.
    ``unit``: what it claims to be, a name of `UNIT_KINDS`. ``adapter``: where the adapter will be:
    paths are relative to it.

    Raises InputError if the file cannot be read, or has several such modules.
    """
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    name = str(file.resolve())
    top = top or _only(file)
    made = StreamAdapter()
    made.unit, made.top = unit, top
    place = relpath(name, adapter.parent.resolve())
    if file.suffix == ".py":
        made.component = f"{name}:{top}"
        source = f'component = "{place}:{top}"'
    else:
        made.sources = [name]
        source = f'sources, top = ["{place}"], "{top}"'
    with somebodys_code(f"{file}: {top} cannot be elaborated", name):
        ports = dict(made._ports)
    return _Ports(ports, unit).draft(file.name, top, source, adapter.name)


def _only(file: Path) -> str:
    """Return the module that no other in the file has within it."""
    from eightfold.sim.simulator.foreign import Foreign, entities, is_vhdl, without_comments

    if file.suffix == ".py":
        from amaranth.lib.wiring import Component

        found = classes_of(imported(file), Component)
    else:
        foreign = Foreign((file,))
        text = without_comments(file.read_text("utf-8", "replace"))
        found = entities(foreign) if is_vhdl(file) else foreign.modules()
        once = [each for each in found if len(re.findall(rf"\b{each}\b\s*[#\w(]", text)) < 2]
        found = once or found
    if len(found) != 1:
        raise InputError(
            f"{file}: has {', '.join(found) or 'no module'}; name the one to judge with --top"
        )
    return found[0]


class _Ports:
    """The ports that are not yet understood, and what was understood of the others."""

    def __init__(self, ports: "dict[str, Port]", unit: str) -> None:
        self.ports, ports_of_all = ports, dict(ports)
        self.unit = unit
        self.clock = self._taken(CLOCK, is_input=True, whole=True)
        self.reset = self._taken(RESET, is_input=True, whole=True)
        self.in_valid = self._taken(VALID, is_input=True)
        self.in_ready = self._taken(READY, is_input=False)
        self.out_valid = self._taken(DONE, is_input=False)
        self.out_ready = self._taken(READY, is_input=True)
        kind = UNIT_KINDS[unit]
        self.fed = self._columns([each.name for each in kind.inputs], is_input=True)
        self.left = {name: each for name, each in self.ports.items() if each.is_input}
        if self.out_ready and not (self.in_valid and self.out_valid):
            self.left[self.out_ready] = ports_of_all[self.out_ready]
        self.shown = self._columns([each.name for each in kind.results], is_input=False)
        lost = [each.name for each in kind.results if each.name not in self.shown]
        outputs = [each for each in self.ports.values() if not each.is_input]
        if len(lost) == len(outputs) == 1:
            self.shown[lost[0]] = outputs[0]
        self.lost = [each for each in lost if each not in self.shown]

    def _taken(self, words: str, *, is_input: bool, whole: bool = False) -> str | None:
        """Return a port of one bit whose name has one of the words, and take it."""
        form = words if whole else rf"(?:.*_)?[a-z]?(?:{words})(?:_.*|[io])?"
        for name, port in self.ports.items():
            fits = re.fullmatch(form, name.lower())
            if fits and port.width == 1 and port.is_input == is_input:
                del self.ports[name]
                return name
        return None

    def _columns(self, names: Iterable[str], *, is_input: bool) -> "dict[str, Port]":
        """Return ports by the columns that their names stand for, and take them."""
        found = {}
        for column in names:
            words = f"{column}|{COLUMNS.get(column, column)}"
            form = rf"(?:.*_)?(?:{words})(?:_.*|\d*)"
            for name, port in self.ports.items():
                if port.is_input == is_input and re.fullmatch(form, name.lower()):
                    found[column] = self.ports.pop(name)
                    break
        return found

    def draft(self, file: str, top: str, source: str, adapter: str) -> Draft:
        name = re.sub(r"\W", "", top.title().replace("_", "")) or "Mine"
        lines = "\n    ".join([f'unit = "{self.unit}"', source, *self._lines()])
        text = (
            f'"""How {top} of {file} is asked: drafted from its ports; look at each line."""\n\n'
            "from eightfold.conformance.adapters import StreamAdapter\n\n\n"
            f"class {name}(StreamAdapter):\n    {lines}\n"
        )
        ask = f"# Ask: eightfold conform run --adapter {adapter}:{name} --profile THIS_FILE"
        head = [f'name = "{top}"', f'claims = ["{self.unit}"]', "", ask, "[limits]"]
        profile = "\n".join([*head, *self._limits(), ""])
        return Draft(text, profile, (text + profile).count("# edit:"))

    def _lines(self) -> Iterator[str]:
        yield f'clock = "{self.clock}"' if self.clock else "clock = None"
        if self.reset:
            low = re.fullmatch(ACTIVE_LOW, self.reset.lower()) is not None
            yield f'reset, reset_active = "{self.reset}", {0 if low else 1}'
        for what in ("in_valid", "in_ready", "out_valid", "out_ready"):
            port = getattr(self, what)
            # Answers by valid need cases by valid: else they come after a latency.
            if port and (what.startswith("in") or (self.in_valid and self.out_valid)):
                yield f'{what} = "{port}"'
        if not (self.in_valid and self.out_valid):
            edges = 1 if self.clock else 0
            asked = "  # edit: clock edges from a case to its answer" if self.clock else ""
            yield f"latency = {edges}{asked}"
        yield "inputs = {"
        for column, port in self.fed.items():
            formula, asked = self._formula(column, port)
            yield f'    "{port.name}": "{formula}",{asked}'
        for port in self.left.values():
            bits = f"{port.width} bits" if port.width else "no vector: put a module around it"
            yield f'    "{port.name}": 0,  # edit: {bits}, and not understood; a column or a number'
        for column in UNIT_KINDS[self.unit].inputs:
            if column.name not in self.fed:
                yield f"    # no port was found for {column.name}: {column.text}"
        yield "}"
        found = ", ".join(f'"{column}": "{port.name}"' for column, port in self.shown.items())
        yield f"outputs = {{{found}}}" + "".join(
            f"  # edit: which port has {each}?" for each in self.lost
        )

    def _formula(self, column: str, port: "Port") -> tuple[str, str]:
        if column != "shift":
            return column, ""
        if re.search(r"left|shl", port.name.lower()):
            return "max(shift, 0)", ""
        if (port.width or 8) <= 5:
            return "-shift", "  # to the right, where the spec's is positive to the left"
        return "-shift", "  # edit: the spec's shift is positive to the left; -shift to the right"

    def _limits(self) -> Iterator[str]:
        """Yield what widths of ports say, as far as the profile has it."""
        width: Mapping[str, int] = {name: port.width or 32 for name, port in self.fed.items()}
        if "accumulator" in width and width["accumulator"] < 32:
            yield f"accumulator_bits = {max(8, width['accumulator'])}"
        if "multiplier" in width and width["multiplier"] < 31:
            yield f"multiplier_bits = {width['multiplier'] + 1}  # edit: one less if it has a sign"
        if self.unit != "requantizer":
            return
        if "shift" in width and width["shift"] <= 6:
            yield f"shift = [{-min(31, (1 << width['shift']) - 1)}, 0]  # edit: all?"
        elif "shift" not in width:
            yield "shift = [0, 0]  # edit: no port was found for it"
        if "zero_point" not in width:
            yield "zero_points = [0]  # edit: no port was found for it"
        if not {"low", "high"} <= width.keys():
            yield "clamp = [[-128, 127]]  # edit: [zero point, 127] with a relu"
