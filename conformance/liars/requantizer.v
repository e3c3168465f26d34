// A requantizer that makes mistakes: at every place where one can go wrong an input chooses how.
//
// Combinational. The reference of a form is one setting of the choices, a mistake another one, and
// several mistakes at once are as good as one. The values of a choice are named at its input; their
// numbers count from 0, in that order. `shift` is positive to the left; `plain` is TPU-MLIR's
// form, whose multiplier has no fraction bits.
module lying_requantizer (
  input signed [31:0] acc,
  input signed [31:0] bias,
  input signed [31:0] multiplier,
  input signed [7:0] shift,
  input signed [7:0] zero_point,
  input signed [7:0] low,
  input signed [7:0] high,
  input plain,
  input [1:0] with_bias,       // before, saturates, after, missing
  input with_operand,          // signed, unsigned
  input [1:0] with_multiplier, // full, upper_16, rounded_16
  input [2:0] with_product,    // whole, wraps_48, wraps_32, wraps_16, saturates_16, saturates_8
  input [1:0] with_scale,      // two, one, float32, float64
  input with_shift,            // as_given, negated
  input [2:0] with_left,       // wraps, saturates, missing, after, wide
  input [3:0] with_first,      // half_away, half_up, half_down, half_even, toward_zero, down, up,
                               // half_then_divide, half_subtracted, nudge_shifted, logical,
                               // half_up_logical
  input with_first_shift,      // 31, 32
  input [2:0] with_high,       // as with_product
  input [2:0] with_right,      // exact, one_more, one_less, narrow, missing
  input [3:0] with_second,     // as with_first
  input [2:0] with_scaled,     // as with_product
  input [2:0] with_zero_point, // added, wide, subtracted, missing, before_shift
  input [3:0] with_clamp,      // bounds, int8, wraps, wraps_then_bounds, relu_at_0, relu_always,
                               // symmetric, first, first_saturates
  output [7:0] result
);
  localparam signed [63:0] FAR = 64'sd1073741824;
  localparam signed [63:0] MOST = 64'sd2147483647;

  function signed [63:0] wrap32(input signed [63:0] x);
    wrap32 = {{32{x[31]}}, x[31:0]};
  endfunction

  function signed [63:0] clip(
    input signed [63:0] x, input signed [63:0] least, input signed [63:0] most
  );
    clip = x < least ? least : x > most ? most : x;
  endfunction

  // A register between two steps.
  function signed [63:0] kept(input [2:0] how, input signed [63:0] x);
    case (how)
      1: kept = {{16{x[47]}}, x[47:0]};
      2: kept = wrap32(x);
      3: kept = {{48{x[15]}}, x[15:0]};
      4: kept = clip(x, -64'sd32768, 64'sd32767);
      5: kept = clip(x, -64'sd128, 64'sd127);
      default: kept = x;
    endcase
  endfunction

  // x / 2^e, rounded; a logical shift is one of a word of 32 bits where `narrow`.
  function signed [63:0] divided(
    input [3:0] how, input narrow, input signed [63:0] x, input [6:0] e
  );
    reg signed [63:0] half, down, moved;
    reg [63:0] word, rest;
    reg more;
    begin
      half = 64'sd1 << (e - 7'd1);
      down = x >>> e;
      rest = x & ((64'd1 << e) - 64'd1);
      more = 1'b0;
      moved = x;
      word = x;
      case (how)
        0: more = rest > half || (rest == half && !x[63]);
        1: more = rest >= half;
        2: more = rest > half;
        3: more = rest > half || (rest == half && down[0]);
        4: more = x[63] && rest != 0;
        5: more = 1'b0;
        6: more = rest != 0;
        7: begin
          moved = x + half;
          down = moved >>> e;
          more = moved[63] && (moved & ((64'd1 << e) - 64'd1)) != 0;
        end
        8: begin
          moved = x[63] ? x - half : x + half;
          down = moved >>> e;
        end
        9: begin
          moved = x[63] ? x + 64'sd1 - half : x + half;
          down = moved >>> e;
        end
        default: begin
          if (how == 11) word = x + half;
          if (narrow) word = {32'd0, word[31:0]};
          down = word >> e;
        end
      endcase
      divided = e == 0 ? x : more ? down + 64'sd1 : down;
    end
  endfunction

  // A magnitude rounded to the bits of a float's significand, ties to even.
  function [63:0] significant(input [5:0] bits, input [63:0] x);
    reg [6:0] used, over;
    reg [63:0] unit, rest, cut;
    begin
      used = 0;
      for (over = 0; over < 64; over = over + 1) if (x[over[5:0]]) used = over + 7'd1;
      over = used > bits ? used - {1'b0, bits} : 7'd0;
      unit = 64'd1 << over;
      rest = x & (unit - 64'd1);
      cut = x - rest;
      if (over != 0 && (rest > (unit >> 1) || (rest == (unit >> 1) && (cut & unit) != 0)))
        cut = cut + unit;
      significant = cut;
    end
  endfunction

  // x * factor * 2^exponent, each in a float, rounded to an integer and far from int32's ends.
  function signed [63:0] float_scaled(
    input single, input [3:0] how, input signed [63:0] x, input [63:0] factor,
    input signed [7:0] exponent
  );
    reg [63:0] product, magnitude;
    reg [5:0] bits;
    reg [7:0] left, right;
    reg signed [63:0] value;
    begin
      bits = single ? 6'd24 : 6'd53;
      magnitude = x[63] ? -x : x;
      product = significant(bits, significant(bits, magnitude) * significant(bits, factor));
      left = exponent;
      right = -exponent;
      if (exponent >= 0) begin
        value = product > (FAR >> left) ? FAR : product << left;
        if (x[63]) value = -value;
      end else begin
        value = product;
        if (x[63]) value = -value;
        value = divided(how, 1'b0, value, right[6:0]);
      end
      float_scaled = clip(value, -FAR, FAR);
    end
  endfunction

  function signed [63:0] with_offset(
    input [2:0] how, input signed [63:0] z, input signed [63:0] offset
  );
    case (how)
      0: with_offset = wrap32(z + offset);
      1: with_offset = z + offset;
      2: with_offset = wrap32(z - offset);
      default: with_offset = z;
    endcase
  endfunction

  reg signed [63:0] x, s, m, factor, shifted, product, y, z, v, least, most, lower;
  reg signed [7:0] left, right;
  reg [6:0] e, down, by;
  reg lost;

  always @* begin
    case (with_bias)
      0: x = wrap32(acc + bias + 64'sd0);
      1: x = clip(acc + bias + 64'sd0, -MOST - 64'sd1, MOST);
      default: x = acc;
    endcase
    s = with_shift ? -shift : shift;
    left = s > 0 ? s[7:0] : 8'sd0;
    right = s < 0 ? -s[7:0] : 8'sd0;
    m = multiplier;
    lost = 1'b0;
    if (plain) begin
      // A left shift goes into the multiplier; the rest has 31 shifts less.
      if (with_left != 2) begin
        lost = left != 0 && m > (MOST >> left);
        m = lost ? MOST : m << left;
      end
      left = right < 31 ? 8'sd31 - right : 8'sd0;
      right = right > 31 ? right - 8'sd31 : 8'sd0;
    end else if (with_left == 2) left = 0;
    case (with_multiplier)
      1: factor = {m[63:16], 16'd0};
      2: factor = m + 64'sd32768 > 64'sd2147418112 ? 64'sd2147418112
                                                   : (m + 64'sd32768) & ~64'sd65535;
      default: factor = m;
    endcase

    // The shifts that are done.
    e = with_scale == 0 ? right[6:0] : 7'd31 + right[6:0] - left[6:0];
    case (with_right)
      1: down = e + 7'd1;
      2: down = e == 0 ? 7'd0 : e - 7'd1;
      3: down = with_scale == 0 ? e & 7'd15 : e & 7'd31;
      4: down = 0;
      default: down = e;
    endcase

    by = with_first_shift ? 7'd32 : 7'd31;
    shifted = x;
    product = 0;
    y = 0;
    if (with_scale[1]) z = float_scaled(with_scale == 2, with_second, x, factor, left - right - 31);
    else if (with_scale == 1) begin
      if (with_operand) shifted = {32'd0, x[31:0]};
      product = kept(with_product, shifted * factor);
      z = divided(with_second, 1'b0, product, down);
    end else begin
      case (with_left)
        0: shifted = wrap32(x << left);
        1: shifted = clip(x <<< left, -MOST - 64'sd1, MOST);
        default: shifted = x;
      endcase
      if (with_operand) shifted = {32'd0, shifted[31:0]};
      product = kept(with_product, shifted * factor);
      if (with_left == 4) by = by - left[6:0];
      y = divided(with_first, 1'b0, product, by);
      if (with_left == 4) y = left > 0 ? clip(y, -FAR, FAR) : y;
      else y = wrap32(with_left == 3 ? y << left : y);
      y = kept(with_high, y);
      if (with_zero_point == 4) y = y + ({{56{zero_point[7]}}, zero_point} << down);
      z = divided(with_second, 1'b1, y, down);
    end

    if (with_bias == 2) z = wrap32(z + bias);
    z = kept(with_scaled, z);
    v = with_offset(with_zero_point, z, zero_point);
    least = low;
    most = high;
    lower = least;
    case (with_clamp)
      1: v = clip(v, -64'sd128, 64'sd127);
      2: v = v;
      3: v = clip({{56{v[7]}}, v[7:0]}, least, most);
      7: v = with_offset(with_zero_point, clip(z, least, most), zero_point);
      8: v = clip(
        with_offset(with_zero_point, clip(z, least, most), zero_point), -64'sd128, 64'sd127
      );
      default: begin
        if (with_clamp == 4 && least > -128) lower = 0;
        if (with_clamp == 5 && least < 0) lower = 0;
        if (with_clamp == 6 && least < -127) lower = -127;
        if (v < lower) v = lower;
        if (v > most) v = most;
      end
    endcase
  end

  assign result = v[7:0];
endmodule
