// Writes what the accelerator's trace port says to events.txt in the simulator's working directory.
//
// A run is the cycles in which counter 0 (CYCLES) counts, from the doorbell to done. Each completed
// command adds a line: engine, index, and all counters as they are after that cycle. At the end of a
// run comes the line `end` with 0 and the counters.
module trace_monitor #(
  parameter COUNTERS = 14,
  parameter ENGINES = 3
) (
  input wire clk,
  input wire rst,
  input wire [COUNTERS+17*ENGINES-1:0] trace  // eightfold.hw.ports.TRACE_LAYOUT
);
  reg [31:0] total [0:COUNTERS-1];
  reg running;
  integer file, i, engine;

  initial file = $fopen("events.txt", "w");

  task write_counters;
    begin
      for (i = 0; i < COUNTERS; i = i + 1) $fwrite(file, " %0d", total[i]);
      $fwrite(file, "\n");
    end
  endtask

  always @(posedge clk) begin
    if (rst) running = 0;
    else if (trace[0]) begin
      for (i = 0; i < COUNTERS; i = i + 1) total[i] = (running ? total[i] : 0) + trace[i];
      running = 1;
      if (trace[COUNTERS +: ENGINES] != 0)
        for (engine = 0; engine < ENGINES; engine = engine + 1)
          if (trace[COUNTERS + engine]) begin
            $fwrite(file, "%0d %0d", engine, trace[COUNTERS + ENGINES + 16*engine +: 16]);
            write_counters;
          end
    end else if (running) begin
      $fwrite(file, "end 0");
      write_counters;
      $fflush(file);
      running = 0;
    end
  end
endmodule
