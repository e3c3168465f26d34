// A table of 256 results behind valid and ready: it is filled, and then read code by code, one in a
// cycle. It makes a mistake in where it reads: which one, fault.hex says by number.
module lying_table (
  input clk,
  input rst,
  input in_valid,
  output in_ready,
  input [2047:0] entries,       // results of the codes -128 to 127, that of -128 lowest
  output out_valid,
  input out_ready,
  output reg [2047:0] results
);
  reg [7:0] faults [0:0];
  wire [7:0] fault = faults[0];
  initial $readmemh("fault.hex", faults);

  reg [2047:0] filled;          // -128 is at address 0
  reg [8:0] left;               // codes to read
  reg full;

  assign out_valid = full && left == 0;
  assign in_ready = !full || (out_valid && out_ready);
  wire push = in_valid && in_ready;

  wire [7:0] code = 8'd128 - left[7:0];
  wire [7:0] place = code + 8'd128;
  reg [7:0] address;
  always @*
    case (fault)
      `FAULT_BYTE_ORDER: address = code;
      `FAULT_ENTRY_AFTER: address = place + 8'd1;
      `FAULT_ENTRY_AFTER_OR_LAST: address = place == 8'd255 ? place : place + 8'd1;
      `FAULT_ENTRY_BEFORE: address = place - 8'd1;
      `FAULT_ENTRY_BEFORE_OR_FIRST: address = place == 8'd0 ? place : place - 8'd1;
      `FAULT_COMPARED_UNSIGNED: address = code > 8'd127 ? 8'd255 : place;
      default: address = place;
    endcase

  always @(posedge clk) begin
    if (push) begin
      filled <= entries;
      left <= 9'd256;
    end else if (left != 0) begin
      results[8*place +: 8] <= filled[8*address +: 8];
      left <= left - 9'd1;
    end
    full <= push || (full && !(out_valid && out_ready));
    if (rst) begin
      full <= 1'b0;
      left <= 9'd0;
    end
  end
endmodule
