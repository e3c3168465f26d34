// Writes what the accelerator's trace port says to events.txt in the simulator's working directory.
//
// A run is the cycles in which counter 0 (CYCLES) counts, from the doorbell to done. Each line has
// a word, a number, and all counters as they are after that cycle:
//
//   <engine> <index>  an engine has completed the command with this index
//   work <engine>     the engine works in this cycle, and did not in the one before: one of the
//                     counters that its mask <ENGINE>_WORK has counts
//   sample 0          the cycle is a multiple of 16, and later of more: of the largest power of two
//                     that is at most 1/128 of the cycles so far
//   end 0             the run has ended
module trace_monitor #(
  parameter COUNTERS = 14,
  parameter ENGINES = 3,
  parameter MOVER_WORK = 0,
  parameter MATRIX_WORK = 0,
  parameter VECTOR_WORK = 0
) (
  input wire clk,
  input wire rst,
  input wire [COUNTERS+17*ENGINES-1:0] trace  // eightfold.hw.ports.TRACE_LAYOUT
);
  localparam [COUNTERS-1:0] MOVER = MOVER_WORK[COUNTERS-1:0];
  localparam [COUNTERS-1:0] MATRIX = MATRIX_WORK[COUNTERS-1:0];
  localparam [COUNTERS-1:0] VECTOR = VECTOR_WORK[COUNTERS-1:0];

  reg [31:0] total [0:COUNTERS-1];
  reg [31:0] distance;
  reg [ENGINES-1:0] works;
  reg running;
  integer file, i, engine;

  // What counts comes a cycle after its event, what is done in the same cycle.
  reg [17*ENGINES-1:0] done;
  wire [COUNTERS-1:0] count = trace[COUNTERS-1:0];
  wire [ENGINES-1:0] work = {|(count & VECTOR), |(count & MATRIX), |(count & MOVER)};

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
      if (!running) begin
        distance = 16;
        works = 0;
      end
      running = 1;
      if (done[ENGINES-1:0] != 0 || (work & ~works) != 0)
        for (engine = 0; engine < ENGINES; engine = engine + 1) begin
          if (work[engine] && !works[engine]) begin
            $fwrite(file, "work %0d", engine);
            write_counters;
          end
          if (done[engine]) begin
            $fwrite(file, "%0d %0d", engine, done[ENGINES + 16*engine +: 16]);
            write_counters;
          end
        end
      works = work;
      if ((total[0] & (distance - 1)) == 0) begin
        $fwrite(file, "sample 0");
        write_counters;
        if (total[0] == 256 * distance) distance = 2 * distance;
      end
    end else if (running) begin
      $fwrite(file, "end 0");
      write_counters;
      $fflush(file);
      running = 0;
    end
    done = trace[COUNTERS +: 17*ENGINES];
  end
endmodule
