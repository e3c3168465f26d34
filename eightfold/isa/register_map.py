"""The registers for debuggers and register tools: CMSIS-SVD and SystemRDL."""

from collections.abc import Iterator
from importlib.metadata import version
from xml.sax.saxutils import escape

from eightfold import isa
from eightfold.isa.decode import Place, places
from eightfold.isa.registers import Access, Register
from eightfold.isa.shapes import Enumeration, unsigned

DESCRIPTION = "int8 inference accelerator, exact by the TFLite 8-bit quantization spec"

SIZE = 0x100
"""Bytes of addresses that the register port decodes."""

CONSTANTS = {"ID": isa.IDENTIFICATION, "VERSION": isa.VERSION}
"""What registers read that are the same in every configuration."""


RIGHTS = {
    Access.READ_ONLY: ("read-only", "r", "w"),
    Access.READ_WRITE: ("read-write", "rw", "r"),
    Access.WRITE_ONE: ("write-only", "w", "r"),
}
"""What SVD, and SystemRDL of software and hardware, call an access; ``WRITE_ONE`` bits read as 0,
so nothing is read."""


def _fields(register: Register) -> tuple[Place, ...]:
    """Return a register's fields; ``value`` if it is one number."""
    entries = register.fields or (isa.Entry("value", unsigned(32), register.text),)
    return places(register.layout, entries)


def _values(place: Place) -> list[tuple[str, int]]:
    """Return the names of a field's values, if they have names."""
    shape = place.shape
    if not (isinstance(shape, type) and issubclass(shape, Enumeration)):
        return []
    return [(member.name, member.value) for member in shape]


def _reset(register: Register) -> int | None:
    """Return what a register reads after a reset; None where the configuration decides."""
    return None if "CONFIGURATION" in register.name else CONSTANTS.get(register.name, 0)


def svd() -> str:
    """Return a device with one peripheral in CMSIS-SVD 1.1, at address 0."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<device schemaVersion="1.1" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" '
        'xs:noNamespaceSchemaLocation="CMSIS-SVD.xsd">',
        f"<name>eightfold</name><version>{version('eightfold')}</version>",
        f"<description>{DESCRIPTION}</description>",
        "<addressUnitBits>8</addressUnitBits><width>32</width>",
        "<peripherals><peripheral>",
        f"<name>EIGHTFOLD</name><description>{DESCRIPTION}</description>",
        "<baseAddress>0x0</baseAddress>",
        f"<addressBlock><offset>0x0</offset><size>{SIZE:#x}</size><usage>registers</usage>"
        "</addressBlock>",
        "<registers>",
        *(line for register in isa.REGISTERS for line in _svd_register(register)),
        "</registers>",
        "</peripheral></peripherals>",
        "</device>",
    ]
    return "\n".join(lines) + "\n"


def _svd_register(register: Register) -> Iterator[str]:
    reset = _reset(register)
    yield f"<register><name>{register.name}</name>"
    yield f"  <description>{escape(register.text)}</description>"
    yield f"  <addressOffset>{register.offset:#04x}</addressOffset><size>32</size>"
    yield f"  <access>{RIGHTS[register.access][0]}</access>"
    if reset is not None:
        yield f"  <resetValue>{reset:#x}</resetValue>"
    yield "  <fields>"
    for place in _fields(register):
        yield f"    <field><name>{place.name}</name><description>{escape(place.text)}</description>"
        yield f"      <bitOffset>{place.offset}</bitOffset><bitWidth>{place.width}</bitWidth>"
        named = [
            f"<enumeratedValue><name>{name}</name><value>{value}</value></enumeratedValue>"
            for name, value in _values(place)
        ]
        if named:
            yield f"      <enumeratedValues>{''.join(named)}</enumeratedValues>"
        yield "    </field>"
    yield "  </fields></register>"


def systemrdl() -> str:
    """Return the registers as an address map in SystemRDL 2.0."""
    lines = ["// Eightfold: registers. Generated from the instruction set; do not edit."]
    for register in isa.REGISTERS:
        for place in _fields(register):
            if values := _values(place):
                body = " ".join(f"{name} = {value};" for name, value in values)
                lines.append(f"enum eightfold_{place.name} {{ {body} }};")
    lines += [
        "addrmap eightfold {",
        f'  name = "Eightfold"; desc = "{DESCRIPTION}";',
        "  default regwidth = 32; addressing = compact;",
        *(line for register in isa.REGISTERS for line in _rdl_register(register)),
        "};",
    ]
    return "\n".join(lines) + "\n"


def _rdl_register(register: Register) -> Iterator[str]:
    _, software, hardware = RIGHTS[register.access]
    reset = _reset(register)
    yield "  reg {"
    yield f'    desc = "{register.text}";'
    yield f"    default sw = {software}; default hw = {hardware};"
    for place in _fields(register):
        properties = f'desc = "{place.text}";'
        if _values(place):
            properties += f" encode = eightfold_{place.name};"
        bits = f"[{place.offset + place.width - 1}:{place.offset}]"
        start = "" if reset is None else f" = {reset >> place.offset & (1 << place.width) - 1:#x}"
        yield f"    field {{ {properties} }} \\{place.name} {bits}{start};"
    yield f"  }} \\{register.name} @ {register.offset:#04x};"
