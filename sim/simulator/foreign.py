"""Sources of somebody else: files where they are, what they include, and the ports of a module.

Verilator reads Verilog, so that ports are right whatever way a header is written in, with
parameters, types and packages. GHDL synthesizes an entity of VHDL with an architecture that is
empty, so that whatever theirs does, its ports are said with their widths, which generics and
packages may have computed.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eightfold.common.child import lines_of, run_to_end
from eightfold.common.errors import InputError
from eightfold.common.extras import how_to_install
from eightfold.sim.simulator.cache import one_word
from eightfold.sim.simulator.toolchain import Simulator, tool_environment, verilator_root

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_INCLUDE = re.compile(r'`include\s+"([^"]+)"')
_MODULE = re.compile(r"\bmodule\s+(?:automatic\s+|static\s+)?(\w+)")

_KEYWORD_BITS = {"byte": 8, "shortint": 16, "int": 32, "integer": 32, "longint": 64, "time": 64}
"""Types without a range."""


@dataclass(frozen=True)
class Port:
    """A port of a module.

    - ``is_input``: whether somebody else drives it.
    - ``width``: its bits, of an unpacked array all together; None of what is no vector: an array of
      arrays, an interface, a real number.
    - ``elements``: both ends of an unpacked array's range, as they are declared.
    - ``signed``: whether the elements of an array are.
    - ``kind``: the type of a port in VHDL, without its range.
    """

    name: str
    is_input: bool
    width: int | None
    elements: tuple[int, int] | None = None
    signed: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Module:
    """A module as Verilator reads it: its ports by name, and the files that it and its parts are
    in."""

    ports: Mapping[str, Port]
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Foreign:
    """Verilog and SystemVerilog files that are compiled where they are.

    - ``sources``: the files, in the order in which they are compiled.
    - ``includes``: folders in which included files are looked for, after those of the sources
      themselves.
    - ``systemverilog``: whether files that are not called ``.sv`` are SystemVerilog too: what is a
      keyword there, as ``before`` or ``bit``, may be a name in Verilog-2005.
    - ``others``: what is read besides, as `read_module` has found it: modules that simulators look
      for in the folders, and files whose names in ``\\`include`` are macros.
    """

    sources: tuple[Path, ...] = ()
    includes: tuple[Path, ...] = ()
    defines: tuple[tuple[str, str | int], ...] = ()
    systemverilog: bool = True
    others: tuple[Path, ...] = ()

    def words(self) -> list[Path]:
        """Return the sources by paths that make takes as one word each."""
        return [one_word(source.parent) / source.name for source in self.sources]

    def include_words(self) -> list[Path]:
        """Return the folders of included files, likewise."""
        return [one_word(folder) for folder in self._folders()]

    def recipe(self) -> list[object]:
        """Return all that a build depends on, whatever machine the files are on."""
        texts = [[file.name, text] for file, text in self.texts().items()]
        return [texts, [list(define) for define in self.defines], self.systemverilog]

    def arguments(self, simulator: Simulator) -> tuple[str, ...]:
        """Return a simulator's options for such files."""
        if simulator == "icarus":
            return () if self.systemverilog else ("-g2005",)
        # Delays of assignments mean nothing to what a clock drives.
        language = () if self.systemverilog else ("--default-language", "1364-2005")
        return ("--no-timing", *language)

    def texts(self) -> dict[Path, str]:
        """Return the text of each source, of `others`, and of each file that one of them includes.

        Raises InputError if a source cannot be read.
        """
        texts: dict[Path, str] = {}
        waiting = [*self.sources, *self.others]
        while waiting:
            file = waiting.pop(0)
            if file in texts:
                continue
            try:
                texts[file] = file.read_text("utf-8", "replace")
            except OSError as error:
                raise InputError(f"{file}: cannot be read: {error.strerror}") from None
            names = _INCLUDE.findall(without_comments(texts[file]))
            found = (self._find(name, file.parent) for name in names)
            waiting += [each for each in found if each is not None]  # the simulator says the rest
        return texts

    def modules(self) -> list[str]:
        """Return the names of the modules in the sources, in their order."""
        found = (_MODULE.findall(without_comments(text)) for text in self.texts().values())
        return list(dict.fromkeys(name for names in found for name in names))

    def _folders(self) -> list[Path]:
        parents = (source.parent for source in self.sources)
        return list(dict.fromkeys((*parents, *self.includes)))

    def _find(self, name: str, beside: Path) -> Path | None:
        places = (folder / name for folder in (beside, *self._folders()))
        return next((place for place in places if place.is_file()), None)


def without_comments(text: str) -> str:
    """Return Verilog without its comments; what looks like one in a string stays."""
    return _COMMENT.sub(lambda match: match[1] or " ", text)


def read_module(foreign: Foreign, top: str, parameters: Mapping[str, str | int]) -> Module:
    """Return the ports of a module, in their order, and all files that were read for it.

    ``foreign``: the files that it and what it instantiates are in. ``parameters``: values of its
    parameters; others keep their defaults. A text is a string of Verilog. Raises InputError if
    there is no such module, or Verilator does not accept it: with its words.
    """
    modules = foreign.modules()
    if top not in modules:
        raise _missing("module", top, modules, foreign)
    tree, files = _tree(foreign, top, parameters)
    types = {
        each["addr"]: each
        for table in tree["miscsp"]
        if table["type"] == "TYPETABLE"
        for each in table["typesp"]
    }
    module = next(each for each in tree["modulesp"] if _name(each) == top)
    ports = [
        _port(types, _name(each), each["direction"] == "INPUT", each["dtypep"])
        for each in module["stmtsp"]
        if each["type"] == "VAR" and each["direction"] in ("INPUT", "OUTPUT", "INOUT")
    ]
    return Module({port.name: port for port in ports}, files)


def _missing(kind: str, top: str, there: list[str], foreign: Foreign) -> InputError:
    files = ", ".join(source.name for source in foreign.sources)
    return InputError(
        f"there is no {kind} {top!r} in {files}; there is {', '.join(there) or 'none'}"
    )


def _tree(
    foreign: Foreign, top: str, parameters: Mapping[str, str | int]
) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """Return what Verilator has made of the sources, and the files that it has read."""
    with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
        output, meta = Path(name, "tree.json"), Path(name, "meta.json")
        command = [
            str(verilator_root() / "bin" / "verilator_bin"),
            *("--json-only", "--json-only-output", str(output), "--Mdir", name),
            *("--json-only-meta-output", str(meta)),
            *("-Wno-fatal", "-Wno-lint", "-Wno-TIMESCALEMOD", "--top-module", top),
            *foreign.arguments("verilator"),
            *(f"-G{name}={literal(value)}" for name, value in parameters.items()),
            *(f"-D{name}={value}" for name, value in foreign.defines),
            *(f"-I{folder}" for folder in foreign.include_words()),
            *map(str, foreign.words()),
        ]
        done = run_to_end(command, env=os.environ | tool_environment())
        if done.returncode:
            said = lines_of(done.stderr)
            first = next((line for line in said if line.startswith("%Error")), " ".join(said[:1]))
            raise InputError(f"module {top}: {first}")
        read = json.loads(meta.read_text("utf-8"))["files"].values()
        own = [Path(each["realpath"]) for each in read if not each["filename"].startswith("<")]
        return json.loads(output.read_text("utf-8")), tuple(sorted(own))


def _name(node: Mapping[str, Any]) -> str:
    """Return a name as it is declared: Verilator writes some characters as ``__0`` and a code."""
    return re.sub(
        r"__0([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), node.get("origName", "")
    )


def literal(value: str | int) -> str:
    """Return a parameter's value as Verilog has it."""
    if isinstance(value, int):
        return str(int(value))
    text = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _port(types: Mapping[str, Any], name: str, is_input: bool, address: str) -> Port:
    kind = types.get(address, {})
    while kind.get("type") == "REFDTYPE":
        kind = types.get(kind["refDTypep"], {})
    if kind.get("type") != "UNPACKARRAYDTYPE":
        return Port(name, is_input, _bits(types, address))
    left, right = _ends(kind["declRange"])
    each = _bits(types, kind["refDTypep"])
    width = each and each * (abs(left - right) + 1)
    signed = bool(kind.get("signed"))
    return Port(name, is_input, width, (left, right), signed)


def _ends(text: str) -> tuple[int, int]:
    """Return both ends of a range such as ``[7:0]``."""
    left, _, right = text.strip("[]").partition(":")
    return int(left), int(right)


def _bits(types: Mapping[str, Any], address: str) -> int | None:
    """Return the bits of a type of Verilator's; None if it is no vector."""
    kind = types.get(address)
    if kind is None:
        return None
    name = kind["type"]
    if name == "BASICDTYPE":
        if "range" in kind:
            left, right = _ends(kind["range"])
            return abs(left - right) + 1
        word = str(kind.get("keyword"))
        return 1 if word in ("logic", "bit", "wire") else _KEYWORD_BITS.get(word)
    if name in ("REFDTYPE", "ENUMDTYPE", "CONSTDTYPE", "MEMBERDTYPE"):
        return _bits(types, kind["refDTypep"])
    if name == "PACKARRAYDTYPE":
        left, right = _ends(kind["declRange"])
        inner = _bits(types, kind["refDTypep"])
        return None if inner is None else inner * (abs(left - right) + 1)
    if name in ("STRUCTDTYPE", "UNIONDTYPE") and kind.get("packed"):
        members = [_bits(types, member["refDTypep"]) for member in kind["membersp"]]
        if None in members:
            return None
        sizes = [size for size in members if size is not None]
        return max(sizes) if name == "UNIONDTYPE" else sum(sizes)
    return None


SUFFIXES = (".vhd", ".vhdl")

STANDARD = "--std=08"

_PORT = re.compile(r"^    ([\w\\, ]+): (in|out|inout|buffer|linkage) ([\w.]+)", re.MULTILINE)
_WIDTH = re.compile(
    r"(?:signal wrap_(\w+): std_logic;"
    r"|subtype typwrap_(\w+) is std_logic_vector \((\d+) downto 0\);)"
)
_ENTITY = re.compile(r"^\s*entity\s+(\w+)\s+is", re.MULTILINE | re.IGNORECASE)
_KINDS = ("std_logic", "std_ulogic", "std_logic_vector", "std_ulogic_vector", "signed", "unsigned")


def is_vhdl(path: Path) -> bool:
    """Return whether a file is called as VHDL is."""
    return path.suffix.lower() in SUFFIXES


def entities(foreign: Foreign) -> list[str]:
    """Return the names of the entities in the sources, in their order."""
    return [name for text in foreign.texts().values() for name in _ENTITY.findall(text)]


def read_entity(foreign: Foreign, top: str, parameters: Mapping[str, str | int]) -> Module:
    """Return the ports of an entity; arguments as `eightfold.sim.simulator.foreign.read_module`.

    Raises InputError if there is no such entity, GHDL is missing, or does not accept it: with its
    words.
    """
    if top.lower() not in map(str.lower, there := entities(foreign)):
        raise _missing("entity", top, there, foreign)
    if shutil.which("ghdl") is None:
        raise InputError(f"ghdl, which reads its ports, is missing: {how_to_install('ghdl')}")
    with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
        options = (STANDARD, f"--workdir={name}")
        empty = Path(name, "eightfold_ports.vhd")
        empty.write_text(f"architecture eightfold_ports of {top} is begin end architecture;\n")
        _ghdl(top, "-a", *options, *map(str, foreign.sources), str(empty))
        values = (f"-g{key}={value}" for key, value in parameters.items())
        text = _ghdl(top, "--synth", *options, "--out=vhdl", *values, top, "eightfold_ports")
    head, _, body = text.partition("end entity")
    bits = {
        (bit or vector).lower(): int(high or 0) + 1 for bit, vector, high in _WIDTH.findall(body)
    }
    ports = {}
    for names, mode, mark in _PORT.findall(head.partition("  port (")[2]):
        kind = mark.rpartition(".")[2].lower()
        for each in names.replace(" ", "").split(","):
            width = bits.get(each.lower()) if kind in _KINDS else None
            ports[each] = Port(each, mode == "in", width, kind=kind)
    return Module(ports, foreign.sources)


def _ghdl(top: str, *arguments: str) -> str:
    done = run_to_end(["ghdl", *arguments])
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if ":warning:" not in line]
        raise InputError(f"entity {top}: {(said or ['GHDL does not accept it'])[0]}")
    return done.stdout
