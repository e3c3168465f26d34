"""The signals of the AXI4 memory port and of the AXI4-Lite register port, with AMBA's names."""

from typing import Any

from amaranth.hdl import Module, unsigned
from amaranth.lib import data
from amaranth.lib.wiring import Flow, In, Member, Out, Signature

from eightfold.hw.ports import BURST
from eightfold.isa import ADDRESS_BITS
from eightfold.target.config import AcceleratorConfig

ID_BITS = 1
"""The bits of a transaction's ID, always 0: answers come in the order of the requests."""

REGISTER_ADDRESS_BITS = 8
"""The bits of a byte address on the register port."""

OKAY = 0
"""The answer ``rresp`` or ``bresp`` that is no error."""

INCREMENT = 1
"""``arburst`` and ``awburst`` of a burst to rising addresses."""

NORMAL_MEMORY = 0b0011
"""``arcache`` and ``awcache``: bufferable, may be merged and split."""


def _address_members(channel: str) -> dict[str, Member]:
    """Return the channel ``ar`` or ``aw``, as seen from the master."""
    widths = {
        "addr": ADDRESS_BITS,
        "id": ID_BITS,
        "len": 8,
        "size": 3,
        "burst": 2,
        "lock": 1,
        "cache": 4,
        "prot": 3,
        "qos": 4,
        "valid": 1,
    }
    outputs = {f"{channel}{name}": Out(width) for name, width in widths.items()}
    return outputs | {f"{channel}ready": In(1)}


def axi_read_members(config: AcceleratorConfig) -> dict[str, Member]:
    """Return AXI4's read channels, AR and R, as seen from the master."""
    return _address_members("ar") | {
        "rdata": In(unsigned(8 * config.port)),
        "rid": In(ID_BITS),
        "rresp": In(2),
        "rlast": In(1),
        "rvalid": In(1),
        "rready": Out(1),
    }


def axi_write_members(config: AcceleratorConfig) -> dict[str, Member]:
    """Return AXI4's write channels, AW, W and B, as seen from the master."""
    return _address_members("aw") | {
        "wdata": Out(unsigned(8 * config.port)),
        "wstrb": Out(unsigned(config.port)),
        "wlast": Out(1),
        "wvalid": Out(1),
        "wready": In(1),
        "bid": In(ID_BITS),
        "bresp": In(2),
        "bvalid": In(1),
        "bready": Out(1),
    }


def axi_read(config: AcceleratorConfig) -> Signature:
    """Return `axi_read_members` as a signature."""
    return Signature(axi_read_members(config))


def axi_write(config: AcceleratorConfig) -> Signature:
    """Return `axi_write_members` as a signature."""
    return Signature(axi_write_members(config))


def axi4_members(config: AcceleratorConfig, prefix: str = "m_axi_") -> dict[str, Member]:
    """Return all AXI4 channels as members of a master, each name with ``prefix``."""
    members = axi_read_members(config) | axi_write_members(config)
    return {f"{prefix}{name}": member for name, member in members.items()}


def axi4_lite_members(prefix: str = "s_axi_") -> dict[str, Member]:
    """Return AXI4-Lite with 32 data bits as members of a slave, each name with ``prefix``."""
    members = {
        "awaddr": In(REGISTER_ADDRESS_BITS),
        "awprot": In(3),
        "awvalid": In(1),
        "awready": Out(1),
        "wdata": In(32),
        "wstrb": In(4),
        "wvalid": In(1),
        "wready": Out(1),
        "bresp": Out(2),
        "bvalid": Out(1),
        "bready": In(1),
        "araddr": In(REGISTER_ADDRESS_BITS),
        "arprot": In(3),
        "arvalid": In(1),
        "arready": Out(1),
        "rdata": Out(32),
        "rresp": Out(2),
        "rvalid": Out(1),
        "rready": In(1),
    }
    return {f"{prefix}{name}": member for name, member in members.items()}


def connect_flat(m: Module, outer: Any, prefix: str, inner: Any) -> None:
    """Connect a submodule's bus to the members of the same names and ``prefix`` around it.

    Parameters
    ----------
    m
        Module of ``outer``.
    outer
        Component with members such as `axi4_members`.
    prefix
        Of the members' names.
    inner
        A submodule's interface of signature `axi_read` or `axi_write`, or a submodule whose own
        members they are; members that ``outer`` does not have are left alone.
    """
    for name, member in inner.signature.members.items():
        if not hasattr(outer, f"{prefix}{name}"):
            continue
        around = getattr(outer, f"{prefix}{name}")
        inside = getattr(inner, name)
        m.d.comb += around.eq(inside) if member.flow is Flow.Out else inside.eq(around)


def address_layout() -> data.StructLayout:
    """Return what varies from burst to burst: port-aligned byte address, beats minus 1."""
    return data.StructLayout({"address": unsigned(ADDRESS_BITS), "length": range(BURST)})


def drive_address_constants(m: Module, bus: Any, channel: str, port: int) -> None:
    """Drive what never changes on the channel ``ar`` or ``aw`` of a bus of ``port`` bytes."""
    m.d.comb += [
        getattr(bus, f"{channel}id").eq(0),
        getattr(bus, f"{channel}size").eq(port.bit_length() - 1),
        getattr(bus, f"{channel}burst").eq(INCREMENT),
        getattr(bus, f"{channel}lock").eq(0),
        getattr(bus, f"{channel}cache").eq(NORMAL_MEMORY),
        getattr(bus, f"{channel}prot").eq(0),
        getattr(bus, f"{channel}qos").eq(0),
    ]
