// Answers with the lowest 8 bits of the accumulator; kind.hex says what is odd about it.
module odd #(parameter DEPTH = 4) (
  input clk,
  input rst_n,
  input signed [31:0] acc,
  input in_valid,
  output in_ready,
  output out_valid,
  output [7:0] out,
  input out_ready
);
  localparam NEVER = 1, X = 2, ONE_BIT_X = 3, SURPLUS = 4, EARLY = 5, DROPS_LAST = 6, NEVER_TAKES = 7,
             FINISHES = 8, VALID_X = 9, DROPS_ONE = 10, SAMPLES_LATE = 11;
  reg [3:0] kinds [0:0];
  initial $readmemh("kind.hex", kinds);
  wire [3:0] kind = kinds[0];
  reg [7:0] held [0:DEPTH-1];
  reg [7:0] first, last;
  reg [31:0] taken;
  reg [3:0] more;
  reg sampled;
  wire [7:0] used = last - first;
  wire [7:0] word = held[first % DEPTH];
  wire drops = (kind == DROPS_LAST && acc == -1) || (kind == DROPS_ONE && taken == 10);
  assign in_ready = kind != NEVER_TAKES && used < DEPTH;
  assign out_valid = kind == VALID_X ? 1'bx : kind != NEVER && sampled && (used != 0 || more != 0);
  assign out = kind == X ? 8'hxx : kind == ONE_BIT_X && word == 5 ? {7'd0, 1'bx} : word;

  always @(posedge clk)
    if (!rst_n) begin
      first <= 0;
      last <= 0;
      taken <= 0;
      sampled <= 1;
      more <= kind == EARLY ? 4'd2 : 4'd0;
    end else begin
      if (in_valid && in_ready) begin
        held[last % DEPTH] <= acc[7:0];
        sampled <= kind != SAMPLES_LATE;
        last <= drops ? last : last + 8'd1;
        taken <= taken + 1;
        if (kind == FINISHES && taken == 10) $finish;
        if (kind == SURPLUS && acc == -1) more <= 4'd3;
      end
      if (!sampled) begin
        held[(last - 8'd1) % DEPTH] <= acc[7:0];
        sampled <= 1;
      end
      if (out_valid && out_ready) begin
        if (used != 0) first <= first + 8'd1;
        else more <= more - 4'd1;
      end
    end
endmodule
