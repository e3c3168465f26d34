"""The generated Verilog: deterministic, clean, portable, readable."""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from eightfold.common.errors import InputError
from eightfold.hw.array.partial_sums import PartialSums
from eightfold.hw.units import UNITS
from eightfold.isa import VERSION
from eightfold.rtl.header import header, without_header
from eightfold.rtl.verilog import generate as generate_component
from eightfold.rtl.verilog import run_yosys, unit_recipe, unit_verilog
from eightfold.sim.simulator.cache import cached, content_key
from eightfold.sim.simulator.lint import WAIVERS, lint, waivers
from eightfold.sim.simulator.toolchain import tool_environment
from eightfold.target.config import PRESETS, AcceleratorConfig

PROGRAM = """
import sys
from pathlib import Path
from eightfold.target.config import PRESETS
from eightfold.rtl.verilog import unit_verilog
for name in sys.argv[1:]:
    unit, preset = name.split(".")
    Path(f"{name}.v").write_text(unit_verilog(unit, PRESETS[preset]))
"""
NO_BYPASS = "  (* no_rw_check = 32'd1 *)\n"


def of_every_unit(test):
    """Return a test with a unit and a preset. More lanes than nano's take minutes, and are long.

    A lane of small has the other style of multiplier.
    """
    cases = [(unit, preset) for preset in ("nano", "small", "base") for unit in UNITS]
    test = pytest.mark.parametrize(("unit", "preset"), [*cases, ("mac_array", "large")])(test)
    return pytest.mark.usual(names=["nano]", "lane-small"])(pytest.mark.slow(test))


def text_of(unit, preset):
    """Return a unit's Verilog, generated once, whichever process of the tests asks first."""
    config = PRESETS[preset]
    file = f"{unit}.v"

    def make(folder):
        (folder / file).write_text(unit_verilog(unit, config))

    key = content_key(unit_recipe(unit, config))
    return (cached("written", f"{unit}-{preset}-{key}", make) / file).read_text()


@pytest.fixture
def source(unit, preset, tmp_path):
    path = tmp_path / f"{unit}.v"
    path.write_text(text_of(unit, preset))
    return path


