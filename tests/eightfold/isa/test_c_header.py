"""eightfold.h compiles in C99 and C++, and packs commands as the instruction set does."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from eightfold import isa
from eightfold.isa.c_header import ENUMS, c_header
from eightfold.isa.decode import command_places
from eightfold.isa.shapes import pack

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]

PRINT = 'for (int i = 0; i < %d; i++) printf("%%lu\\n", (unsigned long)w[i]); }'


def macros() -> dict[str, int]:
    """Return the header's plain numbers."""
    found = re.findall(r"^#define EIGHTFOLD_(\w+) (0x[0-9A-F]+|\d+)u?\b", c_header(), re.MULTILINE)
    values = re.findall(r"^    EIGHTFOLD_(\w+) = (\d+)", c_header(), re.MULTILINE)
    assert len({name for name, _ in found + values}) == len(found + values), "a name twice"
    return {name: int(value, 0) for name, value in found + values}


def compiler(name: str) -> str:
    """Return the compiler's path, or skip the test."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name}")
    return path


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
    for prefix, members in ENUMS.items():
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
