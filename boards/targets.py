"""The boards that files are made for: what is on them, and how LiteX reaches it."""

# Migen makes attributes that are assigned to by what is added to them.
# pyright: reportOperatorIssue=false

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from litedram.modules import M12L64322A, MT48LC16M16
from litedram.phy import GENSDRPHY
from litex.build.io import DDROutput
from litex.gen import ClockDomain, ClockSignal, LiteXModule
from litex.soc.cores.clock import ECP5PLL, S7PLL
from litex_boards.platforms import colorlight_i5, digilent_arty, radiona_ulx3s

from eightfold.boards.soc import BlockRam, Dram, Memory
from eightfold.common.errors import InputError


class Clock(LiteXModule):
    """The clock domain ``sys`` of ``clk_freq`` Hz, from the platform's own clock through a PLL.

    ``reset`` is the pin of a button, which is ``low`` or high while it is pressed; ``phase``:
    degrees that the clock of an SDRAM is behind; None: there is none.
    """

    def __init__(
        self,
        platform: Any,
        clk_freq: int,
        pll: Any,
        reset: str,
        *,
        low: bool = False,
        phase: int | None = None,
    ) -> None:
        self.cd_sys = ClockDomain()
        self.pll = pll
        button = platform.request(reset)
        self.comb += pll.reset.eq(~button if low else button)
        clock = platform.request(platform.default_clk_name)
        pll.register_clkin(clock, 1e9 / platform.default_clk_period)
        pll.create_clkout(self.cd_sys, clk_freq)
        if phase is not None:
            self.cd_sdram = ClockDomain(reset_less=True)
            pll.create_clkout(self.cd_sdram, clk_freq, phase=phase, with_reset=False)
            pad = platform.request("sdram_clock")
            self.specials += DDROutput(1, 0, pad, ClockSignal("sdram"))


class Target(NamedTuple):
    """A board."""

    device: str
    """Its FPGA, as the vendor writes it."""
    config: str
    """The preset that fits, with room for all that is around it."""
    platform: Callable[[], Any]
    """Makes its platform of LiteX: pins and constraints."""
    crg: Callable[[Any, int], Any]
    """Makes, of the platform and a frequency in Hz, what drives the clock domain ``sys``."""
    memories: Mapping[str, Callable[[Any, int], Memory]]
    """By name, what makes a memory of the platform and that frequency; the first is the default."""
    nextpnr: tuple[str, ...]
    """Options that select the part; empty if no free tool makes its bitstream, and the vendor's
    gets a project."""
    loader: str
    """The name that openFPGALoader has for it."""
    clock: int = 50_000_000
    """Of ``sys``, in Hz."""

    def memory_name(self, asked: str | None) -> str:
        """Return the name of one of its memories, the default for None.

        Raises `InputError` if it has none of that name.
        """
        found = asked or next(iter(self.memories))
        if found not in self.memories:
            raise InputError(f"--memory of this board must be one of {', '.join(self.memories)}")
        return found


def _block_ram(size: int) -> Callable[[Any, int], Memory]:
    return lambda platform, clock: BlockRam(size)


def _sdram(chip: Callable[[int, str], Any]) -> Callable[[Any, int], Memory]:
    return lambda platform, clock: Dram(
        GENSDRPHY(platform.request("sdram"), clock), chip(clock, "1:1")
    )


class _Ulx3sClock(Clock):
    def __init__(self, platform: Any, clk_freq: int) -> None:
        super().__init__(platform, clk_freq, ECP5PLL(), "rst", phase=90)
        # Its other processor resets the FPGA otherwise.
        self.comb += platform.request("wifi_gpio0").eq(1)


def _ulx3s(size: str, config: str, block_ram: int) -> Target:
    return Target(
        device=f"LFE5U-{size}F",
        config=config,
        platform=lambda: radiona_ulx3s.Platform(f"LFE5U-{size}F", revision="2.0"),
        crg=_Ulx3sClock,
        memories={"sdram": _sdram(MT48LC16M16), "block-ram": _block_ram(block_ram)},
        nextpnr=(f"--{size}k", "--package", "CABGA381", "--speed", "6"),
        loader="ulx3s",
    )


def _colorlight(name: str, revision: str, size: str, config: str, block_ram: int) -> Target:
    return Target(
        device=f"LFE5U-{size}F",
        config=config,
        platform=lambda: colorlight_i5.Platform(name, revision=revision),
        crg=lambda platform, clock: Clock(
            platform, clock, ECP5PLL(), "cpu_reset_n", low=True, phase=180
        ),
        memories={"sdram": _sdram(M12L64322A), "block-ram": _block_ram(block_ram)},
        nextpnr=(f"--{size}k", "--package", "CABGA381", "--speed", "6"),
        loader=f"colorlight-{name}",
    )


TARGETS: Mapping[str, Target] = {
    "ulx3s-25f": _ulx3s("25", "pico", 1 << 15),
    "ulx3s-45f": _ulx3s("45", "nano", 1 << 17),
    "ulx3s-85f": _ulx3s("85", "small", 1 << 18),
    "colorlight-i5": _colorlight("i5", "7.0", "25", "pico", 1 << 15),
    "colorlight-i9": _colorlight("i9", "7.2", "45", "nano", 1 << 17),
    "arty-a7": Target(
        device="XC7A100T",
        config="nano",
        platform=lambda: digilent_arty.Platform("a7-100"),
        crg=lambda platform, clock: Clock(
            platform, clock, S7PLL(speedgrade=-1), "cpu_reset", low=True
        ),
        # Its DDR3 needs delays that a processor finds by trial; a host at a serial line does not.
        memories={"block-ram": _block_ram(1 << 18)},
        nextpnr=(),
        loader="arty_a7_100t",
    ),
}
"""By the name that a user gives."""


def target_of(name: str) -> Target:
    """Return a board.

    Raises `InputError` if there is none of the name.
    """
    if name not in TARGETS:
        raise InputError(f"board must be one of {', '.join(TARGETS)}, not {name!r}")
    return TARGETS[name]
