// Modules around those of others, whose ports an adapter cannot name: written for the table.

`ifdef KWS
// Product, doubling high half and rounding shift, as the accelerator's instructions call them.
module kws_requantize (
  input signed [31:0] acc,
  input signed [31:0] multiplier,
  input [31:0] negative_exponent,
  output [31:0] out
);
  wire signed [63:0] product = acc * multiplier;
  wire [31:0] high;
  rdh first (.top(product[63:32]), .bottom(product[31:0]), .out(high));
  rcdbpot second (.dividend(high), .negative_exponent(negative_exponent), .out(out));
endmodule
`endif

`ifdef VERSAL
// Four streams of one case, offered and taken together.
module versal_requant (
  input clk,
  input rst,
  input in_valid,
  output in_ready,
  input signed [31:0] acc,
  input signed [31:0] multiplier,
  input signed [7:0] right_shift,
  output out_valid,
  input out_ready,
  output signed [7:0] out
);
  requant #(.CLIP(1)) unit (
    .clk(clk), .rst(rst),
    .in_tdata(acc), .in_tlast(1'b0), .in_tready(in_ready), .in_tvalid(in_valid),
    .in_tdata_bias(32'sd0), .in_tlast_bias(1'b0), .in_tready_bias(), .in_tvalid_bias(in_valid),
    .in_tdata_m(multiplier), .in_tlast_m(1'b0), .in_tready_m(), .in_tvalid_m(in_valid),
    .in_tdata_e(right_shift), .in_tlast_e(1'b0), .in_tready_e(), .in_tvalid_e(in_valid),
    .out_tdata(out), .out_tlast(), .out_tready(out_ready), .out_tvalid(out_valid)
  );
endmodule
`endif

`ifdef ITA
// What the requantizer needs of its package: widths and types, with one lane.
package ita_package;
  localparam int unsigned N = 1, WI = 8, WO = 26, EMS = 8;
  typedef enum {Signed = 0, Unsigned = 1} requant_mode_e;
  typedef logic [EMS-1:0] requant_const_t;
  typedef logic signed [WI-1:0] requant_t;
  typedef logic signed [N-1:0][WO-1:0] oup_t;
  typedef requant_t [N-1:0] requant_oup_t;
endpackage

module ita_lane (
  input clk,
  input rst_n,
  input [7:0] multiplier,
  input [7:0] right_shift,
  input [25:0] acc,
  input [7:0] zero_point,
  output [7:0] out
);
  ita_requantizer lane (
    .clk_i(clk), .rst_ni(rst_n), .mode_i(ita_package::Signed), .eps_mult_i(multiplier),
    .right_shift_i(right_shift), .calc_en_i(1'b1), .calc_en_q_i(1'b1), .result_i(acc),
    .add_i(zero_point), .requant_oup_o(out)
  );
endmodule
`endif

`ifdef SIENNA
package sienna_fmt_pkg;
  localparam string REQ_ROUNDING = "DOUBLE";
endpackage
`endif
