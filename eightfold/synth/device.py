"""The devices to measure, as constraints/ states them."""

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError

FAMILIES = ("ecp5", "xilinx", "zynq", "gowin")
"""FPGA families that the flow knows; Gowin's is not placed and routed."""

CONSTRAINTS = Path(__file__).with_name("constraints")
"""The folder of the constraint files; in a checkout a link to ``constraints/`` at its root."""

_FREQUENCY = re.compile(r'^\s*FREQUENCY\s+PORT\s+"(\w+)"\s+([\d.]+)\s*MHZ\s*;', re.M | re.I)
_PERIOD = re.compile(r"^\s*create_clock\b.*-period\s+([\d.]+).*get_ports\s+\{?(\w+)", re.M)


@dataclass(frozen=True, kw_only=True)
class Device:
    """One device: what synthesis and place and route need to know of it.

    ``name``: the part, as the vendor writes it; ``clock``: name of the clock port, ``mhz`` its
    target, from the constraint file, whose text is ``constraints``. ``yosys``: synthesis command;
    ``router``: the program that places and routes, as `eightfold.synth.tools.find_tool` knows it,
    or empty; ``nextpnr``: its options that select the part, ``placer`` those of the placer.
    ``luts``: LUT sites, 0 if one placer serves units of all sizes; else those that take more than
    the share ``full`` are placed twice: with ``block_placer``, which decides where RAM blocks and
    multipliers are, then the logic around them with ``full_placer``. ``speeds``: speed grades
    to choose from, slowest first; none if the part's name has it.
    """

    family: str
    name: str
    clock: str
    mhz: float
    constraints: str
    yosys: str
    router: str = ""
    nextpnr: tuple[str, ...] = ()
    luts: int = 0
    placer: tuple[str, ...] = ()
    full: float = 1.0
    block_placer: tuple[str, ...] = ()
    full_placer: tuple[str, ...] = ()
    speeds: tuple[int, ...] = ()

    @classmethod
    def load(cls, family: str, folder: Path = CONSTRAINTS) -> "Device":
        """Return the device of a family, from ``devices.toml`` and its constraint file.

        Raises InputError if the family is unknown, or a file of the folder is missing or not valid.
        """
        if family not in FAMILIES:
            raise InputError(f"family must be one of {', '.join(FAMILIES)}, not {family!r}")
        table = folder / "devices.toml"
        try:
            entry: dict[str, Any] = tomllib.loads(table.read_text(encoding="utf-8"))[family]
            path = folder / entry["constraints"]
            text = path.read_text(encoding="utf-8")
            clock, mhz = read_clock(text, str(path))
            values: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in entry.items()
                if key not in ("device", "constraints")
            }
            named = {"family": family, "name": entry["device"], "constraints": text}
            return cls(**named, clock=clock, mhz=mhz, **values)
        except OSError as error:
            raise InputError(f"constraints {error.filename}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise InputError(f"constraints {table}: not valid: {error}") from None

    def for_unit(self, luts: int) -> "Device":
        """Return the device for a unit of ``luts`` LUT sites: with its placers if that is full."""
        if self.luts == 0 or luts <= self.full * self.luts:
            return replace(self, block_placer=())
        return replace(self, placer=self.full_placer)


def read_clock(text: str, where: str) -> tuple[str, float]:
    """Return the clock port and its frequency in MHz from the text of an LPF, XDC or SDC file.

    Raises InputError, which names `where`, if the text does not constrain exactly one clock.
    """
    clocks = [(name, float(mhz)) for name, mhz in _FREQUENCY.findall(text)]
    clocks += [(name, 1000 / float(period)) for period, name in _PERIOD.findall(text)]
    if len(clocks) != 1:
        raise InputError(f"constraints {where}: one clock must be constrained, not {len(clocks)}")
    return clocks[0]
