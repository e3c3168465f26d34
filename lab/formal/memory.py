"""Memory: the ports keep AXI4's rules, idle means nothing is open, fetches lie in their region.

A fetch of a part of a region is judged in three cycles, one state of the unit after the other; what
each state does is claimed of all values of all registers, so it holds of any run. That requests
stay in the run which is passed on is the proof of `LinearFetch`.
"""

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from eightfold.hw.memory.linear_fetch import LinearFetch
from eightfold.hw.memory.reader import MemoryReader
from eightfold.hw.memory.region_fetch import RegionFetch
from eightfold.hw.memory.writer import MemoryWriter
from eightfold.hw.ports import BURST
from eightfold.isa import ADDRESS_BITS
from eightfold.target.config import PRESETS
from lab.formal.checker import Checked, Property, implies
from lab.formal.proof import Break, Proof
from lab.formal.solver import Claim, Solved, Symbolic, z3

CONFIG = PRESETS["nano"]
PAGE = 4096


def _burst(p: Property, client: Any, name: str) -> None:
    """Drive a client's requests: of 1 to `BURST` beats, within a multiple of `BURST` beats.

    What is asked for stays until it is taken.
    """
    request = client.request
    valid = p.drive(f"{name}_valid", request.valid)
    address = p.drive(f"{name}_address", request.payload.address)
    beats = p.drive(f"{name}_beats", request.payload.beats)
    shift = CONFIG.port.bit_length() - 1
    place = (address >> shift)[: BURST.bit_length() - 1]
    p.assume(implies(valid, (beats != 0) & (place + beats <= BURST)))
    p.assume(implies(valid, address[:shift] == 0))
    p.assume(p.stable(valid, request.ready, Cat(address, beats)))


def _address(p: Property, axi: Any, channel: str, ready: Value) -> Value:
    """Claim what holds of an address channel; return whether it transfers."""
    valid, address, length = (getattr(axi, f"{channel}{n}") for n in ("valid", "addr", "len"))
    p.always(p.stable(valid, ready, Cat(address, length)))
    last = address[:12] + (length + 1) * CONFIG.port
    p.always(implies(valid, (length < BURST) & (last <= PAGE)))
    return valid & ready


OUTSTANDING = 3
"""Bursts of a reader that are under way."""


def reads(p: Property, m: Module) -> None:
    """A `MemoryReader` of two clients, which may have a few bursts outstanding."""
    m.submodules.unit = unit = MemoryReader(CONFIG, clients=2, outstanding=OUTSTANDING)
    stop = p.drive("stop", unit.stop)
    for number, client in enumerate(unit.clients):
        _burst(p, client, f"client{number}")
    axi = unit.axi
    arready, rvalid = p.drive("arready", axi.arready), p.free("rvalid")
    p.drive("rdata", axi.rdata)
    asked = _address(p, axi, "ar", arready)
    # Memory: lengths of the bursts that it was asked for, the oldest first.
    lengths = [Signal(4, name=f"length{i}") for i in range(OUTSTANDING + 2)]
    waiting = Signal(range(len(lengths) + 1))
    answers = rvalid & (waiting != 0)
    last = answers & (lengths[0] == 0)
    m.d.comb += [axi.rvalid.eq(answers), axi.rlast.eq(last)]
    kept = waiting - last
    m.d.sync += waiting.eq(kept + asked)
    for number, each in enumerate(lengths):
        following = lengths[number + 1] if number + 1 < len(lengths) else each
        left = each - answers if number == 0 else each
        here = asked & (kept == number)
        m.d.sync += each.eq(Mux(here, axi.arlen, Mux(last, following, left)))
    taken = Cat(client.request.valid & client.request.ready for client in unit.clients)
    p.always(axi.rready)
    p.always((taken & (taken - 1)) == 0)
    p.always(implies(stop, ~taken.any()))
    p.always(implies(unit.idle, (waiting == 0) & ~axi.arvalid))
    p.always(waiting <= OUTSTANDING)
    delivered = Cat(client.valid for client in unit.clients)
    p.always(delivered.any() == p.before(answers))
    p.always((delivered & (delivered - 1)) == 0)
    p.reaches("two bursts are outstanding", waiting == 2)
    p.reaches("a burst has ended and the reader is idle", p.before(last) & ~asked)


