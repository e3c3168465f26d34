"""Commands and tokens: what reaches a queue keeps every rule, and no token is lost or taken twice.

What the decoder does is proved whatever the words are. A counter of tokens is a number, so what it
is after a cycle is claimed of any number before it: induction, a cycle at a time.
"""

from collections.abc import Iterator
from functools import partial

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value

from eightfold.hw.control.command_decoder import CommandDecoder
from eightfold.hw.control.command_rules import QUEUES
from eightfold.hw.control.tokens import TokenCounter, Tokens
from eightfold.isa import COMMANDS, ENGINES, VERSION, Engine, Opcode, configuration_words
from eightfold.target.config import PRESETS
from lab.formal.checker import Checked, Property, implies
from lab.formal.proof import Break, Proof
from lab.formal.solver import Claim, Solved, Symbolic, Term, z3

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


def decoded(p: Property, m: Module, *, numbered: bool) -> None:
    """What the queues are offered is read again, as a stream of legal commands alone.

    ``numbered``: whether the numbers in the headers are looked at, which count the commands.
    """
    config = PRESETS["nano"]
    m.submodules.unit = unit = CommandDecoder(config)
    valid, word = p.drive("valid", unit.words.valid), p.drive("word", unit.words.payload)
    p.drive("exhausted", unit.exhausted)
    ready = p.free("ready", len(QUEUES))
    for number, queue in enumerate(unit.queues):
        m.d.comb += queue.ready.eq(ready[number])
    begun = _begun(m, valid & unit.words.ready, word)
    offers = Cat(queue.valid for queue in unit.queues)
    offered = Signal(32)
    for queue in unit.queues:
        with m.If(queue.valid):
            m.d.comb += offered.eq(queue.payload)
    p.always(implies(offers.any(), begun))
    p.always((offers & (offers - 1)) == 0)
    p.always(implies(p.before(unit.ended), ~offers.any()))
    _read(p, m, offers, offered, ready, unit.last, numbered)


def _begun(m: Module, taken: Value, word: Value) -> Signal:
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


def _read(
    p: Property, m: Module, offers: Value, word: Value, ready: Value, last: Value, numbered: bool
) -> None:
    place = Signal(range(LONGEST))
    number = Signal(16, init=1)
    current = Signal(8)
    opcode = Mux(place == 0, word[:8], current)
    queued = [each for opcodes in QUEUES for each in opcodes if each != Opcode.END]
    for queue, opcodes in enumerate(QUEUES):
        mine = Cat(opcode == each.value for each in opcodes).any()
        p.always(implies(offers[queue], mine))
    moves = (offers & ready).any()
    for each in queued:
        words = free_bits(each)
        with m.If(offers.any() & (opcode == each.value)):
            for at, bits in enumerate(words):
                with m.If(place == at):
                    p.always((word & ~Const(bits, 32)) == 0)
            p.always(place < len(words))
            p.always(last == (place == len(words) - 1))
    if numbered:
        p.always(implies(offers.any() & (place == 0), word[16:] == number))
    with m.If(moves):
        m.d.sync += [current.eq(opcode), place.eq(Mux(last, 0, place + 1))]
        with m.If(place == 0):
            m.d.sync += number.eq(number + 1)
    p.reaches("a word of a command reaches a queue", moves & (place == 1))


def counter() -> Iterator[Claim]:
    """Claim what a counter is after a cycle, and after a reset."""
    unit = Symbolic(TokenCounter())
    before, after = (unit.signal("count", cycle) for cycle in (0, 1))
    consistent = [
        (unit.signal("available", cycle) == 1) == (unit.signal("count", cycle) != 0)
        for cycle in (0, 1)
    ]
    give, take, reset = (unit.signal(name, 0) == 1 for name in ("give", "take", "rst"))
    most = 2**TokenCounter.BITS - 1
    assumed = [consistent[0], z3.Implies(take, before != 0)]
    more = z3.If(z3.And(give, z3.Not(take), before != most), before + 1, before)
    counted = z3.If(z3.And(take, z3.Not(give)), before - 1, more)
    yield Claim(
        "a count of what is given and not taken", after == z3.If(reset, 0, counted), assumed
    )
    yield Claim("a token where the count is not 0", consistent[1], assumed)


def grants() -> Iterator[Claim]:
    """Claim who is granted, and what each counter gives and takes for it."""
    unit = Symbolic(Tokens())

    def bit(name: str, place: int) -> Term:
        return z3.Extract(place, place, unit.signal(name, 0)) == 1

    for taker in range(len(Engine)):
        waits = [bit("wait", len(Engine) * taker + giver) for giver in range(len(Engine))]
        available = [bit(f"from{giver}_to{taker}.available", 0) for giver in range(len(Engine))]
        every = [z3.Implies(*each) for each in zip(waits, available, strict=True)]
        granted = bit("grant", taker)
        yield Claim("a grant of all or none", granted == z3.And(bit("request", taker), *every))
        for giver in range(len(Engine)):
            name = f"from{giver}_to{taker}"
            yield Claim(
                f"what {name} takes", bit(f"{name}.take", 0) == z3.And(granted, waits[giver])
            )
            yield Claim(
                f"what {name} is given",
                bit(f"{name}.give", 0) == bit("give", len(Engine) * giver + taker),
            )


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
    Solved(
        name="token-counter",
        file="hw/control/tokens.py",
        text="`TokenCounter`: its count is that of the tokens given and not taken, up to its "
        "highest value, where it stays; a token is available where it is not 0; by induction",
        assumed="a token is taken only if there is one, which the next proof shows",
        claims=counter,
        breaks=(
            Break("available.eq(count != 1)", "available.eq(count != 2)"),
            Break("& ~count.all()", ""),
            Break("loses = self.take & ~self.give", "loses = self.take"),
        ),
    ),
    Solved(
        name="token-grants",
        file="hw/control/tokens.py",
        text="`Tokens`: a command is granted if a token is there from each engine that it waits "
        "for, and takes those alone; a token that is given reaches its own counter",
        claims=grants,
        breaks=(
            Break("(~wait | Cat(*available)).all()", "(~wait | Cat(*available))[1:].all()"),
            Break("counter.take.eq(self.grant[taker] & waits)", "counter.take.eq(waits)"),
            Break("Value.cast(self.give[giver])[taker]", "Value.cast(self.give[taker])[giver]"),
        ),
    ),
    Checked(
        name="commands",
        file=FILE,
        text=RULES + "; commands are numbered without a gap",
        build=partial(decoded, numbered=True),
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
