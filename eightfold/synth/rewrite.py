"""What is done to a netlist between Yosys and nextpnr: the rules, and a register at each port.

Registers beside multiplier blocks and block RAMs of an ECP5 netlist move into them. The blocks have
registers of their own. Vendor tools use them for what portable Verilog writes as plain registers;
Yosys leaves those in the fabric. A multiplier then costs up to 72 flip-flops, and its whole delay
stands between two of them. A register moves only if that changes no value in any cycle: it starts
at 0 and has the one clock, and it has no reset, or one that a LUT in front of it can replace.

Out of context a path from or to a port has no other end, and nextpnr leaves it out of its report: a
ready signal that crosses a unit in logic would cost nothing. With a register at each port, every
path of the unit runs from register to register.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from eightfold.synth.carry import drop_unread_carries, fold_luts, free_carry_chains, split_negations
from eightfold.synth.netlist import Cell, Wire, clock_of, free_net, readers, top_module

_MAX_RESETS = 4
"""Bits of one operand whose reset becomes a LUT; more would cost more than they save."""

_AND_NOT = format(0x2222, "016b")
"""LUT4 contents for ``A & ~B``."""


def absorb_registers(netlist: dict[str, Any], clock: str) -> dict[str, int]:
    """Move registers into the blocks next to them, in place.

    Each operand of a MULT18X18D whose bits all come from registers with one enable takes these
    in; a register that also feeds others stays for them. The product, and what a block RAM
    reads, take in the register behind them, if nothing else uses the value before it. A second
    register behind a block stays in the fabric, where it shortens the way to the next adder. Return
    how many blocks took in their ``inputs`` and ``outputs``.
    """
    return _Absorber(top_module(netlist), clock).run()


class _Absorber:
    def __init__(self, top: dict[str, Any], clock: str) -> None:
        self.cells: dict[str, Cell] = top["cells"]
        self.clock = clock_of(top, clock)
        self.free = free_net(top)
        self.loads = readers(top)
        self.driver: dict[Wire, str] = {
            bit: name
            for name, cell in self.cells.items()
            for port, bits in cell["connections"].items()
            if cell["port_directions"][port] == "output"
            for bit in bits
        }

    def run(self) -> dict[str, int]:
        taken = {"inputs": 0, "outputs": 0}
        blocks = [(n, c) for n, c in self.cells.items() if c["type"] in ("MULT18X18D", "DP16KD")]
        for name, cell in blocks:
            if cell["type"] == "MULT18X18D":
                taken["inputs"] += sum(self._absorb_operand(name, cell, side) for side in "AB")
                if self._absorb_outputs(name, [f"P{index}" for index in range(36)]):
                    self._set_register(cell, "OUTPUT", "1")
                    taken["outputs"] += 1
            else:
                taken["outputs"] += sum(self._absorb_read(name, sides) for sides in _sides(cell))
        self._sweep()
        return taken

    def _connect(self, name: str, port: str) -> None:
        for bit in self.cells[name]["connections"][port]:
            if self.cells[name]["port_directions"][port] == "output":
                self.driver[bit] = name
            else:
                self.loads[bit].append((name, port))

    def _register(self, bit: Wire) -> Cell | None:
        """Return the flip-flop that drives a bit, if it can move at all."""
        cell = self.cells.get(self.driver.get(bit, "")) if isinstance(bit, int) else None
        if cell is None or cell["type"] != "TRELLIS_FF":
            return None
        parameters, wires = cell["parameters"], cell["connections"]
        enabled = parameters["CEMUX"] == "CE"
        reset = wires["LSR"] != ["0"]
        movable = (
            wires["CLK"] == [self.clock]
            and parameters["CLKMUX"] == "CLK"
            and parameters["REGSET"] == "RESET"
            and parameters["CEMUX"] in ("1 ", "CE")
            and (not reset or parameters["LSRMUX"] == "LSR")
            # A reset that overrides an enable is more than a LUT at the data input.
            and (not reset or (parameters["SRMODE"] == "LSR_OVER_CE" and not enabled))
        )
        return cell if movable else None

    def _absorb_operand(self, name: str, cell: Cell, side: str) -> bool:
        ports = [f"{side}{index}" for index in range(18)]
        bits = {port: cell["connections"][port][0] for port in ports}
        registers = {bit: self._register(bit) for bit in bits.values() if isinstance(bit, int)}
        found = [register for register in registers.values() if register is not None]
        if len(found) < len(registers) or not found or "1" in bits.values():
            return False
        enables = {_enable(register) for register in found}
        resets = sum(register["connections"]["LSR"] != ["0"] for register in found)
        if len(enables) > 1 or resets > _MAX_RESETS:
            return False
        ahead = {bit: self._next_value(bit, register) for bit, register in registers.items()}
        for port, bit in bits.items():
            if isinstance(bit, int):
                self.loads[bit].remove((name, port))
                cell["connections"][port] = [ahead[bit]]
                self._connect(name, port)
        self._set_register(cell, f"INPUT{side}", enables.pop())
        return True

    def _next_value(self, bit: int, register: Cell | None) -> Wire:
        """Return the net with what a flip-flop takes over next, its reset included."""
        assert register is not None
        wires = register["connections"]
        if wires["LSR"] == ["0"]:
            return wires["DI"][0]
        name = f"absorbed_reset_{bit}"
        if name not in self.cells:  # another block may have taken the same register in
            inputs = {"A": wires["DI"][0], "B": wires["LSR"][0], "C": "0", "D": "0"}
            self.cells[name] = _cell("LUT4", inputs, {"Z": self.free}, {"INIT": _AND_NOT})
            self.free += 1
            for port in self.cells[name]["connections"]:
                self._connect(name, port)
        return self.cells[name]["connections"]["Z"][0]

    def _absorb_read(self, name: str, sides: str) -> bool:
        cell = self.cells[name]
        if any(cell["connections"][f"RST{side}"] != ["0"] for side in sides):
            return False
        ports = [f"DO{side}{index}" for side in sides for index in range(18)]
        taken = self._absorb_outputs(name, ports)
        for side in sides if taken else "":
            cell["parameters"][f"REGMODE_{side}"] = "OUTREG"
            self._tie(cell, f"OCE{side}", "1")
        return taken

    def _absorb_outputs(self, name: str, ports: list[str]) -> bool:
        """Let a block's outputs take over from the flip-flops behind them, all or none."""
        wires = self.cells[name]["connections"]
        behind: dict[str, str] = {}
        for port in ports:
            loads = self.loads[wires[port][0]] if port in wires else []
            for load, pin in loads:
                register = self.cells.get(load)
                if len(loads) > 1 or pin != "DI" or register is None:
                    return False
                if self._register(register["connections"]["Q"][0]) is not register:
                    return False
                if register["connections"]["LSR"] != ["0"] or _enable(register) != "1":
                    return False
                behind[port] = load
        for port, load in behind.items():
            wires[port] = self.cells.pop(load)["connections"]["Q"]
            self._connect(name, port)
        return bool(behind)

    def _set_register(self, cell: Cell, which: str, enable: Wire) -> None:
        """Switch on a register of a MULT18X18D: its clock, enable and reset inputs."""
        self._tie(cell, "CLK0", self.clock)
        self._tie(cell, "RST0", "0")
        slot = 0
        while cell["connections"].get(f"CE{slot}", [enable]) != [enable]:
            slot += 1  # at most three registers, and four enable inputs
        self._tie(cell, f"CE{slot}", enable)
        cell["parameters"] |= {
            f"REG_{which}_CLK": "CLK0",
            f"REG_{which}_CE": f"CE{slot}",
            f"REG_{which}_RST": "RST0",
            "GSR": "DISABLED",
        }

    def _tie(self, cell: Cell, port: str, bit: Wire) -> None:
        cell["connections"][port] = [bit]
        cell["port_directions"][port] = "input"

    def _sweep(self) -> None:
        """Remove flip-flops that nothing uses any more, and those that fed only these."""
        while True:
            used = {bit for bit, ends in self.loads.items() if any(not cell for cell, _ in ends)}
            for cell in self.cells.values():
                for port, bits in cell["connections"].items():
                    if cell["port_directions"][port] == "input":
                        used.update(bits)
            unused = [
                name
                for name, cell in self.cells.items()
                if cell["type"] == "TRELLIS_FF" and cell["connections"]["Q"][0] not in used
            ]
            if not unused:
                return
            for name in unused:
                del self.cells[name]