def writes(p: Property, m: Module) -> None:
    """A `MemoryWriter`, whose client brings beats when it likes."""
    m.submodules.unit = unit = MemoryWriter(CONFIG)
    axi, client = unit.axi, unit.client
    _burst(p, client, "client")
    stop = p.drive("stop", unit.stop)
    awready, wready = p.drive("awready", axi.awready), p.drive("wready", axi.wready)
    p.drive("beat", client.beats.valid)
    p.drive("data", client.beats.payload.data)
    asked = _address(p, axi, "aw", awready)
    p.always(p.stable(axi.wvalid, wready, Cat(axi.wdata, axi.wstrb, axi.wlast)))
    taken = client.request.valid & client.request.ready
    p.always(implies(stop, ~taken))
    # Beats that the client has brought, and that belong to no burst taken.
    spare = Signal(range(unit.BEATS + 1))
    size = client.request.payload.beats
    brings = client.beats.valid & client.beats.ready
    m.d.sync += spare.eq(spare + brings - Mux(taken, size, 0))
    p.always(implies(taken, size <= spare))
    sent = axi.wvalid & wready
    ended = sent & axi.wlast
    # Lengths of the bursts taken whose beats have not all left, the oldest first.
    depth = unit.OUTSTANDING + 1
    lengths = [Signal(range(BURST + 1), name=f"length{i}") for i in range(4)]
    under_way = Signal(range(depth + 1))
    position = Signal(range(BURST))
    kept = under_way - ended
    m.d.sync += [under_way.eq(kept + taken), position.eq(Mux(ended, 0, position + sent))]
    for number, each in enumerate(lengths):
        following = lengths[number + 1] if number + 1 < len(lengths) else each
        moved = Mux(ended, following, each)
        here = taken & (kept == number)
        m.d.sync += each.eq(Mux(here, size, moved))
    p.assume(under_way <= len(lengths))
    p.always(implies(axi.wvalid, under_way != 0))
    p.always(implies(axi.wvalid, axi.wlast == (position + 1 == lengths[0])))
    # Memory answers what it has the address and the last beat of.
    addresses, data_ended = Signal(range(depth + 1)), Signal(range(depth + 1))
    answers = p.free("answers") & (addresses != 0) & (data_ended != 0)
    outstanding = Signal(range(depth + 1))
    m.d.comb += axi.bvalid.eq(answers)
    m.d.sync += [
        addresses.eq(addresses + asked - answers),
        data_ended.eq(data_ended + ended - answers),
        outstanding.eq(outstanding + taken - answers),
    ]
    p.always(axi.bready)
    p.always(implies(unit.idle, (outstanding == 0) & ~axi.awvalid & ~axi.wvalid))
    p.always(implies(unit.idle, ~client.answered))
    p.always(outstanding <= unit.OUTSTANDING)
    p.always(client.answered == p.before(answers))
    p.reaches("a burst of three beats ends", ended & (position == 2))
    p.reaches("a burst is answered", answers)


