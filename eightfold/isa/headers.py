"""The instruction set for other tools: eightfold.h has it for drivers and compilers in C.

CMSIS-SVD and SystemRDL have its registers, for debuggers and register tools.
"""

from collections.abc import Iterator
from importlib.metadata import version
from xml.sax.saxutils import escape

from eightfold import isa
from eightfold.isa.decode import Place, command_places, places
from eightfold.isa.shapes import Enumeration

PREFIX = "EIGHTFOLD"
"""What every macro begins with."""

ENUMS: dict[str, type[Enumeration]] = {
    "OPCODE": isa.Opcode,
    "ENGINE": isa.Engine,
    "SPACE": isa.Space,
    "COMBINE": isa.Combine,
    "OPERAND": isa.Operand,
    "REDUCE": isa.Reduce,
    "ROW": isa.Row,
    "ROUNDING": isa.Rounding,
    "ERROR": isa.ErrorCode,
}
"""Enumerations by what their values' names begin with."""

_ACCESS = f"""\
/* A field lies in `width` bits from bit `lsb` of word `word` on. What does not fit into that word
 * goes on at bit 0 of the next one. Negative numbers are two's complement: cast them to uint32_t.
 */
static inline void eightfold_put(uint32_t *words, unsigned word, unsigned lsb, unsigned width,
                                 uint32_t value)
{{
    const uint64_t mask = (((uint64_t)1 << width) - 1) << lsb;
    const uint64_t bits = ((uint64_t)value << lsb) & mask;

    words[word] = (words[word] & ~(uint32_t)mask) | (uint32_t)bits;
    if (lsb + width > 32)
        words[word + 1] = (words[word + 1] & ~(uint32_t)(mask >> 32)) | (uint32_t)(bits >> 32);
}}

static inline uint32_t eightfold_get(const uint32_t *words, unsigned word, unsigned lsb,
                                     unsigned width)
{{
    uint64_t bits = words[word];

    if (lsb + width > 32)
        bits |= (uint64_t)words[word + 1] << 32;
    return (uint32_t)((bits >> lsb) & (((uint64_t)1 << width) - 1));
}}

/* By the field's name: {PREFIX}_PUT(words, MOVE_RUN, 64). */
#define {PREFIX}_PUT(words, field, value) \\
    eightfold_put((words), {PREFIX}_##field##_WORD, {PREFIX}_##field##_LSB, \\
                  {PREFIX}_##field##_WIDTH, (value))
#define {PREFIX}_GET(words, field) \\
    eightfold_get((words), {PREFIX}_##field##_WORD, {PREFIX}_##field##_LSB, \\
                  {PREFIX}_##field##_WIDTH)
"""


def c_header() -> str:
    """Return the header: C99, also C++.

    ``EIGHTFOLD_REG_<register>`` is an offset in bytes, ``..._<field>_SHIFT`` and ``..._MASK`` its
    field; ``EIGHTFOLD_<command>_WORDS`` a command's length, ``EIGHTFOLD_<command>_<field>_WORD``,
    ``_LSB`` and ``_WIDTH`` the place of a field, ``EIGHTFOLD_HEADER_...`` that of every command's
    header and ``EIGHTFOLD_REQUANTIZE_...`` that in a parameter record;
    ``EIGHTFOLD_EACH_<enumeration>(apply)`` is ``apply(<name>, <value>)`` for each of its values.
    """
    lines = [
        "/* Eightfold: registers and commands. Generated from the instruction set; do not edit. */",
        f"#ifndef {PREFIX}_H",
        f"#define {PREFIX}_H",
        "",
        "#include <stdint.h>",
        "",
        f"#define {PREFIX}_VERSION {isa.VERSION}u",
        f"#define {PREFIX}_ID 0x{isa.IDENTIFICATION:08X}u",
        *_enums(),
        *_registers(),
        *_commands(),
        "",
        *_ACCESS.splitlines(),
        "",
        f"#endif /* {PREFIX}_H */",
    ]
    return "\n".join(lines) + "\n"


def _enums() -> Iterator[str]:
    for name, members in ENUMS.items():
        yield from ("", f"enum eightfold_{name.lower()} {{")
        values = [f"    {PREFIX}_{name}_{member.name} = {member.value}" for member in members]
        yield from (",\n".join(values), "};")
        each = " ".join(f"apply({member.name}, {member.value})" for member in members)
        yield f"#define {PREFIX}_EACH_{name}(apply) {each}"


