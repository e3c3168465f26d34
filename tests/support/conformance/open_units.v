// Requantizers that keep the contracts of fifteen open designs, written anew: each module has the
// ports and the arithmetic that its contract needs, and is combinational. `left` and `right` are
// amounts of shifts; `total` is that of the whole product, 31 - shift.

// Two roundings, shifts to the left too.
module both_shifts (
  input signed [31:0] acc, input signed [31:0] m, input signed [7:0] shift,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire [4:0] left = shift > 0 ? shift : 0;
  wire [4:0] right = shift < 0 ? -shift : 0;
  wire signed [31:0] x = acc << left;
  wire signed [63:0] p = x * m + 64'sd1073741824;
  wire signed [31:0] y = p >>> 31;
  wire signed [31:0] z;
  tied_away away (.y(y), .right(right), .z(z));
  wire signed [31:0] v = z + zp;
  assign q = v < low ? low : v > high ? high : v[7:0];
endmodule

// y / 2^right, ties away from zero.
module tied_away (input signed [31:0] y, input [4:0] right, output signed [31:0] z);
  wire [31:0] mask = (32'd1 << right) - 32'd1;
  wire [31:0] rest = y & mask;
  wire [31:0] threshold = (mask >> 1) + {31'd0, y[31]};
  assign z = (y >>> right) + (rest > threshold ? 32'sd1 : 32'sd0);
endmodule

// The high product, ties up.
module high_product (input signed [31:0] x, input signed [31:0] m, output signed [31:0] y);
  wire signed [63:0] p = x * m + 64'sd1073741824;
  assign y = p >>> 31;
endmodule

// The quotient of right shifts by 2 to 12 in 16 bits; another amount counts as the next of these.
module quotient_16 (
  input signed [31:0] acc, input signed [31:0] m, input [3:0] right,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire signed [31:0] y, z;
  wire [3:0] amount = right < 2 ? 4'd2 : right > 12 ? 4'd12 : right;
  high_product product (.x(acc), .m(m), .y(y));
  tied_away away (.y(y), .right({1'b0, amount}), .z(z));
  wire signed [15:0] quotient = z[15:0];
  wire signed [31:0] v = quotient + zp;
  assign q = v < low ? low : v > high ? high : v[7:0];
endmodule

// Right shifts of 5 to 9; -128 is the zero point, and RELU's least code.
module five_to_nine (
  input signed [31:0] acc, input signed [31:0] m, input [3:0] right, output signed [7:0] q
);
  wire signed [31:0] y, z;
  high_product product (.x(acc), .m(m), .y(y));
  wire [3:0] amount = right < 5 ? 4'd5 : right > 9 ? 4'd9 : right;
  tied_away away (.y(y), .right({1'b0, amount}), .z(z));
  wire signed [31:0] v = z - 128;
  assign q = v < -128 ? -8'sd128 : v > 127 ? 8'sd127 : v[7:0];
endmodule

// Symmetric results, below 0 cut.
module relu_symmetric (
  input signed [31:0] acc, input signed [31:0] m, input [4:0] right, output signed [7:0] q
);
  wire signed [31:0] y, z;
  high_product product (.x(acc), .m(m), .y(y));
  tied_away away (.y(y), .right(right), .z(z));
  assign q = z < 0 ? 8'sd0 : z > 127 ? 8'sd127 : z[7:0];
endmodule

// One rounding or two, by a parameter.
module once_or_twice #(parameter ONCE = 0) (
  input signed [31:0] acc, input signed [31:0] m, input signed [7:0] shift,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire signed [7:0] twice;
  both_shifts two (
    .acc(acc), .m(m), .shift(shift), .zp(zp), .low(low), .high(high), .q(twice)
  );
  wire [5:0] total = 31 - shift;
  wire signed [63:0] p = acc * m;
  wire signed [63:0] sum = p + (64'sd1 << (total - 6'd1));
  wire signed [31:0] z = sum >>> total;
  wire signed [31:0] v = z + zp;
  assign q = !ONCE ? twice : v < low ? low : v > high ? high : v[7:0];
endmodule

// The C++ source's nudge in the high product, with a shift in place of its division.
module nudge_and_shift (
  input signed [31:0] acc, input signed [31:0] m, input signed [7:0] shift,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire signed [31:0] x = shift > 0 ? acc << shift : acc;
  wire [4:0] right = shift < 0 ? -shift : 0;
  wire signed [63:0] p = x * m;
  wire signed [63:0] sum = p + (p < 0 ? -64'sd1073741823 : 64'sd1073741824);
  wire signed [31:0] y = sum >>> 31;
  wire signed [31:0] z;
  tied_away away (.y(y), .right(right), .z(z));
  wire signed [31:0] v = z + zp;
  assign q = v < low ? low : v > high ? high : v[7:0];
endmodule

// The second step drops bits.
module second_cut (
  input signed [31:0] acc, input signed [31:0] m, input [4:0] right,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire signed [31:0] y;
  high_product product (.x(acc), .m(m), .y(y));
  wire signed [31:0] v = (y >>> right) + zp;
  assign q = v < low ? low : v > high ? high : v[7:0];
endmodule

// One rounding, ties up, results around 0.
module once_symmetric (
  input signed [31:0] acc, input signed [31:0] m, input [5:0] total, output signed [7:0] q
);
  wire signed [63:0] p = acc * m + (64'sd1 << (total - 6'd1));
  wire signed [31:0] z = p >>> total;
  assign q = z < -128 ? -8'sd128 : z > 127 ? 8'sd127 : z[7:0];
endmodule

// A multiplier of 8 bits and an accumulator of 26: the bit below the cut rounds, if there is one.
module short_product (
  input signed [25:0] acc, input [7:0] m, input [7:0] total, input signed [7:0] zp,
  output signed [7:0] q
);
  wire signed [34:0] p = acc * $signed({1'b0, m});
  wire up = total >= 1 && total <= 35 && p[total - 8'd1];
  wire signed [34:0] z = (p >>> total) + (up ? 35'sd1 : 35'sd0);
  wire signed [35:0] v = z + zp;
  assign q = v < -128 ? -8'sd128 : v > 127 ? 8'sd127 : v[7:0];
endmodule

// A multiplier of 16 bits, one rounding away from zero; RELU cuts at the code 0.
module away_16 (
  input signed [31:0] acc, input [15:0] m, input [5:0] total, input signed [7:0] zp,
  input relu, input signed [7:0] high, output signed [7:0] q
);
  wire signed [63:0] p = acc * $signed({1'b0, m});
  wire signed [63:0] size = p < 0 ? -p : p;
  wire signed [63:0] half = (size + (64'sd1 << (total - 6'd1))) >>> total;
  wire signed [31:0] z = p < 0 ? -half : half;
  wire signed [31:0] v = z + zp;
  wire signed [31:0] least = relu ? 0 : -128;
  wire signed [31:0] above = v < least ? least : v;
  assign q = above > high ? high : above[7:0];
endmodule

// The second rounding adds half and shifts.
module second_up (
  input signed [31:0] acc, input signed [31:0] m, input [4:0] right,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire signed [31:0] y;
  high_product product (.x(acc), .m(m), .y(y));
  wire signed [32:0] half = (33'sd1 << right) >>> 1;
  wire signed [32:0] z = (y + half) >>> right;
  wire signed [31:0] v = z + zp;
  assign q = v < low ? low : v > high ? high : v[7:0];
endmodule

// The high product alone.
module no_shift (
  input signed [31:0] acc, input signed [31:0] m, input signed [7:0] zp, output signed [7:0] q
);
  wire signed [31:0] y;
  high_product product (.x(acc), .m(m), .y(y));
  wire signed [31:0] v = y + zp;
  assign q = v < -128 ? -8'sd128 : v > 127 ? 8'sd127 : v[7:0];
endmodule

// One rounding, ties up; RELU cuts at the code 0.
module once_relu (
  input signed [31:0] acc, input signed [31:0] m, input [5:0] total, input signed [7:0] zp,
  input relu, input signed [7:0] high, output signed [7:0] q
);
  wire signed [63:0] p = acc * m + (64'sd1 << (total - 6'd1));
  wire signed [31:0] z = p >>> total;
  wire signed [31:0] v = z + zp;
  wire signed [31:0] least = relu ? 0 : -128;
  wire signed [31:0] above = v < least ? least : v;
  assign q = above > high ? high : above[7:0];
endmodule

// A logical right shift, whose ones come back where the second byte is all ones.
module logical_repaired (
  input signed [31:0] acc, input signed [31:0] m, input signed [7:0] shift,
  input signed [7:0] zp, output signed [7:0] q
);
  wire signed [31:0] x = shift > 0 ? acc << shift : acc;
  wire [4:0] right = shift < 0 ? -shift : 0;
  wire signed [31:0] y;
  high_product product (.x(x), .m(m), .y(y));
  wire [31:0] mask = (32'd1 << right) - 32'd1;
  wire [31:0] threshold = (mask >> 1) + {31'd0, y[31]};
  wire [31:0] word = (y >> right) + ((y & mask) > threshold ? 32'd1 : 32'd0);
  wire signed [31:0] z = &word[15:8] ? {24'hffffff, word[7:0]} : word;
  wire signed [31:0] v = z + zp;
  assign q = v < -128 ? -8'sd128 : v > 127 ? 8'sd127 : v[7:0];
endmodule

// At the threshold itself, an odd quotient is one more.
module odd_one_more (
  input signed [31:0] acc, input signed [31:0] m, input [4:0] right,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire signed [31:0] y;
  high_product product (.x(acc), .m(m), .y(y));
  wire [31:0] mask = (32'd1 << right) - 32'd1;
  wire [31:0] rest = y & mask;
  wire [31:0] threshold = (mask >> 1) + {31'd0, y[31]};
  wire signed [31:0] down = y >>> right;
  wire up = rest > threshold || (rest == threshold && down[0]);
  wire signed [31:0] v = down + (up ? 32'sd1 : 32'sd0) + zp;
  assign q = v < low ? low : v > high ? high : v[7:0];
endmodule

// No contract: right, but where the zero point is 127 and the multiplier is odd.
module odd_at_127 (
  input signed [31:0] acc, input signed [31:0] m, input signed [7:0] shift,
  input signed [7:0] zp, input signed [7:0] low, input signed [7:0] high,
  output signed [7:0] q
);
  wire signed [7:0] right;
  both_shifts unit (
    .acc(acc), .m(m), .shift(shift), .zp(zp), .low(low), .high(high), .q(right)
  );
  assign q = zp == 127 && m[0] ? right ^ 8'sd1 : right;
endmodule
