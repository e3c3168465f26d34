"""docs/isa.md, SVD and SystemRDL say what the instruction set says, and name all there is."""

import re
from pathlib import Path

import pytest

from eightfold import isa
from eightfold.isa.decode import command_places
from eightfold.isa.document import DOCUMENT, ENUMS, comments, isa_document
from eightfold.isa.registers import Access
from tests.support.command import Call


def test_the_document_is_up_to_date() -> None:
    """`make documents` writes it."""
    assert DOCUMENT.read_text(encoding="utf-8") == isa_document()


def test_it_names_every_field_register_counter_and_value() -> None:
    text = isa_document()
    for opcode, command in isa.COMMANDS.items():
        section = text.partition(f"### {opcode.name}\n")[2].partition("\n##")[0]
        assert command.text in section
        for place in command_places(opcode)[len(isa.HEADER) :]:
            assert f"| {place.offset // 32} | " in section
            assert section.count(f" `{place.name}` |") == 1
    for register in isa.REGISTERS:
        assert f"| 0x{register.offset:02X} | {register.name} |" in text
        assert all(entry.text in text for entry in register.fields)
    for members in (*ENUMS, isa.ErrorCode):
        section = text.partition(f"### {members.__name__}\n")[2] or text
        assert all(f"| {member.value} | {member.name} |" in section for member in members)


def test_a_parameter_records_fields_have_meanings() -> None:
    assert [entry.name for entry in isa.REQUANTIZE] == [name for name, _ in isa.REQUANTIZE_LAYOUT]
    record = isa_document().partition("A parameter record has 16 bytes:")[2].partition("## ")[0]
    assert all(f"`{entry.name}`" in record and entry.text in record for entry in isa.REQUANTIZE)


def test_comments_are_found_behind_members() -> None:
    source = "    ONE = 1  # first\n    TWO = 2  # second, 2: 3\n    THREE = 3\n# four\n"
    assert comments(source) == {"ONE": "first", "TWO": "second, 2: 3"}


def test_tables_have_as_many_cells_in_every_row() -> None:
    for table in re.findall(r"(?:^\|.*\n)+", isa_document(), re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


Map = dict[str, tuple[int, str, dict[str, tuple[int, int]]]]
"""By register: offset, access, and of each field the lowest bit and the width."""

ERRORS = {member.name: member.value for member in isa.ErrorCode}


def expected(accesses: dict[Access, str]) -> Map:
    return {
        register.name: (
            register.offset,
            accesses[register.access],
            {name: (field.offset, field.width) for name, field in register.layout},
        )
        for register in isa.REGISTERS
    }


def written(kind: str, folder: Path, call: Call) -> Path:
    path = folder / f"eightfold.{kind}"
    assert call("header", "--format", kind, "-o", path)[:2] == (0, f"{path}\n")
    return path


def test_svd(tmp_path: Path, call: Call) -> None:
    parsers = pytest.importorskip("cmsis_svd")
    path = written("svd", tmp_path, call)
    assert parsers.SVDParser.validate_xml_file(str(path)) == (True, "")
    (peripheral,) = parsers.SVDParser.for_xml_file(str(path)).get_device().peripherals
    found: Map = {
        register.name: (
            register.address_offset,
            register.access.value,
            {field.name: (field.bit_offset, field.bit_width) for field in register.fields},
        )
        for register in peripheral.registers
    }
    words = ("read-only", "read-write", "write-only")
    assert found == expected(dict(zip(Access, words, strict=True)))
    resets = {register.name: register.reset_value for register in peripheral.registers}
    assert (resets["ID"], resets["VERSION"]) == (isa.IDENTIFICATION, isa.VERSION)
    (code,) = (
        field.enumerated_values
        for register in peripheral.registers
        for field in register.fields
        if field.enumerated_values
    )
    assert {value.name: value.value for each in code for value in each.enumerated_values} == ERRORS


def test_systemrdl(tmp_path: Path, call: Call) -> None:
    systemrdl = pytest.importorskip("systemrdl")
    compiler = systemrdl.RDLCompiler()
    compiler.compile_file(str(written("rdl", tmp_path, call)))
    registers = list(compiler.elaborate().top.registers())
    found: Map = {
        register.inst_name: (
            register.absolute_address,
            "/".join({field.get_property("sw").name for field in register.fields()}),
            {field.inst_name: (field.low, field.width) for field in register.fields()},
        )
        for register in registers
    }
    assert found == expected(dict(zip(Access, ("r", "rw", "w"), strict=True)))
    resets = {each.inst_name: each.fields()[0].get_property("reset") for each in registers}
    assert (resets["ID"], resets["VERSION"]) == (isa.IDENTIFICATION, isa.VERSION)
    assert (resets["TIMEOUT"], resets["CONFIGURATION_0"]) == (0, None)
    encodes = [
        field.get_property("encode") for register in registers for field in register.fields()
    ]
    (codes,) = (each for each in encodes if each is not None)
    assert {each.name: each.value for each in codes} == ERRORS