def _registers() -> Iterator[str]:
    yield from ("", "/* Registers: offsets in bytes, and their fields. */")
    for register in isa.REGISTERS:
        name = f"{PREFIX}_REG_{register.name}"
        comment = _comment(f"{register.access.value}: {register.text}")
        yield f"#define {name} 0x{register.offset:02X}u {comment}"
        for place in places(register.layout, register.fields):
            field = f"{name}_{_upper(place)}"
            mask = ((1 << place.width) - 1) << place.offset
            yield f"#define {field}_SHIFT {place.offset} {_comment(place.text)}"
            yield f"#define {field}_MASK 0x{mask:08X}u"


def _commands() -> Iterator[str]:
    yield from ("", "/* The first word of every command. */")
    header = len(isa.HEADER)
    for place in command_places(isa.Opcode.END)[:header]:
        yield from _field("HEADER", place)
    for opcode, command in isa.COMMANDS.items():
        yield from ("", f"/* {opcode.name} */")
        yield f"#define {PREFIX}_{opcode.name}_WORDS {command.words}"
        for place in command_places(opcode)[header:]:
            yield from _field(opcode.name, place)
    yield from ("", "/* A parameter record of 4 words. */")
    for name, part in isa.REQUANTIZE_LAYOUT:
        yield from _field("REQUANTIZE", Place(name, part.offset, part.shape, ""))


def _field(owner: str, place: Place) -> Iterator[str]:
    name = f"{PREFIX}_{owner}_{_upper(place)}"
    comment = ("signed: " if place.signed else "") + place.text
    yield f"#define {name}_WORD {place.offset // 32} {_comment(comment)}".rstrip()
    yield f"#define {name}_LSB {place.offset % 32}"
    yield f"#define {name}_WIDTH {place.width}"


def _upper(place: Place) -> str:
    return place.name.replace(".", "_").upper()


def _comment(text: str) -> str:
    return f"/* {text.removesuffix(': ')} */" if text else ""


DESCRIPTION = "int8 inference accelerator, exact by the TFLite 8-bit quantization spec"

SIZE = 0x100
"""Bytes of addresses that the register port decodes."""

CONSTANTS = {"ID": isa.IDENTIFICATION, "VERSION": isa.VERSION}
"""What registers read that are the same in every configuration."""


RIGHTS = {
    isa.Access.READ_ONLY: ("read-only", "r", "w"),
    isa.Access.READ_WRITE: ("read-write", "rw", "r"),
    isa.Access.WRITE_ONE: ("write-only", "w", "r"),
}
"""What SVD, and SystemRDL of software and hardware, call an access; ``WRITE_ONE`` bits read as 0,
so nothing is read."""


def _values(place: Place) -> list[tuple[str, int]]:
    """Return the names of a field's values, if they have names."""
    shape = place.shape
    if not (isinstance(shape, type) and issubclass(shape, Enumeration)):
        return []
    return [(member.name, member.value) for member in shape]


def _reset(register: isa.Register) -> int | None:
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


def _svd_register(register: isa.Register) -> Iterator[str]:
    reset = _reset(register)
    yield f"<register><name>{register.name}</name>"
    yield f"  <description>{escape(register.text)}</description>"
    yield f"  <addressOffset>{register.offset:#04x}</addressOffset><size>32</size>"
    yield f"  <access>{RIGHTS[register.access][0]}</access>"
    if reset is not None:
        yield f"  <resetValue>{reset:#x}</resetValue>"
    yield "  <fields>"
    for place in places(register.layout, register.entries):
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
        for place in places(register.layout, register.entries):
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


def _rdl_register(register: isa.Register) -> Iterator[str]:
    _, software, hardware = RIGHTS[register.access]
    reset = _reset(register)
    yield "  reg {"
    yield f'    desc = "{register.text}";'
    yield f"    default sw = {software}; default hw = {hardware};"
    for place in places(register.layout, register.entries):
        properties = f'desc = "{place.text}";'
        if _values(place):
            properties += f" encode = eightfold_{place.name};"
        bits = f"[{place.offset + place.width - 1}:{place.offset}]"
        start = "" if reset is None else f" = {reset >> place.offset & (1 << place.width) - 1:#x}"
        yield f"    field {{ {properties} }} \\{place.name} {bits}{start};"
    yield f"  }} \\{register.name} @ {register.offset:#04x};"
