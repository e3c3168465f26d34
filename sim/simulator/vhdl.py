"""VHDL of somebody else: the ports of an entity, as GHDL reads them.

GHDL synthesizes the entity with an architecture that is empty, so that whatever theirs does, its
ports are said with their widths, which generics and packages may have computed.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from eightfold.common.errors import InputError
from eightfold.common.extras import how_to_install
from eightfold.sim.simulator.foreign import Foreign, Module, Port

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

    Raises
    ------
    InputError
        If there is no such entity, GHDL is missing, or does not accept it: with its words.
    """
    if top.lower() not in map(str.lower, there := entities(foreign)):
        files = ", ".join(source.name for source in foreign.sources)
        raise InputError(
            f"there is no entity {top!r} in {files}; there is {', '.join(there) or 'none'}"
        )
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
    done = subprocess.run(
        ["ghdl", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if ":warning:" not in line]
        raise InputError(f"entity {top}: {(said or ['GHDL does not accept it'])[0]}")
    return done.stdout
