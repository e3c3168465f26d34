"""Registers move into multiplier blocks and block RAMs without changing a value in any cycle."""

from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from eightfold.synth.area import cells_of
from eightfold.synth.rewrite import absorb_registers
from tests.support.hardware.netlist_proof import proved


def bits(letter: str, count: int) -> str:
    """Return port names as Verilog lists them, most significant first."""
    return ", ".join(f"{letter}{index}" for index in reversed(range(count)))


# The blocks with their registers, as a model checker sees them. Multiplier and memory are replaced
# by something cheap whose output bits each depend on other input bits: what is to be shown is
# when values pass, not what becomes of them.
MODELS = f"""
module stage #(parameter ON = 0, parameter CE = "CE0", parameter BITS = 36)
    (input clk, input [3:0] ce, input [BITS-1:0] d, output [BITS-1:0] q);
    reg [BITS-1:0] r = 0;
    wire enable = CE == "CE0" ? ce[0] : CE == "CE1" ? ce[1] : CE == "CE2" ? ce[2] : ce[3];
    always @(posedge clk) if (enable) r <= d;
    assign q = ON ? r : d;
endmodule

module MULT18X18D(input {bits("A", 18)}, {bits("B", 18)}, {bits("C", 18)}, SIGNEDA, SIGNEDB,
                  SOURCEA, SOURCEB, CLK0, RST0, CE0, CE1, CE2, CE3, output {bits("P", 36)});
    parameter REG_INPUTA_CLK = "NONE", REG_INPUTA_CE = "CE0", REG_INPUTA_RST = "RST0";
    parameter REG_INPUTB_CLK = "NONE", REG_INPUTB_CE = "CE0", REG_INPUTB_RST = "RST0";
    parameter REG_OUTPUT_CLK = "NONE", REG_OUTPUT_CE = "CE0", REG_OUTPUT_RST = "RST0";
    parameter GSR = "ENABLED";
    wire [17:0] a, b;
    wire [3:0] ce = {{CE3, CE2, CE1, CE0}};
    stage #(REG_INPUTA_CLK == "CLK0", REG_INPUTA_CE, 18) ra (CLK0, ce, {{{bits("A", 18)}}}, a);
    stage #(REG_INPUTB_CLK == "CLK0", REG_INPUTB_CE, 18) rb (CLK0, ce, {{{bits("B", 18)}}}, b);
    wire [35:0] p = {{a, b}} ^ {{b, a, SIGNEDA}} ^ SIGNEDB;
    stage #(REG_OUTPUT_CLK == "CLK0", REG_OUTPUT_CE, 36) rp (CLK0, ce, p, {{{bits("P", 36)}}});
endmodule

module DP16KD(input {bits("ADA", 14)}, {bits("ADB", 14)}, {bits("DIA", 18)}, {bits("DIB", 18)},
              {bits("CSA", 3)}, {bits("CSB", 3)}, CLKA, CLKB, CEA, CEB, OCEA, OCEB, WEA, WEB,
              RSTA, RSTB, output {bits("DOA", 18)}, {bits("DOB", 18)});
    parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG";
    wire [35:0] latch;
    stage #(1) read (CLKB, {{4{{CEB}}}}, {{{bits("ADB", 14)}, {bits("DIA", 18)}, 4'b0}}, latch);
    stage #(REGMODE_A == "OUTREG", "CE0", 18) ra (CLKB, {{4{{OCEA}}}}, latch[17:0],
                                                 {{{bits("DOA", 18)}}});
    stage #(REGMODE_B == "OUTREG", "CE0", 18) rb (CLKB, {{4{{OCEB}}}}, latch[35:18],
                                                 {{{bits("DOB", 18)}}});
endmodule
"""

Body = Callable[[Module, dict[str, Signal]], None]


