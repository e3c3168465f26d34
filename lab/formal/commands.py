"""The command decoder: what reaches a queue keeps every rule, whatever the words are."""

from functools import partial

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from eightfold.hw.control.command_decoder import CommandDecoder
from eightfold.hw.control.command_rules import QUEUES
from eightfold.isa import COMMANDS, ENGINES, VERSION, Engine, Opcode, configuration_words
from eightfold.target.config import PRESETS
from lab.formal.checker import Checked, Property, implies
from lab.formal.proof import Break, Proof

LONGEST = max(command.words for command in COMMANDS.values())

TOKENS = ("wait", "signal")
"""Fields of the header in which only the bits of engines count, and only in engines' commands."""


def free_bits(opcode: Opcode) -> list[int]:
    """Return for each word of a command which bits may be 1, as the instruction set has it."""
    command = COMMANDS[opcode]
    bits = 0
    for name, field in command.layout:
        width = field.width
        if name in TOKENS:
            width = len(Engine) if opcode in ENGINES else 0
        bits |= ((1 << width) - 1) << field.offset
    return [bits >> 32 * word & 0xFFFF_FFFF for word in range(command.words)]


class Decoded(Property):
    """What the queues are offered is read again, as a stream of legal commands alone.

    Parameters
    ----------
    numbered
        Whether the numbers in the headers are looked at, which count the commands.
    """

    def __init__(self, numbered: bool) -> None:
        self._numbered = numbered
        super().__init__()

    def build(self, m: Module) -> None:
        config = PRESETS["nano"]
        m.submodules.unit = unit = CommandDecoder(config)
        valid, word = self.free("valid"), self.free("word", 32)
        m.d.comb += [
            unit.words.valid.eq(valid),
            unit.words.payload.eq(word),
            unit.exhausted.eq(self.free("exhausted")),
        ]
        ready = self.free("ready", len(QUEUES))
        for number, queue in enumerate(unit.queues):
            m.d.comb += queue.ready.eq(ready[number])
        begun = self._begun(m, valid & unit.words.ready, word, config)
        offers = Cat(queue.valid for queue in unit.queues)
        offered = Signal(32)
        for queue in unit.queues:
            with m.If(queue.valid):
                m.d.comb += offered.eq(queue.payload)
        self.always(implies(offers.any(), begun))
        self.always((offers & (offers - 1)) == 0)
        self.always(implies(self.before(unit.ended), ~offers.any()))
        self._read(m, offers, offered, ready, unit.last)

    def _begun(self, m: Module, taken: Value, word: Value, config: object) -> Signal:
        """Return whether the stream has begun with BEGIN, every bit as it must be."""
        expected = [Opcode.BEGIN.value, VERSION, *configuration_words(PRESETS["nano"])]
        place = Signal(range(len(expected) + 1))
        wrong = Signal()
        begun = Signal()
        m.d.comb += begun.eq((place == len(expected)) & ~wrong)
        with m.If(taken & (place != len(expected))):
            m.d.sync += place.eq(place + 1)
            with m.If(word != Array(Const(each, 32) for each in expected)[place]):
                m.d.sync += wrong.eq(1)
        return begun

    def _read(self, m: Module, offers: Value, word: Value, ready: Value, last: Value) -> None:
        place = Signal(range(LONGEST))
        number = Signal(16, init=1)
        current = Signal(8)
        opcode = Mux(place == 0, word[:8], current)
        queued = [each for opcodes in QUEUES for each in opcodes if each != Opcode.END]
        for queue, opcodes in enumerate(QUEUES):
            mine = Cat(opcode == each.value for each in opcodes).any()
            self.always(implies(offers[queue], mine))
        moves = (offers & ready).any()
        for each in queued:
            words = free_bits(each)
            with m.If(offers.any() & (opcode == each.value)):
                for at, bits in enumerate(words):
                    with m.If(place == at):
                        self.always((word & ~Const(bits, 32)) == 0)
                self.always(place < len(words))
                self.always(last == (place == len(words) - 1))
        if self._numbered:
            self.always(implies(offers.any() & (place == 0), word[16:] == number))
        with m.If(moves):
            m.d.sync += [current.eq(opcode), place.eq(Mux(last, 0, place + 1))]
            with m.If(place == 0):
                m.d.sync += number.eq(number + 1)
        self.reaches("a word of a command reaches a queue", moves & (place == 1))


FILE = "hw/control/command_decoder.py"

RULES = (
    "`CommandDecoder`: what the queues are offered are whole commands of theirs, of known opcodes, "
    "no unused bit set, one at a time; nothing before every bit of BEGIN was right or after END"
)

BREAKS = (
    Break("((ruled.word ^ expected) & mask).any()", "((ruled.word ^ expected) & mask)[1:].any()"),
    Break("begin ^ first", "begin & ~first"),
    Break("legal = self.checked_valid & ~broken", "legal = self.checked_valid"),
)

PROOFS: tuple[Proof, ...] = (
    Checked(
        name="commands",
        file=FILE,
        text=RULES + "; commands are numbered without a gap",
        make=partial(Decoded, True),
        depth=12,
        reach=12,
        limit=300,
        long=True,
        breaks=(
            *BREAKS,
            Break("ruled.header & (index != self.number)", "ruled.header & (index < self.number)"),
        ),
    ),
)
