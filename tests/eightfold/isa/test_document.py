"""eightfold.h, docs/isa.md, SVD and SystemRDL say what the instruction set says."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa.decode import command_places
from eightfold.isa.document import DOCUMENT, ENUMS, comments, isa_document
from eightfold.isa.headers import ENUMS as C_ENUMS
from eightfold.isa.headers import c_header
from eightfold.isa.registers import Access
from eightfold.isa.shapes import pack
from tests.support.command import Call
from tests.support.golden_c.library import compiler


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


STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]

PRINT = 'for (int i = 0; i < %d; i++) printf("%%lu\\n", (unsigned long)w[i]); }'


def macros() -> dict[str, int]:
    """Return the header's plain numbers."""
    found = re.findall(r"^#define EIGHTFOLD_(\w+) (0x[0-9A-F]+|\d+)u?\b", c_header(), re.MULTILINE)
    values = re.findall(r"^    EIGHTFOLD_(\w+) = (\d+)", c_header(), re.MULTILINE)
    assert len({name for name, _ in found + values}) == len(found + values), "a name twice"
    return {name: int(value, 0) for name, value in found + values}


@pytest.mark.parametrize(
    ("name", "flags"), [("gcc", ["-std=c99", "-x", "c"]), ("g++", ["-std=c++11", "-x", "c++"])]
)
def test_it_compiles_without_warnings(name: str, flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "eightfold.h").write_text(c_header(), encoding="utf-8")
    source = tmp_path / "twice.c"
    source.write_text('#include "eightfold.h"\n#include "eightfold.h"\nint main(void);\n')
    done = subprocess.run(
        [compiler(name), *flags, *STRICT, "-fsyntax-only", str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_numbers_are_those_of_the_instruction_set() -> None:
    numbers = macros()
    assert numbers["VERSION"] == isa.VERSION
    assert numbers["ID"] == isa.IDENTIFICATION
    for prefix, members in C_ENUMS.items():
        for member in members:
            assert numbers[f"{prefix}_{member.name}"] == member.value
    for register in isa.REGISTERS:
        assert numbers[f"REG_{register.name}"] == register.offset
        for entry in register.fields:
            place = register.layout[entry.name]
            name = f"REG_{register.name}_{entry.name.upper()}"
            assert numbers[f"{name}_SHIFT"] == place.offset
            assert numbers[f"{name}_MASK"] == ((1 << place.width) - 1) << place.offset
    for opcode, command in isa.COMMANDS.items():
        assert numbers[f"{opcode.name}_WORDS"] == command.words


def test_put_and_get_agree_with_the_instruction_set(tmp_path: Path) -> None:
    """A C program packs random commands field by field, and reads the fields back."""
    rng = np.random.default_rng(0)
    lines = []
    expected = []
    for opcode, command in isa.COMMANDS.items():
        fields: dict[str, int] = {}
        lines.append(f"{{ uint32_t w[{command.words}] = {{ 0 }};")
        for number, place in enumerate(command_places(opcode)):
            low = -(1 << (place.width - 1)) if place.signed else 0
            value = int(rng.integers(low, low + (1 << place.width)))
            fields[place.name] = opcode.value if place.name == "opcode" else value
            owner = "HEADER" if number < len(isa.HEADER) else opcode.name
            field = f"{owner}_{place.name.replace('.', '_').upper()}"
            bits = fields[place.name] & ((1 << place.width) - 1)
            # Other bits of the value must not disturb the neighbours.
            put = bits | (0xFFFFFFFF << place.width & 0xFFFFFFFF)
            lines.append(f"EIGHTFOLD_PUT(w, {field}, 0x{put:X}u);")
            lines.append(f"if (EIGHTFOLD_GET(w, {field}) != 0x{bits:X}u) return 1;")
        lines.append(PRINT % command.words)
        expected += command.encode(**fields).tolist()
    record = {name: 0 for name, _ in isa.REQUANTIZE_LAYOUT} | {"multiplier": 2**31 - 1, "low": -1}
    lines.append("{ uint32_t w[4] = { 0 }; EIGHTFOLD_PUT(w, REQUANTIZE_MULTIPLIER, 0x7FFFFFFFu);")
    lines.append("EIGHTFOLD_PUT(w, REQUANTIZE_LOW, (uint32_t)-1);")
    lines.append(PRINT % 4)
    (word,) = pack(isa.REQUANTIZE_LAYOUT, record)
    expected += np.frombuffer(word.to_bytes(16, "little"), "<u4").tolist()
    source = tmp_path / "main.c"
    body = "\n".join(lines)
    source.write_text(
        f'#include <stdio.h>\n#include "eightfold.h"\nint main(void) {{\n{body}\nreturn 0; }}\n'
    )
    (tmp_path / "eightfold.h").write_text(c_header(), encoding="utf-8")
    program = tmp_path / "main"
    subprocess.run([compiler("gcc"), "-std=c99", *STRICT, str(source), "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert [int(line) for line in done.stdout.split()] == expected
