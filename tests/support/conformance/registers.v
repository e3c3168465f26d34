// A sum behind registers, on three buses: 0x10 and 0x14 are added after a start (0x00, bit 0), which
// takes some cycles and then sets done (0x04, bit 0; written as 1 it is cleared); 0x20 has the sum.
// Whoever breaks a rule of a bus gets errors from then on.
// 0x40 to 0x4c have 16 bytes, which are added too once bit 1 of 0x00 was set. kind.hex says what is
// odd.
module register_file (
  input clk,
  input rst_n,
  input write,
  input [7:0] write_address,
  input [31:0] write_data,
  input [7:0] read_address,
  output reg [31:0] read_data,
  output read_error,
  output write_error,
  output [3:0] kind
);
  localparam NEVER_DONE = 2, ERROR_AT_20 = 3, ERROR_AT_14 = 4, X_SUM = 5;
  reg [3:0] kinds [0:0];
  initial $readmemh("kind.hex", kinds);
  assign kind = kinds[0];

  reg signed [31:0] a, b, sum;
  reg [31:0] window [0:3];
  reg adds_window, done;
  reg [3:0] left;
  integer i, j;

  assign read_error = kind == ERROR_AT_20 && read_address == 8'h20;
  assign write_error = kind == ERROR_AT_14 && write_address == 8'h14;

  always @* case (read_address)
    8'h04: read_data = {31'd0, done};
    8'h20: read_data = kind == X_SUM ? {sum[31:1], 1'bx} : sum;
    default: read_data = 32'hdeadbeef;
  endcase

  always @(posedge clk)
    if (!rst_n) begin
      adds_window <= 0;
      done <= 0;
      left <= 0;
    end else begin
      if (left != 0) begin
        left <= left - 4'd1;
        if (left == 1 && kind != NEVER_DONE) done <= 1;
      end
      if (write) case (write_address)
        8'h00: begin
          if (write_data[1]) adds_window <= 1;
          if (write_data[0]) begin
            left <= 4'd3 + a[1:0];
            sum = a + b;
            if (adds_window)
              for (i = 0; i < 4; i = i + 1)
                for (j = 0; j < 4; j = j + 1) sum = sum + $signed(window[i][8*j +: 8]);
          end
        end
        8'h04: if (write_data[0]) done <= 0;
        8'h10: a <= write_data;
        8'h14: b <= write_data;
        8'h40, 8'h44, 8'h48, 8'h4c: window[write_address[3:2]] <= write_data;
      endcase
    end
endmodule

// A request that changes, or is withdrawn, before it was taken; `at` may not be X then.
module held_request #(parameter BITS = 1) (
  input clk, input rst_n, input valid, input ready, input [BITS-1:0] at, output reg broken
);
  reg waits;
  reg [BITS-1:0] kept;
  always @(posedge clk) begin
    waits <= rst_n && valid && !ready;
    kept <= at;
    if (!rst_n) broken <= 0;
    else if (waits && (!valid || at !== kept)) broken <= 1;
  end
endmodule

