// A netlist of every_rule.py beside its RTL, and whether they ever differed.
module every_rule_twins (
  input wire clk,
  input wire rst,
  input wire [7:0] a,
  input wire [7:0] b,
  input wire [1:0] enable,
  input wire clear,
  output reg differed
);
  wire [79:0] from_rtl, from_gates;
  every_rule_rtl rtl (
    .clk(clk), .rst(rst), .a(a), .b(b), .enable(enable), .clear(clear), .q(from_rtl));
  every_rule gates (
    .clk(clk), .rst(rst), .a(a), .b(b), .enable(enable), .clear(clear), .q(from_gates));
  initial differed = 0;
  always @(posedge clk) if (from_rtl !== from_gates) differed <= 1;
endmodule