COPIED = 200
"""Pins that read a register or a LUT from which on the unit's parts get copies of it."""

_LANE = re.compile(r".*?\blane\d+(?=\.)")
_MUX_DATA = {"PFUMX": ("ALUT", "BLUT"), "L6MUX21": ("D0", "D1")}
"""Pins with a wire of their own from the LUT beside them."""


def copy_drivers(netlist: dict[str, Any], least: int) -> int:
    """Give parts of a unit copies of a register or LUT that ``least`` pins or more read, in place.

    A part is a lane, or what shares three names of its path. One with a twelfth of ``least`` or
    more reads a copy; the one with the most pins, and those with fewer, go on reading the original.
    RTL has many of these registers in each lane, and Yosys merges what is the same; the reset is
    one LUT. One wire then goes through all parts, and when it loses one place on its way, the
    router has all pins behind it to route again. Return how many copies there are.
    """
    top = top_module(netlist)
    cells: dict[str, Cell] = top["cells"]
    free = free_net(top)
    pins_of = readers(top)
    copies: dict[str, Cell] = {}
    for name, driver in cells.items():
        port = {"TRELLIS_FF": "Q", "LUT4": "Z"}.get(driver["type"])
        if port is None:
            continue
        [output] = driver["connections"][port]
        counts = {pin: _pins(cells[pin[0]], pin[1]) for pin in pins_of[output] if pin[0]}
        if sum(counts.values()) < least:
            continue
        parts: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for pin, count in counts.items():
            if count:
                parts[_part_of(pin[0])].append(pin)
        sizes = {part: sum(counts[pin] for pin in pins) for part, pins in parts.items()}
        rest = max(sizes, key=lambda part: sizes[part])
        for part, size in sizes.items():
            if part == rest or size < least // 12:
                continue
            wire = free + len(copies)
            copy = {**driver, "connections": {**driver["connections"], port: [wire]}}
            copies[f"{part}.{name.rpartition('.')[2]}_copy_{wire}"] = copy
            for cell, pin in parts[part]:
                wires = cells[cell]["connections"]
                wires[pin] = [wire if each == output else each for each in wires[pin]]
    cells |= copies
    return len(copies)


