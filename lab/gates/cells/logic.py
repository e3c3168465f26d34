"""LUTs, the multiplexers behind them, and carry chains."""

from collections.abc import Iterable

from eightfold.synth.netlist import Cell, Wire
from lab.gates.cells.expression import expression
from lab.gates.cells.writer import Writer, parameter, pin


def write_luts(cells: Iterable[Cell], writer: Writer) -> None:
    """Write LUT4s: ``Z`` is the bit of INIT at the number ``DCBA``."""
    for cell in cells:
        levels = [writer.bit(pin(cell, name, "0")) for name in "ABCD"]
        writer.assign(pin(cell, "Z", "x"), expression(int(cell["parameters"]["INIT"], 2), levels))


def write_pfumxs(cells: Iterable[Cell], writer: Writer) -> None:
    """Write multiplexers behind two LUT4s: ``Z = C0 ? ALUT : BLUT``."""
    _write_multiplexers(cells, writer, ("C0", "ALUT", "BLUT"))


def write_l6muxs(cells: Iterable[Cell], writer: Writer) -> None:
    """Write multiplexers behind two others: ``Z = SD ? D1 : D0``."""
    _write_multiplexers(cells, writer, ("SD", "D1", "D0"))


def _write_multiplexers(cells: Iterable[Cell], writer: Writer, names: tuple[str, str, str]) -> None:
    for cell in cells:
        choice, high, low = (writer.bit(pin(cell, name, "x")) for name in names)
        writer.assign(pin(cell, "Z", "x"), f"{choice} ? {high} : {low}")


def write_carries(cells: Iterable[Cell], writer: Writer) -> None:
    """Write chains of CCU2Cs, each as one addition.

    Of each half, with p its table's bit at ``DCBA`` and g that at ``00BA``,
    ``S = p ^ carry_in`` and ``carry_out = p ? carry_in : g``: what the addition of the words
    ``p | g`` and ``g & ~p`` does. With INJECT1, ``S = p`` and g is 0.
    """
    carries = list(cells)
    inputs = ((pin(cell, "CIN", "x"), cell) for cell in carries)
    following: dict[Wire, Cell] = {wire: cell for wire, cell in inputs if isinstance(wire, int)}
    carried = {pin(cell, "COUT", "x") for cell in carries} - {"x"}
    for cell in carries:
        if pin(cell, "CIN", "x") in carried:
            continue
        chain = [cell]
        while (after := following.get(pin(chain[-1], "COUT", "x"))) is not None:
            chain.append(after)
        _write_chain(chain, writer)


def _write_chain(chain: list[Cell], writer: Writer) -> None:
    ones, twos, sums, wires = [], [], [], list[tuple[Wire, int]]()
    for cell in chain:
        for half in (0, 1):
            injected = parameter(cell, f"INJECT1_{half}", "NO", "YES") == "YES"
            table = int(cell["parameters"][f"INIT{half}"], 2)
            levels = [writer.bit(pin(cell, f"{name}{half}", "0")) for name in "ABCD"]
            propagate = expression(table, levels)
            generate = "1'b0" if injected else expression(table & 0b1111, levels[:2])
            ones.append(f"{propagate} | {generate}")
            twos.append(f"{generate} & ~{propagate}")
            sums.append((pin(cell, f"S{half}", "x"), injected))
        wires.append((pin(cell, "COUT", "x"), len(sums)))
    size = len(sums)
    first = writer.wire(size, "carry_one", f"{{{', '.join(reversed(ones))}}}")
    second = writer.wire(size, "carry_two", f"{{{', '.join(reversed(twos))}}}")
    carry_in = writer.bit(pin(chain[0], "CIN", "x"))
    total = f"{{1'b0, {first}}} + {{1'b0, {second}}} + {{{size}'b0, {carry_in}}}"
    result = writer.wire(size + 1, "carry_sum", total)
    for place, (wire, injected) in enumerate(sums):
        writer.assign(wire, f"{first if injected else result}[{place}]")
    # A carry that leaves its chain: what the chain before has carried to that place.
    for wire, place in wires[:-1]:
        if isinstance(wire, int):
            writer.assign(wire, f"{result}[{place}] ^ {first}[{place}] ^ {second}[{place}]")
    writer.assign(wires[-1][0], f"{result}[{size}]")
