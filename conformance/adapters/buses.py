"""Buses of registers, as parts of a harness: signals, and what is done with them in a cycle.

Everything happens a moment after the clock's edge: ``s_NAME`` is what an output of the module was a
moment before that edge, ``m_NAME`` what an input is until the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A bus for registers."""

    driven: Mapping[str, str]
    answered: Mapping[str, str]
    """Ports that the master drives, and that the module does: a port's width is ``ADDRESS``,
    ``DATA``, ``BYTES`` of data, or a number. Names are those of the bus's specification, in lower
    case, without the prefix. Nothing to do is 0 on all that is driven."""
    optional: Mapping[str, str]
    """Ports that a module may lack, and what stands in the place of those that it would drive."""
    address: str
    data: str
    """Names of the ports whose widths count."""
    registers: str = ""
    """State of an access."""
    start: str
    """Statements that begin an access: ``op``, ``op_address``, ``op_data`` are what it is."""
    step: str
    """Statements of each cycle of an access: ``ended``, ``failed`` and ``value`` are what comes of
    them. ``pause`` says that the master hesitates."""
    prefix: str = ""
    """Of its ports, unless the adapter has another one."""

    @property
    def ports(self) -> Mapping[str, str]:
        """The width of each port."""
        return {**self.driven, **self.answered}


_AXI4_LITE = Bus(
    driven={
        "awaddr": "ADDRESS",
        "awprot": "3",
        "awvalid": "1",
        "wdata": "DATA",
        "wstrb": "BYTES",
        "wvalid": "1",
        "bready": "1",
        "araddr": "ADDRESS",
        "arprot": "3",
        "arvalid": "1",
        "rready": "1",
    },
    answered={
        "awready": "1",
        "wready": "1",
        "bresp": "2",
        "bvalid": "1",
        "arready": "1",
        "rdata": "DATA",
        "rresp": "2",
        "rvalid": "1",
    },
    optional={"awprot": "", "wstrb": "", "bresp": "2'd0", "arprot": "", "rresp": "2'd0"},
    address="awaddr",
    data="wdata",
    registers="reg aw_todo, w_todo, b_todo, ar_todo, r_todo, bus_failed;",
    start="""
          aw_todo = op == WRITE;
          w_todo = op == WRITE;
          b_todo = op == WRITE;
          ar_todo = op != WRITE;
          r_todo = op != WRITE;
          bus_failed = 0;
          m_awaddr = op_address;
          m_araddr = op_address;
          m_wdata = op_data;
          m_wstrb = ~0;
          m_awvalid = aw_todo && !random[8];
          m_wvalid = w_todo && !random[9];
          m_arvalid = ar_todo;
          m_bready = b_todo && !pause;
          m_rready = r_todo && !pause;""",
    step="""
      if (m_awvalid && s_awready === 1'b1) aw_todo = 0;
      if (m_wvalid && s_wready === 1'b1) w_todo = 0;
      if (m_arvalid && s_arready === 1'b1) ar_todo = 0;
      if (m_bready && s_bvalid === 1'b1) begin
        b_todo = 0;
        bus_failed = s_bresp !== 2'd0;
      end
      if (m_rready && s_rvalid === 1'b1) begin
        r_todo = 0;
        value = s_rdata;
        bus_failed = s_rresp !== 2'd0;
      end
      m_awvalid = aw_todo && (m_awvalid || !pause);
      m_wvalid = w_todo && (m_wvalid || !pause);
      m_arvalid = ar_todo;
      m_bready = b_todo && !pause;
      m_rready = r_todo && !pause;
      ended = !aw_todo && !w_todo && !b_todo && !ar_todo && !r_todo;
      failed = bus_failed;""",
    prefix="s_axi_",
)

_APB = Bus(
    driven={
        "paddr": "ADDRESS",
        "pprot": "3",
        "psel": "1",
        "penable": "1",
        "pwrite": "1",
        "pwdata": "DATA",
        "pstrb": "BYTES",
    },
    answered={"prdata": "DATA", "pready": "1", "pslverr": "1"},
    optional={"pprot": "", "pstrb": "", "pready": "1'b1", "pslverr": "1'b0"},
    address="paddr",
    data="pwdata",
    start="""
          m_paddr = op_address;
          m_pwdata = op_data;
          m_pwrite = op == WRITE;
          m_pstrb = op == WRITE ? ~0 : 0;
          m_psel = 1;
          m_penable = 0;""",
    step="""
      if (!m_penable) m_penable = 1;
      else if (s_pready === 1'b1) begin
        ended = 1;
        failed = s_pslverr !== 1'b0;
        value = s_prdata;
        m_psel = 0;
        m_penable = 0;
      end""",
)

_WISHBONE = Bus(
    driven={
        "adr_i": "ADDRESS",
        "cyc_i": "1",
        "stb_i": "1",
        "we_i": "1",
        "dat_i": "DATA",
        "sel_i": "BYTES",
    },
    answered={"dat_o": "DATA", "ack_o": "1", "err_o": "1", "rty_o": "1"},
    optional={"sel_i": "", "err_o": "1'b0", "rty_o": "1'b0"},
    address="adr_i",
    data="dat_i",
    registers="reg resting, bus_failed;",
    start="""
          m_adr_i = op_address;
          m_dat_i = op_data;
          m_we_i = op == WRITE;
          m_sel_i = ~0;
          m_cyc_i = 1;
          m_stb_i = 1;
          resting = 0;""",
    step="""
      if (resting) ended = 1;
      else if (s_ack_o === 1'b1 || s_err_o === 1'b1 || s_rty_o === 1'b1) begin
        // A cycle of rest: a registered answer may stay for one more.
        failed = s_ack_o !== 1'b1;
        bus_failed = failed;
        value = s_dat_o;
        resting = 1;
        m_cyc_i = 0;
        m_stb_i = 0;
      end
      failed = ended && bus_failed;""",
    prefix="wb_",
)

BUSES: Mapping[str, Bus] = {"axi4-lite": _AXI4_LITE, "apb": _APB, "wishbone": _WISHBONE}
"""By name."""
