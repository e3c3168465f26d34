// The accelerator with a memory and a monitor around it, for simulation.
//
// Benches see the register port and the interrupt, and set up the memory: see axi_memory.v,
// axi_watch.v and trace_monitor.v; `violations` are the memory's and those of axi_attributes.v.
// Parameters come from the configuration and from hw/ports.py.
module eightfold_system #(
  parameter PORT = 16,
  parameter BYTES = 1 << 24,
  parameter ID_BITS = 1,
  parameter COUNTERS = 14,
  parameter ENGINES = 3,
  parameter MOVER_WORK = 0,
  parameter MATRIX_WORK = 0,
  parameter VECTOR_WORK = 0
) (
  input wire clk,
  input wire rst,
  input wire [31:0] base,
  input wire [15:0] latency,
  input wire shared,
  input wire [15:0] pace,
  input wire [7:0] turnaround,
  input wire [7:0] row_miss,
  input wire [4:0] row_bits,
  input wire [4:0] bank_bits,
  input wire [4:0] unit_bits,
  input wire [15:0] refresh,
  input wire [15:0] refresh_every,
  input wire [39:0] stall,
  input wire [31:0] seed,
  input wire [31:0] read_error_low,
  input wire [31:0] read_error_high,
  input wire [31:0] write_error_low,
  input wire [31:0] write_error_high,
  input wire [31:0] arena_low,
  input wire [31:0] arena_high,
  input wire [95:0] region_low,
  input wire [95:0] region_high,
  input wire load,
  input wire dump,
  input wire [31:0] dump_words,
  output wire [31:0] outside,
  output wire [31:0] violations,
  output wire [31:0] reads_outside,
  output wire [31:0] unanswered,
  output wire [31:0] errors,
  output wire interrupt,
  input wire [7:0] s_axi_awaddr,
  input wire [2:0] s_axi_awprot,
  input wire s_axi_awvalid,
  input wire [31:0] s_axi_wdata,
  input wire [3:0] s_axi_wstrb,
  input wire s_axi_wvalid,
  input wire s_axi_bready,
  input wire [7:0] s_axi_araddr,
  input wire [2:0] s_axi_arprot,
  input wire s_axi_arvalid,
  input wire s_axi_rready,
  output wire s_axi_awready,
  output wire s_axi_wready,
  output wire [1:0] s_axi_bresp,
  output wire s_axi_bvalid,
  output wire s_axi_arready,
  output wire [31:0] s_axi_rdata,
  output wire [1:0] s_axi_rresp,
  output wire s_axi_rvalid
);
  wire [ID_BITS-1:0] m_axi_arid;
  wire [31:0] m_axi_araddr;
  wire [7:0] m_axi_arlen;
  wire [2:0] m_axi_arsize;
  wire [1:0] m_axi_arburst;
  wire m_axi_arlock;
  wire [3:0] m_axi_arcache;
  wire [2:0] m_axi_arprot;
  wire [3:0] m_axi_arqos;
  wire m_axi_arvalid;
  wire m_axi_rready;
  wire [ID_BITS-1:0] m_axi_awid;
  wire [31:0] m_axi_awaddr;
  wire [7:0] m_axi_awlen;
  wire [2:0] m_axi_awsize;
  wire [1:0] m_axi_awburst;
  wire m_axi_awlock;
  wire [3:0] m_axi_awcache;
  wire [2:0] m_axi_awprot;
  wire [3:0] m_axi_awqos;
  wire m_axi_awvalid;
  wire [8*PORT-1:0] m_axi_wdata;
  wire [PORT-1:0] m_axi_wstrb;
  wire m_axi_wlast;
  wire m_axi_wvalid;
  wire m_axi_bready;
  wire m_axi_arready;
  wire [ID_BITS-1:0] m_axi_rid;
  wire [8*PORT-1:0] m_axi_rdata;
  wire [1:0] m_axi_rresp;
  wire m_axi_rlast;
  wire m_axi_rvalid;
  wire m_axi_awready;
  wire m_axi_wready;
  wire [ID_BITS-1:0] m_axi_bid;
  wire [1:0] m_axi_bresp;
  wire m_axi_bvalid;
  wire [COUNTERS+17*ENGINES-1:0] trace;
  wire [31:0] wrong_requests, wrong_reads, wrong_writes;
  assign violations = wrong_requests + wrong_reads + wrong_writes;

  eightfold_accelerator accelerator (
    .clk(clk), .rst(rst), .interrupt(interrupt), .monitor(trace), .s_axi_awaddr(s_axi_awaddr),
    .s_axi_awprot(s_axi_awprot), .s_axi_awvalid(s_axi_awvalid), .s_axi_wdata(s_axi_wdata),
    .s_axi_wstrb(s_axi_wstrb), .s_axi_wvalid(s_axi_wvalid), .s_axi_bready(s_axi_bready),
    .s_axi_araddr(s_axi_araddr), .s_axi_arprot(s_axi_arprot), .s_axi_arvalid(s_axi_arvalid),
    .s_axi_rready(s_axi_rready), .s_axi_awready(s_axi_awready), .s_axi_wready(s_axi_wready),
    .s_axi_bresp(s_axi_bresp), .s_axi_bvalid(s_axi_bvalid), .s_axi_arready(s_axi_arready),
    .s_axi_rdata(s_axi_rdata), .s_axi_rresp(s_axi_rresp), .s_axi_rvalid(s_axi_rvalid),
    .m_axi_arid(m_axi_arid), .m_axi_araddr(m_axi_araddr), .m_axi_arlen(m_axi_arlen),
    .m_axi_arsize(m_axi_arsize), .m_axi_arburst(m_axi_arburst), .m_axi_arvalid(m_axi_arvalid),
    .m_axi_rready(m_axi_rready), .m_axi_awid(m_axi_awid), .m_axi_awaddr(m_axi_awaddr),
    .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize), .m_axi_awburst(m_axi_awburst),
    .m_axi_awvalid(m_axi_awvalid), .m_axi_wdata(m_axi_wdata), .m_axi_wstrb(m_axi_wstrb),
    .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid), .m_axi_bready(m_axi_bready),
    .m_axi_arready(m_axi_arready), .m_axi_rid(m_axi_rid), .m_axi_rdata(m_axi_rdata),
    .m_axi_rresp(m_axi_rresp), .m_axi_rlast(m_axi_rlast), .m_axi_rvalid(m_axi_rvalid),
    .m_axi_awready(m_axi_awready), .m_axi_wready(m_axi_wready), .m_axi_bid(m_axi_bid),
    .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid), .m_axi_arlock(m_axi_arlock),
    .m_axi_arcache(m_axi_arcache), .m_axi_arprot(m_axi_arprot), .m_axi_arqos(m_axi_arqos),
    .m_axi_awlock(m_axi_awlock), .m_axi_awcache(m_axi_awcache), .m_axi_awprot(m_axi_awprot),
    .m_axi_awqos(m_axi_awqos));

  axi_attributes #(.CHANNEL("ar"), .ID_BITS(ID_BITS)) reads (
    .clk(clk), .rst(rst), .valid(m_axi_arvalid), .ready(m_axi_arready), .id(m_axi_arid),
    .lock(m_axi_arlock), .cache(m_axi_arcache), .prot(m_axi_arprot), .qos(m_axi_arqos),
    .violations(wrong_reads));

  axi_attributes #(.CHANNEL("aw"), .ID_BITS(ID_BITS)) writes (
    .clk(clk), .rst(rst), .valid(m_axi_awvalid), .ready(m_axi_awready), .id(m_axi_awid),
    .lock(m_axi_awlock), .cache(m_axi_awcache), .prot(m_axi_awprot), .qos(m_axi_awqos),
    .violations(wrong_writes));

  axi_watch #(.PORT(PORT)) watch (
    .clk(clk), .rst(rst), .region_low(region_low), .region_high(region_high),
    .araddr(m_axi_araddr), .arlen(m_axi_arlen), .arvalid(m_axi_arvalid), .arready(m_axi_arready),
    .rresp(m_axi_rresp), .rlast(m_axi_rlast), .rvalid(m_axi_rvalid), .rready(m_axi_rready),
    .awvalid(m_axi_awvalid), .awready(m_axi_awready), .bresp(m_axi_bresp), .bvalid(m_axi_bvalid),
    .bready(m_axi_bready), .reads_outside(reads_outside), .unanswered(unanswered),
    .errors(errors));

  axi_memory #(.PORT(PORT), .BYTES(BYTES), .ID_BITS(ID_BITS)) memory (
    .clk(clk), .rst(rst), .base(base), .latency(latency), .shared(shared), .pace(pace),
    .turnaround(turnaround), .row_miss(row_miss), .row_bits(row_bits), .bank_bits(bank_bits),
    .unit_bits(unit_bits), .refresh(refresh), .refresh_every(refresh_every), .stall(stall),
    .seed(seed),
    .read_error_low(read_error_low), .read_error_high(read_error_high),
    .write_error_low(write_error_low), .write_error_high(write_error_high), .arena_low(arena_low),
    .arena_high(arena_high), .load(load), .dump(dump), .dump_words(dump_words), .outside(outside),
    .violations(wrong_requests), .s_axi_arid(m_axi_arid), .s_axi_araddr(m_axi_araddr),
    .s_axi_arlen(m_axi_arlen), .s_axi_arsize(m_axi_arsize), .s_axi_arburst(m_axi_arburst),
    .s_axi_arvalid(m_axi_arvalid), .s_axi_rready(m_axi_rready), .s_axi_awid(m_axi_awid),
    .s_axi_awaddr(m_axi_awaddr), .s_axi_awlen(m_axi_awlen), .s_axi_awsize(m_axi_awsize),
    .s_axi_awburst(m_axi_awburst), .s_axi_awvalid(m_axi_awvalid), .s_axi_wdata(m_axi_wdata),
    .s_axi_wstrb(m_axi_wstrb), .s_axi_wlast(m_axi_wlast), .s_axi_wvalid(m_axi_wvalid),
    .s_axi_bready(m_axi_bready), .s_axi_arready(m_axi_arready), .s_axi_rid(m_axi_rid),
    .s_axi_rdata(m_axi_rdata), .s_axi_rresp(m_axi_rresp), .s_axi_rlast(m_axi_rlast),
    .s_axi_rvalid(m_axi_rvalid), .s_axi_awready(m_axi_awready), .s_axi_wready(m_axi_wready),
    .s_axi_bid(m_axi_bid), .s_axi_bresp(m_axi_bresp), .s_axi_bvalid(m_axi_bvalid));

  trace_monitor #(
    .COUNTERS(COUNTERS), .ENGINES(ENGINES), .MOVER_WORK(MOVER_WORK), .MATRIX_WORK(MATRIX_WORK),
    .VECTOR_WORK(VECTOR_WORK)
  ) monitor (.clk(clk), .rst(rst), .trace(trace));
endmodule
