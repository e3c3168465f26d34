"""Fetches of parts of a region: what is fetched lies in it, and what does not is refused.

A part is judged in three cycles, one state of the unit after the other; what each state does is
claimed of all values of all registers, so it holds of any run. That requests stay in the run which
is passed on is the proof of `LinearFetch`.
"""

from collections.abc import Iterator

from eightfold.hw.memory.region_fetch import RegionFetch
from eightfold.hw.ports import BURST
from eightfold.isa import ADDRESS_BITS
from eightfold.target.config import PRESETS
from lab.formal.proof import Break, Proof
from lab.formal.solver import Claim, Solved, z3
from lab.formal.symbolic import Symbolic

CONFIG = PRESETS["nano"]
WIDE = ADDRESS_BITS + 4
ADD, COMPARE, TAKE = range(3)


def parts() -> Iterator[Claim]:
    """Claim what becomes of a part, from the cycle on in which it is looked at."""
    unit = Symbolic(RegionFetch(CONFIG, 4 * BURST, ADDRESS_BITS, CONFIG.port))
    state = [unit.signal("fsm_state", cycle) for cycle in range(3)]
    held = [
        unit.signal(name, cycle) == unit.signal(name, 0)
        for name in ("region", "parts__payload", "parts__valid")
        for cycle in (1, 2)
    ]
    assumed = [*(unit.signal("rst", cycle) == 0 for cycle in range(2)), *held]
    region, part = (unit.signal(name, 0) for name in ("region", "parts__payload"))
    base, size, address, count = (
        z3.ZeroExt(WIDE - ADDRESS_BITS, z3.Extract(low + ADDRESS_BITS - 1, low, word))
        for word in (region, part)
        for low in (0, ADDRESS_BITS)
    )
    assumed += [base % CONFIG.port == 0, size % CONFIG.port == 0]
    assumed += [z3.ULE(base + size, 1 << ADDRESS_BITS)]
    begins = [*assumed, state[ADD] == ADD, unit.signal("parts__valid", 0) == 1]
    yield Claim("two cycles to judge it", z3.And(state[1] == COMPARE, state[2] == TAKE), begins)
    legal = z3.And(z3.URem(address, CONFIG.port) == 0, z3.ULE(address + count, size))
    yield Claim("a fault of what is not legal", (unit.signal("fault", 2) == 1) != legal, begins)
    passed = unit.signal("fetch.runs__valid", 2) == 1
    run = unit.signal("fetch.runs__payload", 2)
    start = z3.ZeroExt(WIDE - ADDRESS_BITS, z3.Extract(ADDRESS_BITS - 1, 0, run))
    beats = z3.ZeroExt(WIDE - 32, z3.Extract(ADDRESS_BITS + 31, ADDRESS_BITS, run))
    end = start + beats * CONFIG.port
    inside = z3.And(start == base + address, z3.UGE(end, start + count), z3.ULE(end, base + size))
    yield Claim("a run of the part's beats, in the region", passed == legal, begins)
    none = z3.And(count == 0, beats == 0)  # at the end of memory its address wraps to 0
    yield Claim("a run in the region", z3.Implies(passed, z3.Or(none, inside)), begins)
    waits = [*assumed, state[0] != TAKE, z3.ULT(state[0], 3)]
    idle = [unit.signal(name, 0) == 0 for name in ("fetch.runs__valid", "parts__ready", "fault")]
    yield Claim("nothing passed on before it is judged", z3.And(*idle), waits)
    stays = [*assumed, state[0] == TAKE, unit.signal("parts__ready", 0) == 0]
    same = [
        unit.signal(name, 1) == unit.signal(name, 0)
        for name in ("fsm_state", "fetch.runs__payload", "misplaced")
    ]
    yield Claim("the same run until it is taken", z3.And(*same), stays)


PROOFS: tuple[Proof, ...] = (
    Solved(
        name="region-fetch",
        file="hw/memory/region_fetch.py",
        text="`RegionFetch`: the run that is fetched begins at the part, has as many beats as it "
        "needs and lies in the region; a part is refused if and only if it is not aligned or "
        "leaves the region",
        assumed="the part stays until it is taken, and the region meanwhile; the region begins and "
        "ends at whole beats and in memory",
        claims=parts,
        breaks=(
            Break("end > self.region.size", "end[:-1] > self.region.size"),
            Break("unaligned | (end >", "(end >"),
            Break("(port - 1)) // port", "port) // port"),
        ),
    ),
)