def _part_of(name: str) -> str:
    """Return the part that a cell of a flat netlist is in: its lane, or three names of its path."""
    found = _LANE.match(name)
    return found.group() if found else ".".join(name.split(".")[:-1][:3])


def _pins(cell: Cell, port: str) -> int:
    """Return how many wires nextpnr routes to a pin: four to a small memory's read address.

    A multiplexer beside a LUT has a wire of its own from it.
    """
    if port in _MUX_DATA.get(cell["type"], ()):
        return 0
    return 4 if cell["type"] == "TRELLIS_DPR16X4" and port == "RAD" else 1


def _enable(register: Cell) -> Wire:
    return register["connections"]["CE"][0] if register["parameters"]["CEMUX"] == "CE" else "1"


def _sides(cell: Cell) -> tuple[str, ...]:
    """Return the read ports of a block RAM: at 36 bits the outputs of both sides are one."""
    wide = int(cell["parameters"]["DATA_WIDTH_B"], 2) == 36
    return ("AB",) if wide else ("A", "B")


RULES: Mapping[str, Callable[[dict[str, Any], str], object]] = {
    "absorb": absorb_registers,
    "negation": lambda netlist, clock: split_negations(netlist),
    "fold": lambda netlist, clock: fold_luts(netlist),
    "carry": lambda netlist, clock: free_carry_chains(netlist),
    "unread": lambda netlist, clock: drop_unread_carries(netlist),
    "copy": lambda netlist, clock: copy_drivers(netlist, COPIED),
}
"""Each rewrites a netlist of ECP5 cells in place; the text is the name of its clock's net."""


def rewrite(netlist: dict[str, Any], clock: str) -> None:
    """Apply all rules to an ECP5 netlist, in place: no value changes in any cycle."""
    for rule in RULES.values():
        rule(netlist, clock)


_ECP5 = {
    "CEMUX": "1 ",  # a string that looks like a number ends in a space in Yosys's JSON
    "CLKMUX": "CLK",
    "GSR": "DISABLED",
    "LSRMUX": "LSR",
    "REGSET": "RESET",
    "SRMODE": "LSR_OVER_CE",
}


def register_ports(netlist: dict[str, Any], clock: str, family: str = "ecp5") -> int:
    """Put a flip-flop between each port bit and the unit, in place, and return how many.

    The clock port is left as it is on ECP5. nextpnr-himbaechel has no placement out of context, it
    wants a pad for each port: for other families all ports go, and a buffer within makes the clock.
    """
    top = top_module(netlist)
    clock_net = clock_of(top, clock)
    free = free_net(top)
    added = 0
    for name, port in top["ports"].items():
        if name == clock:
            continue
        for index, inner in enumerate(port["bits"]):
            outer = free + added
            is_input = port["direction"] == "input"
            data, output = (outer, inner) if is_input else (inner, outer)
            port["bits"][index] = outer
            data = "0" if data == "x" or (is_input and family != "ecp5") else data
            register = _register(family, clock_net, data, output)
            top["cells"][f"{name}_port_register_{index}"] = register
            added += 1
    if family != "ecp5":
        top["ports"].clear()
        top["cells"][f"{clock}_buffer"] = _cell("BUFG", {"I": "0"}, {"O": clock_net}, {})
    return added


def _register(family: str, clock: int, data: int | str, output: int) -> dict[str, Any]:
    """Return a flip-flop without a reset."""
    if family == "ecp5":
        inputs = {"CLK": clock, "DI": data, "LSR": "0"}
        return _cell("TRELLIS_FF", inputs, {"Q": output}, _ECP5)
    inputs = {"C": clock, "CE": "1", "D": data, "R": "0"}
    return _cell("FDRE", inputs, {"Q": output}, {"INIT": "0"})


def _cell(
    kind: str,
    inputs: Mapping[str, int | str],
    outputs: Mapping[str, int | str],
    parameters: Mapping[str, str],
) -> dict[str, Any]:
    """Return a cell as Yosys's JSON has it."""
    return {
        "hide_name": 0,
        "type": kind,
        "parameters": dict(parameters),
        "attributes": {},
        "port_directions": {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")},
        "connections": {port: [net] for port, net in {**inputs, **outputs}.items()},
    }