def runs(p: Property, m: Module) -> None:
    """A `LinearFetch` of one run at a time; memory answers any beat that it was asked for."""
    depth = 2 * BURST
    m.submodules.unit = unit = LinearFetch(CONFIG, depth)
    shift = CONFIG.port.bit_length() - 1
    request, run = unit.memory.request, unit.runs.payload
    valid, beats = p.drive("valid", unit.runs.valid), p.drive("beats", run.beats)
    address = p.drive("address", run.address)
    ready, granted = p.drive("ready", unit.o.ready), p.drive("granted", request.ready)
    owed = Signal(range(2 * depth))
    answers = p.free("answers") & (owed != 0)
    p.drive("yields", unit.yields)
    m.d.comb += unit.memory.valid.eq(answers)
    asks, taken = request.valid & granted, valid & unit.runs.ready
    size = request.payload.beats
    # What of the run has not been asked for: everything that is, must be its next part.
    first, left = Signal(ADDRESS_BITS - shift), Signal(32)
    with m.If(taken):
        m.d.sync += [first.eq(address[shift:]), left.eq(beats)]
    with m.Elif(asks):
        m.d.sync += [first.eq(first + size), left.eq(left - size)]
    m.d.sync += owed.eq(owed + Mux(asks, size, 0) - answers)
    within = (first[: BURST.bit_length() - 1] + size) <= BURST
    p.always(p.stable(request.valid, granted, Value.cast(request.payload)))
    p.always(implies(request.valid, (size != 0) & (size <= left) & within))
    p.always(implies(request.valid, request.payload.address == (first << shift)[:32]))
    p.always(implies(taken, left == 0))
    held = Signal(range(2 * depth))
    m.d.sync += held.eq(held + answers - (unit.o.valid & ready))
    # The queue's places, and the register behind it.
    p.always(owed + held <= depth + 1)
    p.reaches("two bursts of a run are asked for", asks & (left == size) & (beats == 0))


DEPTH = 12
"""Cycles in which counts of 32 bits have no invariant that is found in reasonable time."""

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
    Checked(
        name="memory-reader",
        file="hw/memory/reader.py",
        text="`MemoryReader` of two clients: addresses are stable until they are taken, bursts"
        " have 1 to 16 beats and cross no 4 KiB, each beat goes to one client, nothing is"
        " taken with `stop`, `idle` means that nothing is outstanding or undelivered",
        assumed="clients ask for bursts within a multiple of 16 beats; memory answers what it was"
        " asked for",
        build=reads,
        reach=DEPTH,
        limit=300,
        long=True,
        breaks=(
            Break("self.idle.eq(~route.r_rdy & ~valid.any())", "self.idle.eq(~valid.any())"),
            Break(" & ~self.stop", ""),
            Break("length.eq(burst.beats - 1)", "length.eq(burst.beats)"),
        ),
    ),
    Checked(
        name="memory-writer",
        file="hw/memory/writer.py",
        text="`MemoryWriter`: addresses and beats are stable until they are taken, bursts have"
        " 1 to 16 beats and cross no 4 KiB, `wlast` comes with the last beat, a burst "
        "begins only when all its beats are there and never with `stop`, `idle` means "
        "that all are answered and the client knows",
        assumed="the client asks for bursts within a multiple of 16 beats; memory answers a burst"
        " after its address and its last beat; beats of at most four bursts are under way",
        build=writes,
        depth=DEPTH,
        reach=DEPTH,
        limit=300,
        long=True,
        breaks=(
            Break("(stored >= request.payload.beats)", "(stored != 0)"),
            Break("position == lengths.r_data", "position == lengths.r_data - 1"),
            Break("(unanswered == 0) & ~self.client.answered", "unanswered == 0"),
            Break("& ~self.stop", ""),
        ),
    ),
    Checked(
        name="linear-fetch",
        file="hw/memory/linear_fetch.py",
        text="`LinearFetch`: requests are the run's next beats in order, none beyond it, none "
        "across a multiple of 16 beats, stable until they are taken, and never for more "
        "beats than there is room for",
        assumed="memory answers what it was asked for",
        build=runs,
        depth=DEPTH,
        reach=DEPTH,
        limit=300,
        long=True,
        breaks=(
            Break("BURST - (beat % BURST)", "Value.cast(BURST)"),
            Break("(room >= burst)", "(room != 0)"),
            Break("run.beats, left, burst)", "run.beats, left, 0)"),
        ),
    ),
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
