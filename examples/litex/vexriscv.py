"""Digits on a SoC with a processor: the driver in C as firmware of VexRiscv.

    python -m examples.litex.vexriscv [MEMORY] [PRESET]

The SoC is simulated; what the firmware prints comes from its UART's pins.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from litex.soc.integration import export
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.soc_core import SoCCore

from eightfold.boards.simulation import BIT, CLOCK, SimulationPlatform, memory, simulate
from eightfold.boards.soc import Memory, add_memory
from eightfold.common.errors import InputError
from eightfold.compiler import compile_network
from eightfold.compiler.artifacts import write_compiled, write_driver
from eightfold.operators import load_int8
from eightfold.sim.simulator.sources import Unit
from eightfold.target.config import PRESETS, AcceleratorConfig
from examples.digits import images
from examples.digits.network import MODEL_FILE, TEST_FILE

FIRMWARE = Path(__file__).with_name("firmware")

COMPILERS = ("riscv64-unknown-elf", "riscv32-unknown-elf", "riscv-none-elf")
"""What the names of GCC's and binutils' programs begin with."""

OPTIONS = ["-march=rv32im", "-mabi=ilp32", "-Os", "-ffreestanding", "-nostdlib", "-static"]


class VexRiscvSoC(SoCCore):
    """VexRiscv with ROM, a UART, and memory that it shares with an accelerator."""

    def __init__(self, platform: SimulationPlatform, memory: Memory, verilog: Path) -> None:
        super().__init__(
            platform,
            CLOCK,
            cpu_type="vexriscv",
            integrated_rom_size=1 << 16,
            integrated_sram_size=1 << 13,
            with_timer=False,
            uart_baudrate=CLOCK // BIT,
            ident="",
            ident_version=False,
        )
        self.crg = platform.crg
        add_memory(self, memory, verilog)


def compiler() -> str:
    """Return the one of `COMPILERS` that is installed; raise `InputError` if none is."""
    for name in COMPILERS:
        if shutil.which(f"{name}-gcc"):
            return name
    raise InputError("no RISC-V compiler is installed: apt-get install gcc-riscv64-unknown-elf")


def firmware(soc: SoCCore, config: AcceleratorConfig, count: int) -> list[int]:
    """Return the firmware's words for a finalized SoC: digits, the driver, so many images."""
    name = compiler()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_driver(folder)
        graph = load_int8(MODEL_FILE.read_bytes())
        (compiled,) = compile_network(graph, config).streams
        write_compiled(graph, {folder / "digits": compiled}, "digits")
        rows = images.load(TEST_FILE)[0][:count].reshape(count, -1).tolist()
        text = ",\n".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
        text = f"#define IMAGES {count}u\nstatic const signed char images[][64] = {{{text}}};"
        (folder / "images.h").write_text(text)
        (folder / "generated").mkdir()
        headers = {
            "csr": export.get_csr_header(
                soc.csr_regions,
                soc.constants,
                csr_base=soc.mem_regions["csr"].origin,
                with_access_functions=False,
            ),
            "mem": export.get_mem_header(soc.mem_regions),
        }
        for header, content in headers.items():
            (folder / "generated" / f"{header}.h").write_text(content)
        sources = [FIRMWARE / "main.c", "eightfold.c", "digits/layout.c"]
        link = ["-I.", f"-T{FIRMWARE / 'link.ld'}", *sources, "-o", "all.elf"]
        for command in (
            [f"{name}-gcc", *OPTIONS, *link],
            [f"{name}-objcopy", "-O", "binary", "all.elf", "all.bin"],
        ):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InputError(f"{command[0]} fails:\n{done.stderr}")
        return get_mem_data(str(folder / "all.bin"), data_width=32, endianness="little")


def run(name: str, preset: str, count: int) -> Iterator[str]:
    """Yield the lines that the firmware prints: one for each image, then how it has ended."""
    config = PRESETS[preset]
    platform = SimulationPlatform()
    soc = VexRiscvSoC(platform, memory(name), Unit("accelerator", config).file())
    soc.finalize()
    soc.init_rom("rom", firmware(soc, config, count), auto_size=False)
    with simulate(soc) as port, Path(port).open("rb") as uart:
        line = "digits"
        while line.startswith("digits"):
            line = uart.readline().decode().strip()
            yield line


if __name__ == "__main__":
    chosen = [*sys.argv[1:], *("litedram-sdr-16", "nano")[len(sys.argv) - 1 :]]
    for line in run(*chosen[:2], count=3):
        print(line)
