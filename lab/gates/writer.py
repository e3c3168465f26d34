"""What the cells of a netlist become: declarations and statements of one flat Verilog module."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from eightfold.common.errors import InputError
from eightfold.synth.netlist import Cell, Wire

UNKNOWN, NOISE, SEED = "gates_unknown", "gates_noise", "gates_seed"
"""What a constant ``x`` stands for, 0 or 1; 64 bits that are others in every cycle; their seed."""

NOISE_BITS = 64


class Writer:
    """Takes up what cells become, and joins it to a module.

    Nets of one bit are called ``n`` and their number, those of input ports as their port.
    """

    def __init__(self, top: dict[str, Any]) -> None:
        self._top = top
        self._names: dict[Wire, str] = {"0": "1'b0", "1": "1'b1", "x": UNKNOWN}
        self._declared: list[str] = []
        self._assigned: list[str] = []
        self._clocked: defaultdict[str, list[str]] = defaultdict(list)
        self._initial: list[str] = []
        self._count = 0
        for name, port in top["ports"].items():
            if port["direction"] == "input":
                for index, bit in enumerate(port["bits"]):
                    self._names[bit] = f"{name}[{index}]" if len(port["bits"]) > 1 else name
        for cell in top["cells"].values():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    self._names |= {bit: f"n{bit}" for bit in bits if isinstance(bit, int)}

    def bit(self, wire: Wire) -> str:
        """Return a wire as an expression; one that nothing drives is unknown."""
        return self._names.get(wire, UNKNOWN)

    def word(self, wires: Sequence[Wire]) -> str:
        """Return wires as a word, the first one its least significant bit."""
        return f"{{{', '.join(self.bit(wire) for wire in reversed(wires))}}}"

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count}"

    def assign(self, wire: Wire, value: str) -> None:
        """Let a wire have a value; nothing happens where a cell's output is left open."""
        if isinstance(wire, int):
            self._declared.append(f"wire n{wire};")
            self._assigned.append(f"assign n{wire} = {value};")

    def assign_word(self, wires: Sequence[Wire], value: str) -> None:
        """Let wires have the bits of a named word, the first one its least significant bit."""
        for index, wire in enumerate(wires):
            self.assign(wire, f"{value}[{index}]")

    def wire(self, bits: int, prefix: str, value: str) -> str:
        """Return the name of a word that has a value."""
        name = self.name(prefix)
        self._declared.append(f"wire [{bits - 1}:0] {name};")
        self._assigned.append(f"assign {name} = {value};")
        return name

    def register(self, bits: int, prefix: str) -> str:
        """Return the name of a register that starts with 0."""
        name = self.name(prefix)
        self._declared.append(f"reg [{bits - 1}:0] {name} = 0;")
        return name

    def bit_register(self, wire: int, initial: int) -> str:
        """Return the name of a register that a wire comes from."""
        self._declared.append(f"reg n{wire} = 1'b{initial};")
        return f"n{wire}"

    def memory(self, bits: int, depth: int, contents: Sequence[int] | None) -> str:
        """Return the name of a memory; without contents it starts with noise."""
        name = self.name("memory")
        self._declared.append(f"reg [{bits - 1}:0] {name} [0:{depth - 1}];")
        if contents is None:
            copies = -(-bits // NOISE_BITS)
            self._initial += [
                f"for (gates_index = 0; gates_index < {depth}; "
                "gates_index = gates_index + 1) begin",
                f"  {NOISE} = gates_next({NOISE});",
                f"  {name}[gates_index] = {{{copies}{{{NOISE}}}}};",
                "end",
            ]
        else:
            self._initial += [
                f"{name}[{place}] = {bits}'h{word:x};" for place, word in enumerate(contents)
            ]
        return name

    def noise(self, bits: int) -> str:
        """Return bits that differ from cycle to cycle, and from what this returned before."""
        self._count += 1
        copies = 1 + -(-bits // NOISE_BITS)
        word = self.wire(copies * NOISE_BITS, "noise", f"{{{copies}{{{NOISE}}}}}")
        start = 11 * self._count % NOISE_BITS
        return f"{word}[{start + bits - 1}:{start}]"

    def at(self, edge: str, statements: Iterable[str]) -> None:
        """Let statements happen at a clock's edge, such as ``posedge clk``."""
        self._clocked[edge] += statements

    def verilog(self, name: str) -> str:
        ports = [self._port(port, of) for port, of in self._top["ports"].items()]
        outputs = [
            f"assign {port} = {self.word(of['bits'])};"
            for port, of in self._top["ports"].items()
            if of["direction"] == "output"
        ]
        lines = [f"module {name}(", *(f"  {port}," for port in ports[:-1]), f"  {ports[-1]}", ");"]
        lines += [*_CHANCE, *self._declared, "initial begin", *_START, *self._initial, "end"]
        noise = [f"{NOISE} <= gates_next({NOISE});"]  # at the first of the edges
        for edge, statements in self._clocked.items():
            lines += [f"always @({edge}) begin", *noise, *statements, "end"]
            noise = []
        return "\n".join([*lines, *self._assigned, *outputs, "endmodule", ""])

    def _port(self, name: str, port: dict[str, Any]) -> str:
        width = f"[{len(port['bits']) - 1}:0] " if len(port["bits"]) > 1 else ""
        return f"{port['direction']} wire {width}{name}"


_CHANCE = (
    f"reg {UNKNOWN};",
    f"reg [{NOISE_BITS - 1}:0] {NOISE};",
    f"integer {SEED}, gates_index;",
    # Marsaglia's xorshift with the shifts 13, 7, 17: every state but 0 follows from any other.
    f"function [{NOISE_BITS - 1}:0] gates_next(input [{NOISE_BITS - 1}:0] state);",
    "begin",
    "gates_next = state ^ (state << 13);",
    "gates_next = gates_next ^ (gates_next >> 7);",
    "gates_next = gates_next ^ (gates_next << 17);",
    "end",
    "endfunction",
)

_START = (
    f'if (!$value$plusargs("unknown=%d", {UNKNOWN})) {UNKNOWN} = 0;',
    f'if (!$value$plusargs("seed=%d", {SEED})) {SEED} = 0;',
    f"{NOISE} = {{32'h9e3779b9 ^ {SEED}, 32'h2545f491}};",
    *[f"{NOISE} = gates_next({NOISE});"] * 4,
)


def parameter(cell: Cell, name: str, default: str, *allowed: str) -> str:
    """Return a parameter's text, which must be one of those that are modelled."""
    value = cell["parameters"].get(name, default).strip()
    if value not in (default, *allowed):
        raise InputError(f"{cell['type']}: {name} = {value!r} has no model; use a netlist without")
    return value


def number(cell: Cell, name: str, default: int) -> int:
    value = cell["parameters"].get(name)
    return default if value is None else int(value, 2)


def pins(cell: Cell, prefix: str, count: int) -> list[Wire]:
    """Return what is at the pins ``prefix0`` and on; ``x`` where one is left open."""
    return [pin(cell, f"{prefix}{index}", "x") for index in range(count)]


def pin(cell: Cell, name: str, default: str = "1") -> Wire:
    """Return what is at a pin of one bit, or what it is if it is open: 1 in nextpnr's cells."""
    bits = cell["connections"].get(name) or [default]
    return bits[0]
