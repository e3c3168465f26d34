// Adds pairs of words in memory, and writes the sums' lowest bytes there: on three kinds of port.
// Registers (APB): 0x0 the pairs' address, 0x4 the sums', 0x8 how many; a write of 0xc starts, and
// 0xc reads 1 when it is done.
module fetch_control (
  input clk, input rst, input [3:0] paddr, input psel, input penable, input pwrite,
  input [31:0] pwdata, output [31:0] prdata,
  output reg asks, output reg writes, output reg [31:0] at, output reg [7:0] byte_out,
  input answered, input [31:0] word
);
  reg [31:0] source, target, count;
  reg [1:0] state;
  reg done;
  reg [31:0] one;
  assign prdata = {31'd0, done};
  always @(posedge clk)
    if (rst) begin
      asks <= 0; writes <= 0; state <= 0; done <= 0;
    end else begin
      if (psel && penable && pwrite) case (paddr)
        4'h0: source <= pwdata;
        4'h4: target <= pwdata;
        4'h8: count <= pwdata;
        4'hc: begin
          state <= 1; asks <= 1; writes <= 0; at <= source; done <= 0;
        end
      endcase
      if (asks && answered) case (state)
        1: begin one <= word; at <= source + 4; state <= 2; end
        2: begin byte_out <= one + word; at <= target; writes <= 1; state <= 3; end
        3: begin
          writes <= 0; source <= source + 8; target <= target + 1; count <= count - 1;
          at <= source + 8; state <= 1;
          if (count == 1) begin asks <= 0; state <= 0; done <= 1; end
        end
      endcase
    end
endmodule

module fetching_sram #(parameter READ_CYCLES = 1) (
  input clk, input rst, input [3:0] paddr, input psel, input penable, input pwrite,
  input [31:0] pwdata, output [31:0] prdata,
  output [31:0] mem_address, output [31:0] mem_write_data, output mem_write, output mem_enable,
  output [3:0] mem_strobe, input [31:0] mem_read_data
);
  wire asks, writes;
  wire [31:0] at;
  wire [7:0] value;
  reg waited;
  wire answered = READ_CYCLES == 0 || waited;
  always @(posedge clk) waited <= asks && !waited;
  assign mem_address = at, mem_write_data = {4{value}}, mem_write = writes, mem_enable = asks;
  assign mem_strobe = 4'd1 << at[1:0];
  fetch_control control (clk, rst, paddr, psel, penable, pwrite, pwdata, prdata, asks, writes, at,
                         value, answered, mem_read_data);
endmodule

module fetching_wishbone (
  input clk, input rst, input [3:0] paddr, input psel, input penable, input pwrite,
  input [31:0] pwdata, output [31:0] prdata,
  output [29:0] m_adr_o, output [31:0] m_dat_o, output m_we_o, output m_cyc_o, output m_stb_o,
  output [3:0] m_sel_o, input [31:0] m_dat_i, input m_ack_i
);
  wire asks, writes;
  wire [31:0] at;
  wire [7:0] value;
  assign m_adr_o = at[31:2], m_dat_o = {4{value}}, m_we_o = writes, m_cyc_o = asks;
  assign m_stb_o = asks, m_sel_o = writes ? 4'd1 << at[1:0] : 4'hf;
  fetch_control control (clk, rst, paddr, psel, penable, pwrite, pwdata, prdata, asks, writes, at,
                         value, m_ack_i, m_dat_i);
endmodule

module fetching_axi (
  input clk, input rst, input [3:0] paddr, input psel, input penable, input pwrite,
  input [31:0] pwdata, output [31:0] prdata,
  output [31:0] m_axi_araddr, output [7:0] m_axi_arlen, output [2:0] m_axi_arsize,
  output [1:0] m_axi_arburst, output reg m_axi_arvalid, input m_axi_arready,
  input [31:0] m_axi_rdata, input [1:0] m_axi_rresp, input m_axi_rlast, input m_axi_rvalid,
  output m_axi_rready,
  output [31:0] m_axi_awaddr, output [7:0] m_axi_awlen, output [2:0] m_axi_awsize,
  output [1:0] m_axi_awburst, output reg m_axi_awvalid, input m_axi_awready,
  output [31:0] m_axi_wdata, output [3:0] m_axi_wstrb, output m_axi_wlast,
  output reg m_axi_wvalid, input m_axi_wready,
  input [1:0] m_axi_bresp, input m_axi_bvalid, output m_axi_bready
);
  wire asks, writes;
  wire [31:0] at;
  wire [7:0] value;
  reg busy;
  wire answered = (m_axi_rvalid && m_axi_rready) || (m_axi_bvalid && m_axi_bready);
  assign m_axi_araddr = {at[31:2], 2'd0}, m_axi_arlen = 0, m_axi_arsize = 2, m_axi_arburst = 1;
  assign m_axi_awaddr = m_axi_araddr, m_axi_awlen = 0, m_axi_awsize = 2, m_axi_awburst = 1;
  assign m_axi_wdata = {4{value}}, m_axi_wstrb = 4'd1 << at[1:0], m_axi_wlast = 1;
  assign m_axi_rready = 1, m_axi_bready = 1;
  always @(posedge clk)
    if (rst) begin
      busy <= 0; m_axi_arvalid <= 0; m_axi_awvalid <= 0; m_axi_wvalid <= 0;
    end else begin
      if (asks && !busy) begin
        busy <= 1;
        m_axi_arvalid <= !writes; m_axi_awvalid <= writes; m_axi_wvalid <= writes;
      end
      if (m_axi_arvalid && m_axi_arready) m_axi_arvalid <= 0;
      if (m_axi_awvalid && m_axi_awready) m_axi_awvalid <= 0;
      if (m_axi_wvalid && m_axi_wready) m_axi_wvalid <= 0;
      if (answered) busy <= 0;
    end
  fetch_control control (clk, rst, paddr, psel, penable, pwrite, pwdata, prdata, asks, writes, at,
                         value, answered, m_axi_rdata);
endmodule