module on_axi (
  input ACLK, input ARESETN,
  input [7:0] S_AXI_AWADDR, input [2:0] S_AXI_AWPROT, input S_AXI_AWVALID,
  output S_AXI_AWREADY,
  input [31:0] S_AXI_WDATA, input [3:0] S_AXI_WSTRB, input S_AXI_WVALID, output S_AXI_WREADY,
  output reg [1:0] S_AXI_BRESP, output reg S_AXI_BVALID, input S_AXI_BREADY,
  input [7:0] S_AXI_ARADDR, input [2:0] S_AXI_ARPROT, input S_AXI_ARVALID,
  output S_AXI_ARREADY,
  output reg [31:0] S_AXI_RDATA, output reg [1:0] S_AXI_RRESP, output reg S_AXI_RVALID,
  input S_AXI_RREADY
);
  wire [3:0] kind;
  wire [31:0] data;
  wire read_error, write_error;
  reg has_aw, has_w;
  reg [7:0] aw;
  reg [31:0] w;
  wire act = has_aw && has_w && !S_AXI_BVALID;
  reg [2:0] turn;
  assign S_AXI_AWREADY = kind != 1 && !has_aw && turn == 0;
  assign S_AXI_WREADY = !has_w && turn == 2;
  assign S_AXI_ARREADY = !S_AXI_RVALID && turn == 4;
  wire [2:0] broken;
  held_request #(8) aw_held (ACLK, ARESETN, S_AXI_AWVALID, S_AXI_AWREADY, S_AXI_AWADDR, broken[0]);
  held_request #(32) w_held (ACLK, ARESETN, S_AXI_WVALID, S_AXI_WREADY, S_AXI_WDATA, broken[1]);
  held_request #(8) ar_held (ACLK, ARESETN, S_AXI_ARVALID, S_AXI_ARREADY, S_AXI_ARADDR, broken[2]);
  register_file file (ACLK, ARESETN, act, aw, w, S_AXI_ARADDR, data, read_error, write_error, kind);
  always @(posedge ACLK)
    if (!ARESETN) begin
      turn <= 0;
      has_aw <= 0; has_w <= 0; S_AXI_BVALID <= 0; S_AXI_RVALID <= 0;
    end else begin
      turn <= turn == 4 ? 3'd0 : turn + 3'd1;
      if (S_AXI_AWVALID && S_AXI_AWREADY) begin has_aw <= 1; aw <= S_AXI_AWADDR; end
      if (S_AXI_WVALID && S_AXI_WREADY) begin has_w <= &S_AXI_WSTRB; w <= S_AXI_WDATA; end
      if (act) begin
        has_aw <= 0; has_w <= 0;
        S_AXI_BVALID <= 1; S_AXI_BRESP <= write_error || broken != 0 ? 2'd2 : 2'd0;
      end
      if (S_AXI_BVALID && S_AXI_BREADY) S_AXI_BVALID <= 0;
      if (S_AXI_ARVALID && S_AXI_ARREADY) begin
        S_AXI_RVALID <= 1; S_AXI_RDATA <= data; S_AXI_RRESP <= read_error || broken != 0 ? 2'd2 : 2'd0;
      end
      if (S_AXI_RVALID && S_AXI_RREADY) S_AXI_RVALID <= 0;
    end
endmodule

module on_apb (
  input pclk, input presetn, input [7:0] paddr, input psel, input penable, input pwrite,
  input [31:0] pwdata, output [31:0] prdata, output pready, output pslverr
);
  wire [3:0] kind;
  wire read_error, write_error;
  reg [1:0] waited;
  wire access = psel && penable;
  assign pready = kind != 1 && access && waited == paddr[3:2];
  wire broken, early;
  reg was_selected;
  held_request #(42) held (pclk, presetn, psel, pready, {paddr, pwrite, pwdata, psel}, broken);
  // The first cycle of an access is without penable.
  assign early = penable && !was_selected;
  always @(posedge pclk) was_selected <= psel && !pready;
  assign pslverr = pready && (broken || early || (pwrite ? write_error : read_error));
  always @(posedge pclk) waited <= access && !pready ? waited + 2'd1 : 2'd0;
  register_file file (pclk, presetn, pready && pwrite, paddr, pwdata, paddr, prdata, read_error,
                      write_error, kind);
endmodule

module on_wishbone (
  input clk_i, input rst_i, input [5:0] wb_adr_i, input wb_cyc_i, input wb_stb_i, input wb_we_i,
  input [3:0] wb_sel_i, input [31:0] wb_dat_i, output [31:0] wb_dat_o, output reg wb_ack_o,
  output reg wb_err_o
);
  wire [3:0] kind;
  wire read_error, write_error;
  wire [7:0] address = {wb_adr_i, 2'd0};
  wire asks = wb_cyc_i && wb_stb_i && !wb_ack_o && !wb_err_o && kind != 1 && turn;
  reg turn;
  wire broken;
  held_request #(39) held (clk_i, !rst_i, wb_stb_i && wb_cyc_i, wb_ack_o || wb_err_o,
                           {wb_adr_i, wb_we_i, wb_dat_i}, broken);
  wire bad = broken || (wb_we_i ? write_error : read_error);
  always @(posedge clk_i) begin
    turn <= !rst_i && !turn;
    wb_ack_o <= !rst_i && asks && !bad;
    wb_err_o <= !rst_i && asks && bad;
  end
  register_file file (clk_i, !rst_i, asks && wb_we_i && &wb_sel_i, address, wb_dat_i, address,
                      wb_dat_o, read_error, write_error, kind);
endmodule
