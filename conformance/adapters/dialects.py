"""One description of a harness, in three languages: Verilog-2005, SystemVerilog and VHDL-2008.

What a harness says of its ports and wires it says through a `Dialect`; the rest is a template of
each language, ``NAME.v.in`` and ``NAME.vhd.in``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, ClassVar

from eightfold.conformance.adapters.bits import PortBits
from eightfold.conformance.tensors import Element

if TYPE_CHECKING:  # loads a simulator's toolchain
    from eightfold.sim.simulator.foreign import Port

    Ports = Mapping[str, Port]

Parameters = Mapping[str, str | int]
"""Values of a module's parameters, by name."""

Ends = Mapping[str, str]
"""The wires at a module's ports, by the ports' names."""


class Dialect:
    """How a language says wires, and what is on them; as it stands, Verilog-2005.

    Wires are vectors down to bit 0. ``head`` is before the first module of a file, ``words`` are
    for templates of several languages; an answer ``came`` by valid and ready, or is ``due`` by its
    latency.
    """

    name = "verilog"
    suffix, template_suffix = ".v", ".v.in"
    words: ClassVar[Mapping[str, str]] = {"reg": "reg", "integer": "integer"}
    inverse, high, head = "~", "1'b1", "`timescale 1ns / 1ps\n"
    came, due = "out_ready && out_valid_now === 1'b1", "under_way[LATENCY]"

    def template(self, name: str, **values: object) -> str:
        """Return a template of this room with its ``$names`` replaced."""
        folder = files("eightfold.conformance.adapters")
        text = folder.joinpath(name + self.template_suffix).read_text(encoding="utf-8")
        return Template(text).substitute({**self.words, **values})

    def wire(self, name: str, width: int) -> str:
        """Return the declaration of a wire."""
        return f"  wire [{width - 1}:0] {name};"

    def bit(self, name: str) -> str:
        """Return the declaration of a wire that is no vector."""
        return f"  wire {name};"

    def assign(self, name: str, value: str) -> str:
        """Return the statement that a wire has a value all the time."""
        return f"  assign {name} = {value};"

    def constant(self, bits: int, value: int) -> str:
        """Return a number of so many bits."""
        return f"{bits}'h{value:x}"

    def part(self, name: str, high: int, low: int) -> str:
        """Return some bits of a wire."""
        return f"{name}[{high}:{low}]"

    def joined(self, parts: Sequence[str]) -> str:
        """Return vectors as one, the highest first."""
        return f"{{{', '.join(parts)}}}"

    def line(self, text: str, counts: Mapping[str, str]) -> str:
        """Return the statement that writes a line of results."""
        form = "".join(f" {name} %0d" for name in counts)
        values = "".join(f", {name}" for name in counts)
        return f'      $fdisplay(results, "{text}{form}"{values});'

    def instance(
        self, top: str, parameters: Parameters, ports: "Ports", ends: Ends
    ) -> tuple[list[str], str]:
        """Return the elements of ports that are arrays, and the instance."""
        from eightfold.sim.simulator.foreign import literal

        declared, connections = list[str](), dict(ends)
        for name, end in ends.items():
            if (elements := ports[name].elements) is not None:
                declared += self._elements(name, end, ports[name], elements)
                connections[name] = f"array_{name}"
        values = [f".{name}({literal(value)})" for name, value in parameters.items()]
        head = f" #({', '.join(values)})" if values else ""
        lines = ",\n".join(f"    .{port}({end})" for port, end in connections.items())
        return declared, f"  {top}{head} dut (\n{lines}\n  );"

    def _elements(
        self, name: str, end: str, port: "Port", elements: tuple[int, int]
    ) -> Iterator[str]:
        low, high = sorted(elements)
        each = (port.width or 0) // (high - low + 1)
        sign = "signed " if port.signed else ""
        yield f"  wire {sign}[{each - 1}:0] array_{name} [{elements[0]}:{elements[1]}];"
        for index in range(high - low + 1):
            ours = self.part(end, (index + 1) * each - 1, index * each)
            theirs = f"array_{name}[{low + index}]"
            yield self.assign(*((theirs, ours) if port.is_input else (ours, theirs)))


class SystemVerilog(Dialect):
    """SystemVerilog-2012."""

    name = "systemverilog"
    suffix = ".sv"
    words: ClassVar[Mapping[str, str]] = {"reg": "logic", "integer": "int"}


