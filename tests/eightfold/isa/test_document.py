"""docs/isa.md is what the generator writes, and it names everything there is."""

import re

from eightfold import isa
from eightfold.isa.decode import command_places
from eightfold.isa.document import DOCUMENT, ENUMS, comments, isa_document


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