class Unit(wiring.Component):
    """Ports of the designs below, and one of their bodies."""

    def __init__(self, body: Body) -> None:
        self.body = body
        ports = {"a": In(signed(8)), "b": In(signed(8)), "enable": In(2), "clear": In(1)}
        super().__init__({**ports, "q": Out(signed(20)), "r": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        names = ("a", "b", "enable", "clear", "q", "r")
        self.body(m, {name: getattr(self, name) for name in names})
        return m


def reg(bits: int, init: int = 0) -> Signal:
    """Return a register without reset, as the pipelines use them."""
    return Signal(signed(bits), init=init, reset_less=True)


def both_ends(m: Module, p: dict[str, Signal]) -> None:
    a, b, q, late = reg(8), reg(8), reg(16), reg(16)
    m.d.sync += [a.eq(p["a"] + p["b"]), b.eq(p["b"]), q.eq(a * b), late.eq(q)]
    m.d.comb += p["q"].eq(late)


def shared_operand(m: Module, p: dict[str, Signal]) -> None:
    a, b, q = reg(8), reg(8), reg(16)
    m.d.sync += [a.eq(p["a"]), b.eq(p["b"]), q.eq(a * b)]
    m.d.comb += [p["q"].eq(q), p["r"].eq(a)]


def enables(m: Module, p: dict[str, Signal]) -> None:
    a, b, q = reg(8), reg(8), reg(16)
    for index, (register, port) in enumerate([(a, "a"), (b, "b")]):
        with m.If(p["enable"][index]):
            m.d.sync += register.eq(p[port])
    m.d.sync += q.eq(a * b)
    m.d.comb += p["q"].eq(q)


def mixed_enables(m: Module, p: dict[str, Signal]) -> None:
    halves = [reg(4), reg(4)]
    for index, half in enumerate(halves):
        with m.If(p["enable"][index]):
            m.d.sync += half.eq(p["a"].word_select(index, 4))
    m.d.comb += p["q"].eq(Cat(*halves).as_signed() * p["b"])


def one_bit_with_reset(m: Module, p: dict[str, Signal]) -> None:
    a = reg(8)
    m.d.sync += a.eq(Mux(p["clear"], p["a"] << 1, p["a"]))
    m.d.comb += p["q"].eq(a * p["b"])


def reset(m: Module, p: dict[str, Signal]) -> None:
    a, q = Signal(signed(8)), Signal(signed(16))
    m.d.sync += [a.eq(p["a"]), q.eq(a * p["b"])]
    m.d.comb += p["q"].eq(q)


def starts_at_one(m: Module, p: dict[str, Signal]) -> None:
    a, q = reg(8, init=1), reg(16, init=1)
    m.d.sync += [a.eq(p["a"]), q.eq(a * p["b"])]
    m.d.comb += p["q"].eq(q)


def product_used_early(m: Module, p: dict[str, Signal]) -> None:
    whole = Signal(signed(16))
    q = reg(16)
    m.d.comb += [whole.eq(p["a"] * p["b"]), p["q"].eq(q), p["r"].eq(whole[:4])]
    m.d.sync += q.eq(whole)


def product_of_products(m: Module, p: dict[str, Signal]) -> None:
    first, second = reg(16), reg(20)
    m.d.sync += [first.eq(p["a"] * p["b"]), second.eq(first * p["b"])]
    m.d.comb += p["q"].eq(second)


def add_memory(m: Module, p: dict[str, Signal], width: int) -> Value:
    """Add a memory that is never read where it is written; return what is read."""
    m.submodules.memory = memory = Memory(shape=signed(width), depth=512, init=[])
    write, read = memory.write_port(), memory.read_port()
    m.d.comb += [write.addr.eq(Cat(p["a"], 1)), write.data.eq(p["a"] * 5)]
    m.d.comb += [write.en.eq(p["clear"]), read.addr.eq(Cat(p["b"], 0)), read.en.eq(1)]
    return read.data


def memory_and_register(m: Module, p: dict[str, Signal]) -> None:
    q = reg(8)
    m.d.sync += q.eq(add_memory(m, p, 8))
    m.d.comb += p["q"].eq(q)


def wide_memory_and_register(m: Module, p: dict[str, Signal]) -> None:
    q = reg(32)
    m.d.sync += q.eq(add_memory(m, p, 32))
    m.d.comb += [p["q"].eq(q[:16] ^ q[16:])]


def memory_read_early(m: Module, p: dict[str, Signal]) -> None:
    q = reg(8)
    data = add_memory(m, p, 8)
    m.d.sync += q.eq(data)
    m.d.comb += [p["q"].eq(q), p["r"].eq(data)]


@pytest.mark.parametrize(
    ("body", "inputs", "outputs", "ffs"),
    [
        (both_ends, 2, 1, 16),
        (shared_operand, 2, 1, 8),
        (enables, 2, 1, 0),
        (mixed_enables, 0, 0, 8),
        (one_bit_with_reset, 1, 0, 0),
        (reset, 0, 0, 24),
        (starts_at_one, 0, 0, 24),
        (product_used_early, 0, 0, 16),
        (product_of_products, 0, 2, 0),
        (memory_and_register, 0, 1, 0),
        (wide_memory_and_register, 0, 1, 0),
        (memory_read_early, 0, 0, 8),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
@pytest.mark.slow
@pytest.mark.usual(count=4)
def test_absorbed_netlist_is_equivalent(
    tmp_path: Path, body: Body, inputs: int, outputs: int, ffs: int
) -> None:
    netlist, taken = proved(
        tmp_path, Unit(body), lambda netlist: absorb_registers(netlist, "clk"), MODELS
    )
    assert taken == {"inputs": inputs, "outputs": outputs}
    assert cells_of(netlist).get("TRELLIS_FF", 0) == ffs
