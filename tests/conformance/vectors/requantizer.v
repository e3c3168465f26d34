// TFLite's requantization with double rounding, combinational.
module requantizer (
  input signed [31:0] accumulator,
  input signed [31:0] multiplier,
  input signed [7:0] shift,
  input signed [7:0] zero_point,
  input signed [7:0] low,
  input signed [7:0] high,
  output signed [7:0] result
);
  wire [4:0] left = shift > 0 ? shift : 0;
  wire [4:0] right = shift < 0 ? -shift : 0;
  wire signed [31:0] x = accumulator << left;
  wire signed [63:0] product = x * multiplier + 64'sd1073741824;
  wire signed [32:0] y = product >>> 31;
  wire signed [32:0] half = (33'sd1 << right) >>> 1;
  wire signed [32:0] bias = right == 0 ? 33'sd0 : y < 0 ? half - 1 : half;
  wire signed [33:0] sum = y + bias;
  wire signed [31:0] z = sum >>> right;
  wire signed [31:0] v = z + zero_point;
  assign result = v < low ? low : v > high ? high : v[7:0];
endmodule