# Sets of strings have another order there; with all units it takes 6 minutes.
@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        ["vector_engine.nano", "mover.nano", "lane.small"],
        [f"{unit}.{preset}" for preset in ("nano", "small", "base") for unit in UNITS],
    ],
)
@pytest.mark.usual
@pytest.mark.long
def test_is_the_same_in_another_process(names, tmp_path):
    environment = {"PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, *names]
    subprocess.run(command, cwd=tmp_path, check=True, env=os.environ | environment)
    for name in names:
        assert (tmp_path / f"{name}.v").read_text() == text_of(*name.split(".")), name


@of_every_unit
def test_passes_lint(source):
    assert lint(source) == []


@pytest.mark.icarus
@of_every_unit
def test_reads_in_icarus_as_verilog_2001(source):
    command = ["iverilog", "-g2001", "-Wall", "-Wno-timescale", "-t", "null", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@of_every_unit
def test_reads_in_yosys(source, unit):
    script = f"read_verilog {source.name}; hierarchy -check -top eightfold_{unit}; proc"
    assert run_yosys(f"{script}; check -assert", source.parent) == ""


@of_every_unit
def test_is_portable_and_readable(unit, preset):
    text = text_of(unit, preset)
    assert text.startswith(f"// eightfold_{unit}: ")
    assert f"\n// Configuration: lanes = {PRESETS[preset].lanes}, " in text
    assert f"\n// Made by: eightfold verilog --config {preset} --unit {unit}\n" in text
    modules = re.findall(r"^module (\w+) \($", text, re.MULTILINE)
    assert modules[0] == f"eightfold_{unit}"
    assert all(name.startswith(f"eightfold_{unit}") for name in modules)
    assert len(modules) == len(set(modules)) == text.count("endmodule")
    text = text.replace(NO_BYPASS, "")
    for ugly in ("always @*", "\\", "'hx", "'bx", "/*", "(*", str(Path.cwd()), "Yosys"):
        assert ugly not in text


def test_equal_modules_are_written_once():
    modules = re.findall(r"^module (\w+)", text_of("mac_array", "nano"), re.MULTILINE)
    assert [name for name in modules if name.endswith("_dot_product")] == [
        "eightfold_mac_array_group_lane_dot_product"
    ]


def test_memories_stay_memories():
    text = text_of("lane", "nano")
    depth = PRESETS["nano"].psum_depth
    assert re.search(rf"^  reg \[31:0\] \w+ \[{depth - 1}:0\];$", text, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize(("attributes", "flip_flops"), [(NO_BYPASS, 64), ("", 139)])
def test_partial_sums_have_no_bypass_because_of_the_attribute(attributes, flip_flops, tmp_path):
    config = AcceleratorConfig(psum_depth=512)
    text = generate_component(PartialSums(config, 24), "sums")
    assert NO_BYPASS in text
    (tmp_path / "sums.v").write_text(text.replace(NO_BYPASS, attributes))
    script = "read_verilog sums.v; synth_ecp5 -top sums -noflatten"
    counts = f"select -assert-count 1 t:DP16KD; select -assert-count {flip_flops} t:TRELLIS_FF"
    assert run_yosys(f"{script}; {counts}", tmp_path) == ""


def test_ports_are_the_components_members():
    header = text_of("requantizer", "nano").partition("(\n")[2].partition("\n);")[0]
    ports = [line.strip(" ,").rpartition(" ")[2] for line in header.split("\n")]
    streams = [f"{name}__{part}" for name in "io" for part in ("payload", "ready", "valid")]
    assert ports == ["clk", "rst", *streams]


@pytest.mark.slow
def test_every_lint_waiver_is_needed(tmp_path):
    found = set()
    for unit in UNITS:
        path = tmp_path / f"{unit}.v"
        path.write_text(text_of(unit, "nano"))
        found |= {match[1] for line in lint(path, ()) if (match := re.match(r"%\w+-(\w+)", line))}
    assert found - {"fatal"} == set(WAIVERS)


def verilator_lint(*files):
    """Return the warnings and errors of Verilator's lint over files, as users call it."""
    done = subprocess.run(
        ["verilator", "--lint-only", "-Wall", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | tool_environment(),
    )
    found = re.findall(r"^%(?:Warning|Error)[^ ]*: (?!Exiting)", done.stderr, re.MULTILINE)
    assert bool(found) == bool(done.returncode)
    return found


@pytest.mark.parametrize(
    ("unit", "preset"),
    [("lane", "nano"), pytest.param("accelerator", "nano", marks=pytest.mark.slow)],
)
@pytest.mark.usual(names=["lane"])
@pytest.mark.slow
def test_lint_is_clean_with_the_waivers_beside_a_file(source):
    beside = source.with_suffix(".vlt")
    beside.write_text(waivers(source))
    assert verilator_lint(source)
    assert verilator_lint(beside, source) == []
    rules = beside.read_text().split("\n")
    for needed in (line for line in rules if line.startswith("lint_off")):
        beside.write_text("\n".join(line for line in rules if line != needed))
        assert verilator_lint(beside, source), f"not needed: {needed}"


def test_waivers_are_only_for_what_is_harmless(tmp_path):
    source = tmp_path / "wrong.v"
    source.write_text("module wrong (input wire a, output wire b);\nendmodule\n")
    beside = source.with_suffix(".vlt")
    beside.write_text(waivers(source))
    assert verilator_lint(beside, source) == ["%Warning-UNDRIVEN: "]


# A second accelerator is generated for it, whose modules are named by the same lines.
@pytest.mark.slow
@pytest.mark.parametrize("unit", ["lane", pytest.param("accelerator", marks=pytest.mark.long)])
def test_two_configurations_with_prefixes_of_their_own_fit_one_design(unit, tmp_path):
    config = AcceleratorConfig(
        lanes=2, width=2, port=4, scratchpad=4096, vector_lanes=1, weight_buffer=512
    )
    first, second = tmp_path / "first.v", tmp_path / "second.v"
    first.write_text(text_of(unit, "nano"))
    second.write_text(unit_verilog(unit, config, prefix="npu_b"))
    tops = [f"eightfold_{unit}", f"npu_b_{unit}"]
    both = tmp_path / "both.v"
    places = "".join(f"  {top} {top}_0 (.clk(clk), .rst(rst));\n" for top in tops)
    both.write_text(f"module both (input wire clk, input wire rst);\n{places}endmodule\n")
    beside = tmp_path / "both.vlt"
    beside.write_text("`verilator_config\n" + "lint_off -rule PINMISSING\n")
    files = [beside, both]
    for path in (first, second):
        path.with_suffix(".vlt").write_text(waivers(path))
        files += [path.with_suffix(".vlt"), path]
    found = verilator_lint(*files)
    assert set(found) <= {"%Warning-UNUSEDSIGNAL: "}, "of ports that are left open"
    names = re.findall(r"^module (\w+)", second.read_text(), re.MULTILINE)
    assert names[0] == tops[1]
    assert all(name.startswith("npu_b_") for name in names)
    second.write_text(second.read_text().replace("npu_b_", "eightfold_"))
    both.write_text(both.read_text().replace("npu_b_", "eightfold_"))
    assert "%Warning-MODDUP: " in verilator_lint(*files)


def test_a_prefix_changes_names_alone():
    text = unit_verilog("requantizer", PRESETS["nano"], prefix="npu_b")
    assert "Made by: eightfold verilog --config nano --unit requantizer --prefix npu_b\n" in text
    assert "eightfold_" not in text
    plain = without_header(text_of("requantizer", "nano"))
    assert without_header(text).replace("npu_b_", "eightfold_") == plain


@pytest.mark.parametrize("prefix", ["", "1st", "a-b", "a b", "a\n", "ä"])
def test_a_prefix_that_begins_no_name_is_one_clear_line(prefix):
    with pytest.raises(InputError, match="prefix .* begin with a letter or underscore"):
        unit_verilog("requantizer", PRESETS["nano"], prefix=prefix)


def test_the_header_names_a_file_of_sizes():
    config = AcceleratorConfig(lanes=2, width=3)
    text = header("lane", config, "eightfold", "mine.toml")
    assert "\n// Made by: eightfold verilog --config mine.toml --unit lane\n" in text
    lines = text.split("\n")
    assert lines[0] == (
        f"// eightfold_lane: the unit lane of Eightfold {version('eightfold')}, "
        "an int8 inference accelerator."
    )
    assert lines[1:3] == [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// Instruction set: version {VERSION}.",
    ]
    body = "module m (\n);\n\n// not the head\n\nendmodule\n"
    assert without_header(text + body) == without_header(body) == body


def test_unknown_unit_is_one_clear_line():
    with pytest.raises(InputError, match="unit gpu: no such unit; use one of requantizer, lane"):
        unit_verilog("gpu", PRESETS["nano"])
