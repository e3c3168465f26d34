// Lists as ports: a dot product with weights of 9 bits, whose zero point is gone already, and 256
// sums with a number.
module dot (
    input  logic signed [63:0][7:0] x,
    input  logic [575:0] w,
    input  logic signed [ 7:0] zx,
    input  logic signed [31:0] bias,
    output logic signed [31:0] sum
);
  always_comb begin
    sum = bias;
    for (int i = 0; i < 64; i++)
      sum = sum + ($signed(x[i]) - 32'(zx)) * $signed(w[9*i+:9]);
  end
endmodule

module table_of_sums (
    input  logic signed [7:0] zero,
    output logic [2047:0] row
);
  always_comb for (int i = 0; i < 256; i++) row[8*i+:8] = 8'(i) + zero;
endmodule
