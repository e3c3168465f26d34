// Results after a latency, or of a unit that is started and done: in the styles of SystemVerilog.
`include "pipeline_types.svh"

package pipeline_package;
  typedef struct packed {
    logic signed [`ELEMENT_BITS-1:0] high;
    logic signed [`ELEMENT_BITS-1:0] low;
  } pair_t;
endpackage

// module not_a_module (input x);
module pipeline
  import pipeline_package::*;
#(
    parameter int LATENCY = 2,  // of registers, (all) of them
    parameter NAME = "none"
) (
    input  wire                  clk_n,
    input  logic signed   [31:0] a, b,
    input  pair_t                pair,
    output logic          [ 7:0] q
);
  logic [7:0] stage[LATENCY];
  wire [7:0] sum = a[7:0] + b[7:0] + pair.high + (NAME == "seven" ? 8'd7 : 8'd0);
  always_ff @(negedge clk_n) begin
    stage[0] <= #1 sum;
    for (int i = 1; i < LATENCY; i++) stage[i] <= #1 stage[i-1];
  end
  assign q = stage[LATENCY-1];
endmodule

module old_style (clk, reset, start, a, done, q);
  parameter BITS = 8;
  input clk, reset, start;
  input signed [31:0] a;
  output reg done;
  output [BITS-1:0] q;
  reg [3:0] count;
  reg [31:0] kept;
  assign q = kept[BITS-1:0];
  always @(posedge clk) begin
    done <= 0;
    if (reset) count <= 0;
    else if (start && count == 0) begin
      count <= a[3:0] | 4'd1;
    end else if (count != 0) begin
      count <= count - 4'd1;
      done <= count == 1;
      if (count == 1) kept <= a;
    end
  end
endmodule
