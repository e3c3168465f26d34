"""Reads of several clients from the AXI4 memory port."""

from typing import Annotated, Any

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib.wiring import In, Out

from eightfold.hw.blocks.component import Component
from eightfold.hw.blocks.fifo import Fifo
from eightfold.hw.blocks.skid import Skid
from eightfold.hw.memory.axi import OKAY, address_layout, axi_read, drive_address_constants
from eightfold.hw.ports import memory_read
from eightfold.target.config import AcceleratorConfig


class MemoryReader(Component):
    """Share AXI4's read channels among clients, round robin, a burst at a time.

    All bursts have ID 0, so their beats come in order; a queue of client numbers tells whose they
    are. ``rready`` is always 1: a client asks only for what it has room for.

    Timing
    ------
    A request per cycle and a beat per cycle. ``arvalid`` follows a request by one cycle if nothing
    is before it, the client's ``valid`` follows ``rvalid`` by one cycle; all outputs but
    ``request.ready`` come from registers, and that depends on the clients' ``request.valid``
    alone. Requests wait while ``outstanding`` bursts are unanswered, or while ``stop``.

    Parameters
    ----------
    config
        ``port``.
    clients
        Number of clients, at least 1.
    outstanding
        Bursts that may be requested and not yet answered.

    Raises
    ------
    ValueError
        If ``clients`` or ``outstanding`` is less than 1.
    """

    clients: Annotated[list[Any], lambda self: In(memory_read(self.config)).array(self.count)]
    """Who reads."""
    axi: Annotated[Any, lambda self: Out(axi_read(self.config))]
    """The read channels."""
    stop: Annotated[Signal, In(1)]
    """No request is taken. Those that were taken, two of which may still wait for ``arready``,
    are completed, because AXI4 knows no way back, and their beats are delivered."""
    idle: Annotated[Signal, Out(1)]
    """Everything taken is answered and delivered: with ``stop``, clients may be reset."""
    error: Annotated[Signal, Out(1)]
    """For one cycle, together with the beat: memory has answered it with an error."""
    error_client: Annotated[Signal, lambda self: Out(range(max(2, self.count)))]
    """Whose beat that was."""

    def __init__(self, config: AcceleratorConfig, clients: int = 4, outstanding: int = 64) -> None:
        if clients < 1 or outstanding < 1:
            raise ValueError(f"needs clients and bursts, not {clients} and {outstanding}")
        self.config, self.count, self.outstanding = config, clients, outstanding
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.addresses = addresses = Skid(address_layout())
        m.submodules.route = route = Fifo(unsigned(self.count), self.outstanding)
        self._arbitrate(m, addresses, route)
        self._deliver(m, route)
        drive_address_constants(m, self.axi, "ar", self.config.port)
        m.d.comb += [
            self.axi.arvalid.eq(addresses.o.valid),
            addresses.o.ready.eq(self.axi.arready),
            self.axi.araddr.eq(addresses.o.payload.address),
            self.axi.arlen.eq(addresses.o.payload.length),
        ]
        return m

    def _arbitrate(self, m: Module, addresses: Skid, route: Fifo) -> None:
        """Take a request into the address register, and its client's number into the queue."""
        asking, above, grant = (Signal(self.count, name=n) for n in ("asking", "above", "grant"))
        room = Signal()
        take = Signal()
        chosen = Signal(address_layout())
        # Clients above the one served last go first; x & -x is the lowest bit that is set.
        candidates = Mux((asking & above).any(), asking & above, asking)
        m.d.comb += [
            asking.eq(Cat(client.request.valid for client in self.clients)),
            grant.eq(candidates & -candidates),
            room.eq(addresses.i.ready & route.w_rdy & ~self.stop),
            take.eq(asking.any() & room),
            addresses.i.valid.eq(take),
            addresses.i.payload.eq(chosen),
            route.w_en.eq(take),
            route.w_data.eq(grant),
        ]
        for number, client in enumerate(self.clients):
            m.d.comb += client.request.ready.eq(grant[number] & room)
            burst = client.request.payload
            with m.If(grant[number]):
                m.d.comb += [chosen.address.eq(burst.address), chosen.length.eq(burst.beats - 1)]
        with m.If(take):
            m.d.sync += above.eq(~(grant | (grant - 1)))

    def _deliver(self, m: Module, route: Fifo) -> None:
        """Register the beat, and give it to the client of the oldest burst."""
        axi = self.axi
        beat = Signal(8 * self.config.port, reset_less=True)
        valid = Signal(self.count)
        m.d.comb += [
            axi.rready.eq(1),
            route.r_en.eq(axi.rvalid & axi.rlast),
            self.idle.eq(~route.r_rdy & ~valid.any()),
        ]
        m.d.sync += [
            beat.eq(axi.rdata),
            valid.eq(Mux(axi.rvalid, route.r_data, 0)),
            self.error.eq(axi.rvalid & (axi.rresp != OKAY)),
        ]
        for number, client in enumerate(self.clients):
            m.d.comb += [client.valid.eq(valid[number]), client.data.eq(beat)]
            with m.If(route.r_data[number]):
                m.d.sync += self.error_client.eq(number)
