// A processing element behind valid and ready that adds up tiles, and makes a mistake: which one,
// fault.hex says by number. The accumulator is its answer, and waits to be taken.
module lying_sequence (
  input clk,
  input rst,
  input in_valid,
  output in_ready,
  input clear,
  input last,
  input [7:0] tiles,
  input signed [7:0] zero_point,
  input signed [31:0] bias,
  input [31:0] inputs,
  input [31:0] weights,
  output out_valid,
  input out_ready,
  output signed [31:0] result
);
  reg [7:0] faults [0:0];
  wire [7:0] fault = faults[0];
  initial $readmemh("fault.hex", faults);

  reg full, cleared;
  reg signed [31:0] accumulator, products, added;
  reg [7:0] left;
  integer lane;

  assign in_ready = !full || out_ready;
  assign out_valid = full;
  assign result = accumulator;
  wire push = in_valid && in_ready;

  // The tiles are counted, one less or one more than there are.
  wire counts = fault == `FAULT_TILES_ONE_LESS || fault == `FAULT_TILES_ONE_MORE;
  wire [7:0] count = fault == `FAULT_TILES_ONE_MORE ? tiles + 8'd1
                   : tiles > 1 ? tiles - 8'd1 : 8'd1;
  wire begins = counts ? left == 0 : fault == `FAULT_CLEAR_LATE ? cleared : clear;
  wire kept = fault == `FAULT_ACCUMULATOR_NOT_CLEARED || !begins;
  wire bias_too = begins || fault == `FAULT_BIAS_PER_TILE;
  wire skips = fault == `FAULT_FIRST_TILE_MISSING && clear;

  always @* begin
    products = 0;
    for (lane = 0; lane < 4; lane = lane + 1)
      products = products
        + ($signed(inputs[8*lane +: 8]) - zero_point + 32'sd0) * $signed(weights[8*lane +: 8]);
    added = (kept ? accumulator : 32'sd0) + (bias_too ? bias : 32'sd0) + (skips ? 32'sd0 : products);
  end

  reg signed [31:0] bias_kept;
  always @(posedge clk) begin
    if (push) begin
      accumulator <= added;
      cleared <= clear;
      bias_kept <= bias;
      left <= (left == 0 ? count : left) - 8'd1;
    end else if (full && !out_ready && fault == `FAULT_BIAS_PER_STALL)
      accumulator <= accumulator + bias_kept;
    full <= push || (full && !out_ready);
    if (rst) begin
      {full, cleared} <= 0;
      accumulator <= 0;
      left <= 0;
    end
  end
endmodule
