// A requantizer behind valid and ready that computes right and makes a mistake in its control: which
// one, fault.hex says by number. A case waits in a register until its answer is taken.
module lying_stream (
  input clk,
  input rst,
  input in_valid,
  output in_ready,
  input [95:0] in_data,         // high, low, zero point, shift, multiplier, accumulator
  output out_valid,
  input out_ready,
  output [7:0] result
);
  reg [7:0] faults [0:0];
  wire [7:0] fault = faults[0];
  initial $readmemh("fault.hex", faults);

  reg full, again, sticky, stalled;
  reg [95:0] kept;              // the case whose answer is offered
  reg [63:0] previous;          // parameters of the case before
  reg [7:0] last, stalls;
  reg [95:0] lanes [0:3];       // of a unit that works by four channels
  reg [2:0] filled, drained;

  wire by_four = fault == `FAULT_CHANNEL_BEFORE;
  wire [1:0] lane = drained[1:0];
  wire [1:0] other = lane - 2'd1;
  wire [95:0] own = by_four ? lanes[lane] : kept;
  wire [63:0] parameters =
    by_four ? lanes[other][95:32] : fault == `FAULT_PARAMETERS_BEFORE ? previous : own[95:32];

  wire [7:0] right;
  lying_requantizer core (
    .acc(own[31:0]), .bias(32'd0), .multiplier(parameters[31:0]), .shift(parameters[39:32]),
    .zero_point(parameters[47:40]), .low(parameters[55:48]), .high(parameters[63:56]), .plain(1'b0),
    .first_nudges(fault == `FAULT_NUDGE_PER_STALL ? stalls : 8'd0),
    .second_nudges(fault == `FAULT_ADDEND_PER_STALL ? stalls : 8'd0),
    .with_bias(`BIAS_BEFORE), .with_operand(`OPERAND_SIGNED), .with_multiplier(`MULTIPLIER_FULL),
    .with_product(`PRODUCT_WHOLE), .with_scale(`SCALE_TWO), .with_shift(`SHIFT_AS_GIVEN),
    .with_left(`LEFT_WRAPS), .with_first(`FIRST_HALF_UP), .with_first_shift(`FIRST_SHIFT_31),
    .with_high(`HIGH_WHOLE), .with_right(`RIGHT_EXACT), .with_second(`SECOND_HALF_AWAY),
    .with_scaled(`SCALED_WRAPS_32), .with_zero_point(`ZERO_POINT_ADDED), .with_clamp(`CLAMP_BOUNDS),
    .result(right)
  );

  // One that does not wait loses what it offers to the next case.
  wire twice = fault == `FAULT_ANSWER_DOUBLED && stalled && !again;
  wire room = fault == `FAULT_ANSWER_LOST || !full || (out_ready && !twice);
  assign in_ready = by_four ? filled < 4 : room;
  assign out_valid = by_four ? filled == 4 : full;
  wire push = in_valid && in_ready, pop = out_valid && out_ready;

  assign result = fault == `FAULT_ANSWER_REPEATED && stalled ? last
                : fault == `FAULT_STICKY_FLAG && sticky ? parameters[63:56] : right;

  always @(posedge clk) begin
    stalled <= out_valid && !out_ready;
    stalls <= out_valid && !out_ready ? stalls + 8'd1 : 8'd0;
    if (pop) last <= result;
    if (pop && right == parameters[63:56]) sticky <= 1'b1;
    if (by_four) begin
      if (push) lanes[filled[1:0]] <= in_data;
      if (push) filled <= filled + 3'd1;
      if (pop) drained <= drained + 3'd1;
      if (pop && drained == 3) begin
        filled <= 0;
        drained <= 0;
      end
    end else begin
      // What had to wait is offered once more.
      if (pop) again <= twice;
      if (push) begin
        kept <= in_data;
        previous <= kept[95:32];
        full <= 1'b1;
      end else if (pop && !twice) full <= 1'b0;
      if (fault == `FAULT_VALID_DROPPED && push && pop) full <= 1'b0;
    end
    if (rst) begin
      {full, again, sticky, stalled, stalls, filled, drained, last} <= 0;
      kept <= 0;
      previous <= 0;
    end
  end
endmodule
