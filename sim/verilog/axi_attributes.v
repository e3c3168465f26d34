// Counts addresses of AXI4's channel AR or AW whose attributes are not those that the accelerator
// promises: ID 0, not exclusive, normal memory that is bufferable and may be merged (`cache` 0011),
// unprivileged secure data (`prot` 000), no quality of service. `size` and `burst` are the memory's
// business. Each one counted has a line on the output.
module axi_attributes #(
  parameter [15:0] CHANNEL = "ar",
  parameter ID_BITS = 1
) (
  input wire clk,
  input wire rst,
  input wire valid,
  input wire ready,
  input wire [ID_BITS-1:0] id,
  input wire lock,
  input wire [3:0] cache,
  input wire [2:0] prot,
  input wire [3:0] qos,
  output reg [31:0] violations
);
  localparam [ID_BITS-1:0] ID = 0;

  // An unknown bit is not the promised one.
  wire promised = id === ID && lock === 1'd0 && cache === 4'd3 && prot === 3'd0 && qos === 4'd0;

  always @(posedge clk)
    if (rst) violations <= 0;
    else if (valid && ready && !promised) begin
      violations <= violations + 1;
      $display("axi_attributes: %0s: id %b, lock %b, cache %b, prot %b, qos %b",
               CHANNEL, id, lock, cache, prot, qos);
    end
endmodule