class Vhdl(Dialect):
    """VHDL-2008."""

    name = "vhdl"
    suffix, template_suffix = ".vhd", ".vhd.in"
    inverse, high, head = "not ", "'1'", ""
    came, due = "out_ready and to_x01(out_valid_now)", "under_way(LATENCY)"

    def wire(self, name: str, width: int) -> str:
        return f"  signal {_extended(name)} : std_logic_vector({width - 1} downto 0);"

    def bit(self, name: str) -> str:
        return f"  signal {name} : std_logic;"

    def assign(self, name: str, value: str) -> str:
        return f"  {_extended(name)} <= {value};"

    def constant(self, bits: int, value: int) -> str:
        return f'std_logic_vector\'("{value:0{bits}b}")'

    def part(self, name: str, high: int, low: int) -> str:
        return f"{_extended(name)}({high} downto {low})"

    def joined(self, parts: Sequence[str]) -> str:
        return " & ".join(parts)

    def line(self, text: str, counts: Mapping[str, str]) -> str:
        parts = (f' & " {name} " & to_string({own})' for name, own in counts.items())
        written = f'write(text_out, string\'("{text}"){"".join(parts)});'
        return f"        {written}\n        writeline(results, text_out);"

    def instance(
        self, top: str, parameters: Parameters, ports: "Ports", ends: Ends
    ) -> tuple[list[str], str]:
        is_vhdl = all(port.kind for port in ports.values())
        values = [f"{name} => {_value(value)}" for name, value in parameters.items()]
        generics = f"\n    generic map ({', '.join(values)})" if values else ""
        links = ",\n".join(f"      {self._link(ports[name], ends[name])}" for name in ends)
        head = f"entity work.{top}" if is_vhdl else _extended(top, always=True)
        instance = f"  dut : {head}{generics}\n    port map (\n{links}\n    );"
        return [] if is_vhdl else list(_component(top, parameters, ports, ends)), instance

    @staticmethod
    def _link(port: "Port", end: str) -> str:
        name = _extended(port.name, always=not port.kind)
        wire = _extended(end)
        if not end.startswith(("to_", "from_")):
            return f"{name} => {wire}"
        kind = port.kind.split(" ")[0] or ("std_logic" if port.width == 1 else "std_logic_vector")
        if kind in ("std_logic", "std_ulogic"):
            return f"{name} => {wire}(0)"
        if kind == "std_logic_vector":
            return f"{name} => {wire}"
        return (
            f"{name} => {kind}({wire})" if port.is_input else f"std_logic_vector({name}) => {wire}"
        )


def _component(top: str, parameters: Parameters, ports: "Ports", ends: Ends) -> Iterator[str]:
    """Yield the declaration of a module in Verilog as VHDL's simulators take it."""
    yield f"  component {_extended(top, always=True)}"
    if parameters:
        kinds = {str: "string", int: "integer"}
        found = (f"{name} : {kinds[type(value)]}" for name, value in parameters.items())
        yield f"    generic ({'; '.join(found)});"
    lines = []
    for name in ends:
        way = "in" if ports[name].is_input else "out"
        width = ports[name].width or 0
        kind = "std_logic" if width == 1 else f"std_logic_vector({width} - 1 downto 0)"
        lines.append(f"      {_extended(name, always=True)} : {way} {kind}")
    yield "    port (\n" + ";\n".join(lines) + "\n    );"
    yield "  end component;"


def _value(value: str | int) -> str:
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(int(value))


def _extended(name: str, *, always: bool = False) -> str:
    """Return a name as VHDL has it: between backslashes where it would be none."""
    plain = name.isascii() and name[0].isalpha() and "__" not in name and name[-1] != "_"
    return name if plain and not always and "$" not in name else f"\\{name}\\"


VERILOG, SYSTEMVERILOG, VHDL = DIALECTS = (Dialect(), SystemVerilog(), Vhdl())


def driven(
    ports: Mapping[str, int],
    sources: Iterable[tuple[PortBits, int, int, str]],
    dialect: Dialect = VERILOG,
) -> tuple[list[str], list[str]]:
    """Return the wires ``to_PORT`` that feed ports, and what is assigned to them.

    ``sources`` has places, the lowest bit and the number of bits in the port, and what drives
    them; other bits of a port are 0.
    """
    listed = sorted(sources, key=lambda source: source[1])
    assigned = []
    for port, width in ports.items():
        parts = list[str]()
        end = 0
        for _, low, bits, source in (each for each in listed if each[0].port == port):
            parts += [dialect.constant(low - end, 0)] if low > end else []
            parts.append(source)
            end = low + bits
        parts += [dialect.constant(width - end, 0)] if end < width else []
        assigned.append(dialect.assign(f"to_{port}", dialect.joined(parts[::-1])))
    return [dialect.wire(f"to_{port}", width) for port, width in ports.items()], assigned


def shown(
    elements: Sequence[tuple[Element, PortBits]],
    dialect: Dialect = VERILOG,
    bits: Mapping[str, int] | None = None,
) -> str:
    """Return the expression of the word of results, the first element in its lowest bits.

    Each element is filled up to whole digits, with zeros; or to its column's ``bits``, with its
    sign if it has one.
    """
    parts = []
    for element, place in reversed(elements):
        wire, high, low = f"from_{place.port}", place.high or 0, place.low or 0
        fill = (4 * element.digits if bits is None else bits[element.column]) - element.width
        if fill and bits is not None and element.signed:
            parts += [dialect.part(wire, high, high)] * fill
        elif fill:
            parts.append(dialect.constant(fill, 0))
        parts.append(dialect.part(wire, high, low))
    return dialect.joined(parts)
