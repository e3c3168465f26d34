// Watches an AXI4 port for what memory answers without a word: reads of bytes that belong to nobody.
//
// `reads_outside` counts bursts of reads that do not lie in one of three regions, each with the
// beats at its ends ([low, high), multiples of PORT; empty if both are equal). `unanswered` is how
// many reads and writes wait for their last beat or response; `errors` counts beats and responses
// that are not OKAY.
module axi_watch #(
  parameter PORT = 16
) (
  input wire clk,
  input wire rst,
  input wire [95:0] region_low,
  input wire [95:0] region_high,
  input wire [31:0] araddr,
  input wire [7:0] arlen,
  input wire arvalid,
  input wire arready,
  input wire [1:0] rresp,
  input wire rlast,
  input wire rvalid,
  input wire rready,
  input wire awvalid,
  input wire awready,
  input wire [1:0] bresp,
  input wire bvalid,
  input wire bready,
  output reg [31:0] reads_outside,
  output reg [31:0] unanswered,
  output reg [31:0] errors
);
  localparam [32:0] STEP = PORT;
  wire [32:0] first = {1'b0, araddr};
  wire [32:0] stop = first + ({25'd0, arlen} + 33'd1) * STEP;
  wire [2:0] lies_in;
  genvar i;
  generate
    for (i = 0; i < 3; i = i + 1) begin : regions
      assign lies_in[i] = first >= {1'b0, region_low[32*i +: 32]}
        && stop <= {1'b0, region_high[32*i +: 32]};
    end
  endgenerate

  wire read = arvalid && arready;
  wire write = awvalid && awready;
  wire beat = rvalid && rready;
  wire response = bvalid && bready;

  always @(posedge clk)
    if (rst) {reads_outside, unanswered, errors} <= 0;
    else begin
      if (read && lies_in == 0) reads_outside <= reads_outside + 1;
      unanswered <= unanswered + {31'd0, read} + {31'd0, write}
        - {31'd0, beat && rlast} - {31'd0, response};
      errors <= errors + {31'd0, beat && rresp != 0} + {31'd0, response && bresp != 0};
    end
endmodule
