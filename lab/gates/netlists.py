"""The netlists that can be simulated, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Self

from eightfold.common.errors import InputError
from lab.gates import ecp5, families

NETLISTS: Mapping[str, Callable[[str, str], str]] = {
    "ecp5": ecp5.rewritten,
    "ecp5-mapped": ecp5.mapped,
    "ecp5-routed": ecp5.routed,
    **{name: partial(families.flattened, name) for name in families.FAMILIES},
}
"""Functions of a module's Verilog, and its name, to the Verilog of the netlist made of it."""

UNKNOWN_LEVELS = (0, 1)
"""What every constant ``x`` is simulated as."""


@dataclass(frozen=True)
class Netlist:
    """Which netlist is simulated, and as what its constants ``x``.

    Attributes
    ----------
    name
        One of `NETLISTS`.
    unknown
        0 or 1: what every constant ``x`` of the netlist is.
    """

    name: str
    unknown: int = 0

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the netlist of a text such as ``ecp5`` or ``ecp5:1``, where ``x`` is 1.

        Raises
        ------
        InputError
            If there is none of that name, or ``x`` is to be something else than 0 or 1.
        """
        name, colon, level = text.partition(":")
        if name not in NETLISTS or (colon and level not in map(str, _levels(name))):
            names = ", ".join(NETLISTS)
            raise InputError(
                f"netlist {text!r}: use one of {names}; with :1 behind it, the constants x of one "
                "of ecp5 are 1"
            )
        return cls(name, int(level or 0))

    def __str__(self) -> str:
        """Return the text that `of` takes, with what ``x`` is."""
        return f"{self.name}:{self.unknown}"


def levels_of(text: str) -> list[str]:
    """Return the netlists that a text asks for: one for either level of ``x``, if it names none.

    An empty text, which is that of the RTL, is returned as it is.

    Raises
    ------
    InputError
        If there is no such netlist.
    """
    if not text:
        return [text]
    netlist = Netlist.of(text)
    levels = (netlist.unknown,) if ":" in text else _levels(netlist.name)
    return [str(Netlist(netlist.name, level)) for level in levels]


def _levels(name: str) -> tuple[int, ...]:
    """Return what ``x`` may be; the models of other families say it themselves."""
    return (0,) if name in families.FAMILIES else UNKNOWN_LEVELS
