// TPU-MLIR's forms in integers, one result each, that make mistakes: at every place where one can go
// wrong an input chooses how.
//
// Combinational. `form` is one of the macros `FORM_...`, `with_end` one of `END_...`, and so on: they
// number the judge's choices. Codes are those of int8 or, where `uint8` is 1, of uint8. `fill` is what
// Pad pads with over its scale, a constant that a host computes in float32, in units of 2^-40; Z_y is
// added to it here, as float32 adds.
module lying_form (
  input [2:0] form,
  input uint8,
  input signed [15:0] x,
  input signed [15:0] y,
  input [143:0] inputs,             // codes of a window, or of a sum
  input [8:0] in_image,
  input signed [15:0] input_zero_point,
  input signed [15:0] zero_point,
  input [71:0] weights,
  input signed [7:0] alpha,
  input signed [31:0] bias,
  input signed [31:0] factor,
  input signed [7:0] multiplier,
  input signed [7:0] other_multiplier,
  input [5:0] rshift,
  input signed [63:0] fill,
  input [2:0] with_rounding,
  input with_codes,
  input [1:0] with_end,
  input [1:0] with_zero_point,
  input with_input_zero_point,
  input with_padding,
  input with_bias,
  input with_weights,
  input with_multipliers,
  input [1:0] with_shift,
  input with_sum,
  input with_condition,
  output [15:0] result
);
  // x / 2^e, rounded.
  function signed [63:0] divided(input signed [63:0] x, input [5:0] e, input [2:0] how);
    reg [63:0] rest, half;
    reg signed [63:0] down;
    reg more;
    begin
      down = x >>> e;
      rest = x - (down << e);
      half = e == 0 ? 64'd0 : 64'd1 << (e - 6'd1);
      case (how)
        `ROUNDING_HALF_AWAY: more = rest > half || (rest == half && !x[63]);
        `ROUNDING_HALF_UP: more = rest >= half;
        `ROUNDING_HALF_DOWN: more = rest > half;
        `ROUNDING_HALF_EVEN: more = rest > half || (rest == half && down[0]);
        `ROUNDING_TOWARD_ZERO: more = x[63];
        `ROUNDING_UP: more = 1'b1;
        default: more = 1'b0;
      endcase
      divided = more && rest != 0 ? down + 64'sd1 : down;
    end
  endfunction

  // The float32 that is nearest, ties to even.
  function signed [63:0] single(input signed [63:0] x);
    reg signed [63:0] size;
    reg [5:0] over;
    begin
      size = x[63] ? -x : x;
      over = 6'd0;
      while (size >> over >= 64'd16777216) over = over + 6'd1;
      size = divided(size, over, `ROUNDING_HALF_EVEN) << over;
      single = x[63] ? -size : size;
    end
  endfunction

  function signed [63:0] code(input signed [15:0] q, input how);
    code = how == `CODES_SIGNED ? {{56{q[7]}}, q[7:0]} : {{48{q[15]}}, q};
  endfunction

  // M applied to a sum: shifted behind the product, or before it.
  function signed [63:0] scaled(
    input signed [63:0] total, input signed [63:0] by, input [5:0] e, input [1:0] when, input [2:0] how
  );
    scaled = when == `SHIFT_MULTIPLIER ? total * divided(by, e, how) : divided(total * by, e, how);
  endfunction

  reg signed [63:0] total, one, other, first, second, q, weight, z_x, z_y, v, offset, least, most;
  reg [4:0] i;

  always @* begin
    offset = uint8 ? 64'sd128 : 64'sd0;
    z_x = with_input_zero_point == `INPUT_ZERO_POINT_ZERO ? 64'sd0 : input_zero_point;
    z_y = with_zero_point == `ZERO_POINT_MISSING ? 64'sd0 : zero_point;
    if (with_zero_point == `ZERO_POINT_SUBTRACTED) z_y = -z_y;
    total = 0;
    one = code(x, with_codes);
    other = code(y, with_codes);
    first = with_multipliers == `MULTIPLIERS_SWAPPED ? other_multiplier : multiplier;
    second = with_multipliers == `MULTIPLIERS_SWAPPED ? multiplier : other_multiplier;
    q = 0;
    weight = 0;
    v = 0;
    case (form)
      `FORM_CONVOLUTION, `FORM_INNER_PRODUCT: begin
        for (i = 0; i < 9; i = i + 1) begin
          q = code(inputs[16*i +: 16], with_codes);
          if (!in_image[i[3:0]]) q = with_padding == `PADDING_ZERO ? 64'sd0 : z_x;
          weight = {{56{weights[8*i + 7]}}, weights[8*i +: 8]};
          if (with_weights == `WEIGHTS_UNSIGNED) weight = weight & 64'sd255;
          total = total + q * weight;
        end
        if (with_bias != `BIAS_MISSING) total = total + bias;
        if (with_sum == `SUM_WRAPS_16) total = {{48{total[15]}}, total[15:0]};
        v = scaled(total, factor, rshift, with_shift, with_rounding) + z_y;
      end
      `FORM_ADD_SYMMETRIC: begin
        one = one * first;
        other = other * second;
        total = one + other;
        if (with_sum == `SUM_WRAPS_16) total = {{48{total[15]}}, total[15:0]};
        v = divided(total, rshift, with_rounding);
        if (with_shift == `SHIFT_EACH)
          v = divided(one, rshift, with_rounding) + divided(other, rshift, with_rounding);
      end
      `FORM_LEAKY_RELU, `FORM_PRELU: begin
        total = one - z_x;
        second = form == `FORM_PRELU ? alpha : 64'sd1;
        v = scaled(total, multiplier * second, rshift, with_shift, with_rounding);
        if ((with_condition == `CONDITION_ZERO ? one : total) >= 0) v = total;
        v = v + z_y;
      end
      default: begin  // Pad
        v = divided(single(fill + (z_y <<< 40)), 6'd40, with_rounding);
        if (with_padding == `PADDING_ZERO) v = 0;
        if (in_image[0]) v = one - z_x + z_y;
      end
    endcase
    least = offset - 64'sd128;
    most = offset + 64'sd127;
    if (with_end == `END_RELU && least < 0) least = 0;
    if (with_end == `END_WRAPS) begin
      v = v - offset;
      v = {{56{v[7]}}, v[7:0]} + offset;
    end else v = v < least ? least : v > most ? most : v;
  end

  assign result = v[15:0];
endmodule
