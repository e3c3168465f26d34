// A requantizer with valid and ready, right shifts only: the same as requantize.vhd.
module requantize #(parameter ACC_BITS = 32) (
  input clk, rst_n, in_valid,
  output in_ready,
  input signed [ACC_BITS-1:0] acc,
  input [30:0] mult,
  input [4:0] shr,
  input signed [7:0] zp,
  output out_valid,
  input out_ready,
  output reg signed [7:0] result
);
  reg full = 0;
  assign in_ready = !full || out_ready;
  assign out_valid = full;
  wire signed [63:0] product = acc * $signed({1'b0, mult}) + 64'sd1073741824;
  wire signed [33:0] high = product >>> 31;
  wire signed [33:0] half = (34'sd1 << shr) >>> 1;
  wire signed [31:0] sum = ((high + (high < 0 && half != 0 ? half - 1 : half)) >>> shr) + zp;
  always @(posedge clk) begin
    if (in_ready) begin
      full <= in_valid;
      result <= sum > 127 ? 127 : sum < -128 ? -128 : sum[7:0];
    end
    if (!rst_n) full <= 0;
  end
endmodule
