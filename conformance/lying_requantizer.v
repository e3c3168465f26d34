// A requantizer that makes mistakes: at every place where one can go wrong an input chooses how.
//
// Combinational. The reference of a form is one setting of the choices, a mistake another one, and
// several mistakes at once are as good as one. `with_bias` is one of the macros `BIAS_...`, and so
// on: they number the judge's table of choices. `shift` is positive to the left; `plain` is
// TPU-MLIR's form, whose multiplier has no fraction bits.
module lying_requantizer (
  input signed [31:0] acc,
  input signed [31:0] bias,
  input signed [31:0] multiplier,
  input signed [7:0] shift,
  input signed [7:0] zero_point,
  input signed [7:0] low,
  input signed [7:0] high,
  input plain,
  input [7:0] first_nudges,   // how often a rounding's addend is added once more
  input [7:0] second_nudges,
  input [1:0] with_bias,
  input with_operand,
  input [1:0] with_multiplier,
  input [2:0] with_product,
  input [1:0] with_scale,
  input with_shift,
  input [2:0] with_left,
  input [4:0] with_first,
  input with_first_shift,
  input [2:0] with_high,
  input [2:0] with_right,
  input [4:0] with_second,
  input [2:0] with_scaled,
  input [2:0] with_zero_point,
  input [3:0] with_clamp,
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

  // A register between two steps; products, high halves and scaled values have the same choices.
  function signed [63:0] kept(input [2:0] how, input signed [63:0] x);
    case (how)
      `PRODUCT_WRAPS_48: kept = {{16{x[47]}}, x[47:0]};
      `PRODUCT_WRAPS_32: kept = wrap32(x);
      `PRODUCT_WRAPS_16: kept = {{48{x[15]}}, x[15:0]};
      `PRODUCT_SATURATES_16: kept = clip(x, -64'sd32768, 64'sd32767);
      `PRODUCT_SATURATES_8: kept = clip(x, -64'sd128, 64'sd127);
      default: kept = x;
    endcase
  endfunction

  // x / 2^e, rounded; a logical shift is one of a word of 32 bits where `narrow`.
  function signed [63:0] divided(
    input [4:0] how, input narrow, input signed [63:0] x, input [6:0] e
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
        `FIRST_HALF_AWAY: more = rest > half || (rest == half && !x[63]);
        `FIRST_HALF_UP: more = rest >= half;
        `FIRST_HALF_DOWN: more = rest > half;
        `FIRST_HALF_EVEN: more = rest > half || (rest == half && down[0]);
        `FIRST_TOWARD_ZERO: more = x[63] && rest != 0;
        `FIRST_DOWN: more = 1'b0;
        `FIRST_UP: more = rest != 0;
        `FIRST_HALF_THEN_DIVIDE: begin
          moved = x + half;
          down = moved >>> e;
          more = moved[63] && (moved & ((64'd1 << e) - 64'd1)) != 0;
        end
        `FIRST_HALF_SUBTRACTED: begin
          moved = x[63] ? x - half : x + half;
          down = moved >>> e;
        end
        `FIRST_MASK_SHORT: begin
          // Half is a bit of the mask that is missing, and the threshold half of what is there.
          rest = x & (half - 64'sd1);
          more = rest > ((half - 64'd1) >> 1) + (x[63] ? 64'd1 : 64'd0);
        end
        `FIRST_ADDEND_OVERFLOWS: begin
          moved = x + half - (x[63] ? 64'sd1 : 64'sd0);
          down = (narrow ? wrap32(moved) : moved) >>> e;
        end
        `FIRST_ONE_AT_0_UP: more = rest >= half;
        `FIRST_TOP_AT_0, `FIRST_ONE_AT_0, `FIRST_NUDGE_AT_0:
          more = rest > half || (rest == half && !x[63]);
        `FIRST_NUDGE_SHIFTED: begin
          moved = x[63] ? x + 64'sd1 - half : x + half;
          down = moved >>> e;
        end
        `FIRST_LOGICAL_REPAIRED: begin
          if (narrow) word = {32'd0, x[31:0]};
          word = (word >> e) + (rest > (((64'd1 << e) - 64'd1) >> 1) + {63'd0, x[63]} ? 64'd1 : 64'd0);
          if (narrow) word = {{32{word[31]}}, word[31:0]};
          down = word[15:8] == 8'hff ? {{56{1'b1}}, word[7:0]} : word;
        end
        `FIRST_HALF_AWAY_AND_EVEN: begin
          word = (((64'd1 << e) - 64'd1) >> 1) + {63'd0, x[63]};
          more = rest > word || (rest == word && down[0]);
        end
        default: begin
          if (how == `FIRST_HALF_UP_LOGICAL) word = x + half;
          if (narrow) word = {32'd0, word[31:0]};
          down = word >> e;
        end
      endcase
      divided = more ? down + 64'sd1 : down;
      if (e == 0) case (how)
        `FIRST_TOP_AT_0: begin
          moved = x + (narrow ? 64'sd2147483648 : {1'b1, 63'd0}) - (x[63] ? 64'sd1 : 64'sd0);
          divided = narrow ? wrap32(moved) : moved;
        end
        `FIRST_ONE_AT_0: divided = x[63] ? x : narrow ? wrap32(x + 64'sd1) : x + 64'sd1;
        `FIRST_NUDGE_AT_0:
          divided = x[63] ? (narrow ? wrap32(x - 64'sd1) : x - 64'sd1) : x;
        `FIRST_ONE_AT_0_UP: divided = x + 64'sd1;
        `FIRST_LOGICAL_REPAIRED, `FIRST_HALF_AWAY_AND_EVEN: ;
        default: divided = x;
      endcase
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
    input single, input [4:0] how, input signed [63:0] x, input [63:0] factor,
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
      `ZERO_POINT_ADDED: with_offset = wrap32(z + offset);
      `ZERO_POINT_WIDE: with_offset = z + offset;
      `ZERO_POINT_UNSIGNED: with_offset = wrap32(z + (offset & 64'd255));
      `ZERO_POINT_SUBTRACTED: with_offset = wrap32(z - offset);
      default: with_offset = z;
    endcase
  endfunction

  reg signed [63:0] x, s, m, factor, shifted, product, y, z, v, offset, least, most, lower;
  reg signed [7:0] left, right;
  reg [6:0] e, down, by;
  reg lost;

  always @* begin
    case (with_bias)
      `BIAS_BEFORE: x = wrap32(acc + bias + 64'sd0);
      `BIAS_SATURATES: x = clip(acc + bias + 64'sd0, -MOST - 64'sd1, MOST);
      default: x = acc;
    endcase
    s = with_shift == `SHIFT_NEGATED ? -shift : shift;
    left = s > 0 ? s[7:0] : 8'sd0;
    right = s < 0 ? -s[7:0] : 8'sd0;
    m = multiplier;
    lost = 1'b0;
    if (plain) begin
      // A left shift goes into the multiplier; the rest has 31 shifts less.
      if (with_left != `LEFT_MISSING) begin
        lost = left != 0 && m > (MOST >> left);
        m = lost ? MOST : m << left;
      end
      left = right < 31 ? 8'sd31 - right : 8'sd0;
      right = right > 31 ? right - 8'sd31 : 8'sd0;
    end else if (with_left == `LEFT_MISSING) left = 0;
    case (with_multiplier)
      `MULTIPLIER_UPPER_16: factor = {m[63:16], 16'd0};
      `MULTIPLIER_ROUNDED_16:
        factor = m + 64'sd32768 > 64'sd2147418112 ? 64'sd2147418112
                                                  : (m + 64'sd32768) & ~64'sd65535;
      `MULTIPLIER_LEADING_ONE: factor = m | 64'sd1073741824;
      default: factor = m;
    endcase

    // The shifts that are done.
    e = with_scale == `SCALE_TWO ? right[6:0] : 7'd31 + right[6:0] - left[6:0];
    case (with_right)
      `RIGHT_ONE_MORE: down = e + 7'd1;
      `RIGHT_ONE_LESS: down = e == 0 ? 7'd0 : e - 7'd1;
      `RIGHT_NARROW: down = with_scale == `SCALE_TWO ? e & 7'd15 : e & 7'd31;
      `RIGHT_MISSING: down = 0;
      default: down = e;
    endcase

    by = with_first_shift == `FIRST_SHIFT_32 ? 7'd32 : 7'd31;
    shifted = x;
    product = 0;
    y = 0;
    if (with_scale == `SCALE_FLOAT32 || with_scale == `SCALE_FLOAT64)
      z = float_scaled(
        with_scale == `SCALE_FLOAT32, with_second, x, factor, left - right - 31
      );
    else if (with_scale == `SCALE_ONE) begin
      if (with_operand == `OPERAND_UNSIGNED) shifted = {32'd0, x[31:0]};
      product = kept(with_product, shifted * factor);
      z = divided(with_second, 1'b0, product, down);
    end else begin
      case (with_left)
        `LEFT_WRAPS: shifted = wrap32(x << left);
        `LEFT_SATURATES: shifted = clip(x <<< left, -MOST - 64'sd1, MOST);
        default: shifted = x;
      endcase
      if (with_operand == `OPERAND_UNSIGNED) shifted = {32'd0, shifted[31:0]};
      product = kept(with_product, shifted * factor);
      if (with_left == `LEFT_WIDE) by = by - left[6:0];
      product = product + ({56'd0, first_nudges} << (by - 7'd1));
      y = divided(with_first, 1'b0, product, by);
      if (with_left == `LEFT_WIDE) y = left > 0 ? clip(y, -FAR, FAR) : y;
      else y = wrap32(with_left == `LEFT_AFTER ? y << left : y);
      y = kept(with_high, y);
      if (with_zero_point == `ZERO_POINT_BEFORE_SHIFT)
        y = y + ({{56{zero_point[7]}}, zero_point} << down);
      if (down != 0) y = y + ({56'd0, second_nudges} << (down - 7'd1));
      z = divided(with_second, 1'b1, y, down);
    end

    if (with_bias == `BIAS_AFTER) z = wrap32(z + bias);
    z = kept(with_scaled, z);
    v = with_offset(with_zero_point, z, zero_point);
    offset = zero_point;
    least = low;
    most = high;
    lower = least;
    case (with_clamp)
      `CLAMP_INT8: v = clip(v, -64'sd128, 64'sd127);
      `CLAMP_WRAPS: v = v;
      `CLAMP_WRAPS_THEN_BOUNDS: v = clip({{56{v[7]}}, v[7:0]}, least, most);
      `CLAMP_FIRST: v = with_offset(with_zero_point, clip(z, least, most), zero_point);
      `CLAMP_FIRST_SATURATES: v = clip(
        with_offset(with_zero_point, clip(z, least, most), zero_point), -64'sd128, 64'sd127
      );
      default: begin
        if (with_clamp == `CLAMP_RELU_AT_0 && least > -128) lower = 0;
        if (with_clamp == `CLAMP_RELU_AT_0_OF_ZERO_POINT && least == offset) lower = 0;
        if (with_clamp == `CLAMP_RELU_ALWAYS && least < 0) lower = 0;
        if (with_clamp == `CLAMP_SYMMETRIC && least < -127) lower = -127;
        if (v < lower) v = lower;
        if (v > most) v = most;
      end
    endcase
  end

  assign result = v[7:0];
endmodule
