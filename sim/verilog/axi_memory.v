// Behavioural AXI4 memory for simulation: in order, incrementing bursts of whole beats.
//
// Reads: `latency` cycles from an address's transfer to its first beat's, then a beat per cycle, over
// the bursts of up to READS outstanding requests. Beats are read from the memory when they are sent.
// Writes: data is taken at any time, before its address too. It reaches the memory, a beat per cycle,
// from `latency` cycles after its address on; the response follows the last beat. So who reads
// before a write is answered may find what was there before.
//
// That is with `shared` 0. With 1, bursts of reads and writes take turns on one data bus, in the order
// in which their addresses came, as eightfold/target/memory/timing.py says: a beat takes `pace` sixteenths
// of a cycle, and a burst begins later by `turnaround`, `row_miss` and what is left of a refresh.
// `row_bits`, `bank_bits` and `unit_bits` are logarithms of a row's bytes, of the banks, and of the
// bytes that are transferred at least.
//
// The memory is at [base, base + BYTES); accesses elsewhere are answered DECERR, and accesses to a
// beat in an error range SLVERR. Neither is written. `stall` has a probability in 1/256 for each
// channel and cycle, AR lowest, then R, AW, W, B: AR, AW and W are not ready, R and B not valid.
// Which cycles these are follows from `seed`, from the reset and from each `load` on.
//
// `load` and `dump`, when they rise, read load.hex or write dump.hex ($readmemh, words of a beat) in
// the simulator's working directory; dump.hex gets the first `dump_words` words.
//
// `violations` counts broken rules of AXI and of this memory, each with a line on the output;
// `outside` counts beats that would write a byte not in [arena_low, arena_high).
module axi_memory #(
  parameter PORT = 16,        // bytes of a beat
  parameter BYTES = 1 << 24,
  parameter READS = 64,       // outstanding
  parameter WRITES = 32,
  parameter BEATS = 512,      // of write data, waiting
  parameter ID_BITS = 1
) (
  input wire clk,
  input wire rst,
  input wire [31:0] base,
  input wire [15:0] latency,
  input wire shared,
  input wire [15:0] pace,
  input wire [7:0] turnaround,
  input wire [7:0] row_miss,
  input wire [4:0] row_bits,
  input wire [4:0] bank_bits,
  input wire [4:0] unit_bits,
  input wire [15:0] refresh,
  input wire [15:0] refresh_every,
  input wire [39:0] stall,
  input wire [31:0] seed,
  input wire [31:0] read_error_low,
  input wire [31:0] read_error_high,
  input wire [31:0] write_error_low,
  input wire [31:0] write_error_high,
  input wire [31:0] arena_low,
  input wire [31:0] arena_high,
  input wire load,
  input wire dump,
  input wire [31:0] dump_words,
  output reg [31:0] outside,
  output reg [31:0] violations,
  input wire [ID_BITS-1:0] s_axi_arid,
  input wire [31:0] s_axi_araddr,
  input wire [7:0] s_axi_arlen,
  input wire [2:0] s_axi_arsize,
  input wire [1:0] s_axi_arburst,
  input wire s_axi_arvalid,
  output reg s_axi_arready,
  output reg [ID_BITS-1:0] s_axi_rid,
  output reg [8*PORT-1:0] s_axi_rdata,
  output reg [1:0] s_axi_rresp,
  output reg s_axi_rlast,
  output reg s_axi_rvalid,
  input wire s_axi_rready,
  input wire [ID_BITS-1:0] s_axi_awid,
  input wire [31:0] s_axi_awaddr,
  input wire [7:0] s_axi_awlen,
  input wire [2:0] s_axi_awsize,
  input wire [1:0] s_axi_awburst,
  input wire s_axi_awvalid,
  output reg s_axi_awready,
  input wire [8*PORT-1:0] s_axi_wdata,
  input wire [PORT-1:0] s_axi_wstrb,
  input wire s_axi_wlast,
  input wire s_axi_wvalid,
  output reg s_axi_wready,
  output reg [ID_BITS-1:0] s_axi_bid,
  output reg [1:0] s_axi_bresp,
  output reg s_axi_bvalid,
  input wire s_axi_bready
);
  localparam OKAY = 2'd0, SLVERR = 2'd2, DECERR = 2'd3;

  reg [8*PORT-1:0] memory [0:BYTES/PORT-1];

  // Queues: items are between head and tail, which count on and wrap.
  reg [ID_BITS-1:0] ar_id [0:READS-1];
  reg [31:0] ar_address [0:READS-1];
  reg [7:0] ar_length [0:READS-1];
  reg [31:0] ar_due [0:READS-1];
  reg [ID_BITS-1:0] aw_id [0:WRITES-1];
  reg [31:0] aw_address [0:WRITES-1];
  reg [7:0] aw_length [0:WRITES-1];
  reg [31:0] aw_due [0:WRITES-1];
  reg [8*PORT-1:0] w_data [0:BEATS-1];
  reg [PORT-1:0] w_strobe [0:BEATS-1];
  reg w_last [0:BEATS-1];
  reg [ID_BITS-1:0] b_id [0:WRITES-1];
  reg [1:0] b_response [0:WRITES-1];
  reg [31:0] ar_head, ar_tail, aw_head, aw_tail, w_head, w_tail, b_head, b_tail;

  reg [31:0] now;
  reg [7:0] read_beat, write_beat;  // of the oldest request
  reg [1:0] write_response;
  reg [31:0] address;
  reg [31:0] item;
  reg loaded, dumped;
  integer i;

  // The shared data bus: times in sixteenths of a cycle.
  localparam NONE = 2'd0, READ = 2'd1, WRITE = 2'd2;
  reg [1:0] serving, direction;
  reg [63:0] beat_at, bus_free, refresh_at, begin_at, refreshed;
  reg [63:0] rounding;  // of the burst, behind its last beat
  reg [31:0] open_row [0:15];
  reg [15:0] is_open;
  reg [31:0] row, bytes;

  // One xorshift generator per channel, so that all simulators stall in the same cycles.
  reg [31:0] random [0:4];
  reg [4:0] stalled;

  function [31:0] xorshift(input [31:0] state);
    reg [31:0] x;
    begin
      x = state ^ (state << 13);
      x = x ^ (x >> 17);
      xorshift = x ^ (x << 5);
    end
  endfunction

  task seed_stalls;
    for (i = 0; i < 5; i = i + 1) random[i] = {seed[28:0], 3'd1} + i * 32'h9e3779b8;
  endtask

  task violation(input [8*24-1:0] what);
    begin
      violations <= violations + 1;
      $display("axi_memory: %0s in cycle %0d", what, now);
    end
  endtask

  task check_request(input [31:0] first, input [7:0] length, input [2:0] size, input [1:0] burst);
    begin
      if (^{first, length, size, burst} === 1'bx) violation("unknown request");
      else if (size != $clog2(PORT) || burst != 2'd1) violation("narrow or not INCR");
      else if (first % PORT != 0) violation("unaligned address");
      else if (first % 4096 + (length + 1) * PORT > 4096) violation("burst crosses 4 KiB");
    end
  endtask

  function [1:0] response(input [31:0] at, input [31:0] low, input [31:0] high);
    if (at - base >= BYTES) response = DECERR;
    else response = at >= low && at < high ? SLVERR : OKAY;
  endfunction

  task write_one_beat;
    reg [1:0] answer;
    reg stray;
    begin
      item = aw_head % WRITES;
      address = aw_address[item] + write_beat * PORT;
      answer = response(address, write_error_low, write_error_high);
      if (answer != OKAY) write_response = answer;
      stray = 0;
      for (i = 0; i < PORT; i = i + 1)
        if (w_strobe[w_head % BEATS][i]) begin
          if (address + i < arena_low || address + i >= arena_high) stray = 1;
          if (answer == OKAY)
            memory[(address - base) / PORT][8*i +: 8] = w_data[w_head % BEATS][8*i +: 8];
        end
      if (stray) outside <= outside + 1;
      if (w_last[w_head % BEATS] != (write_beat == aw_length[item])) violation("misplaced WLAST");
      w_head = w_head + 1;
      write_beat = write_beat + 1;
      if (write_beat == aw_length[item] + 8'd1) begin
        b_id[b_tail % WRITES] = aw_id[item];
        b_response[b_tail % WRITES] = write_response;
        b_tail = b_tail + 1;
        aw_head = aw_head + 1;
        write_beat = 0;
        write_response = OKAY;
      end
    end
  endtask

  task read_one_beat;
    begin
      item = ar_head % READS;
      address = ar_address[item] + read_beat * PORT;
      s_axi_rid <= ar_id[item];
      s_axi_rresp <= response(address, read_error_low, read_error_high);
      // What comes with an error is not data.
      s_axi_rdata <= response(address, read_error_low, read_error_high) == OKAY
        ? memory[(address - base) / PORT] : {PORT{8'ha5}};
      s_axi_rlast <= read_beat == ar_length[item];
      s_axi_rvalid <= 1;
      if (read_beat == ar_length[item]) begin
        ar_head = ar_head + 1;
        read_beat = 0;
      end else read_beat = read_beat + 1;
    end
  endtask

  // Where the data bus is free: the older of the oldest requests, and when its first beat comes.
  task choose_burst;
    begin
      if (serving == NONE && (ar_head != ar_tail || aw_head != aw_tail)) begin
        if (aw_head == aw_tail || (ar_head != ar_tail
            && aw_due[aw_head % WRITES] - ar_due[ar_head % READS] < 32'h80000000)) begin
          item = ar_head % READS;
          begin_burst(READ, ar_due[item], ar_address[item], ar_length[item]);
        end else begin
          item = aw_head % WRITES;
          begin_burst(WRITE, aw_due[item], aw_address[item], aw_length[item]);
        end
      end
    end
  endtask

  task begin_burst(
    input [1:0] way, input [31:0] due, input [31:0] first, input [7:0] length
  );
    begin
      begin_at = {28'd0, due, 4'd0};
      if (begin_at < bus_free) begin_at = bus_free;
      if (refresh != 0 && begin_at >= refresh_at) begin
        refresh_at = refresh_at
          + (begin_at - refresh_at) / (16 * refresh_every) * (16 * refresh_every);
        refreshed = (bus_free > refresh_at ? bus_free : refresh_at) + 16 * refresh;
        if (begin_at < refreshed) begin_at = refreshed;
        refresh_at = refresh_at + 16 * refresh_every;
        is_open = 0;
      end
      if (direction != NONE && direction != way) begin_at = begin_at + 16 * turnaround;
      row = first >> row_bits;
      item = row & ((32'd1 << bank_bits) - 1);
      if (!is_open[item] || open_row[item] != row) begin_at = begin_at + 16 * row_miss;
      is_open[item] = 1;
      open_row[item] = row;
      bytes = (first & ((32'd1 << unit_bits) - 1)) + (length + 1) * PORT;
      rounding = (((bytes + (32'd1 << unit_bits) - 1) >> unit_bits << unit_bits)
        - (length + 1) * PORT) * pace / PORT;
      beat_at = begin_at;
      serving = way;
      direction = way;
    end
  endtask

  // After a beat that transfers in a cycle: when the next one may.
  task next_beat(input [31:0] cycle, input last);
    begin
      // Only a beat that was held up delays those behind it.
      if (beat_at + 15 < {28'd0, cycle, 4'd0}) beat_at = {28'd0, cycle, 4'd0};
      beat_at = beat_at + pace;
      if (last) begin
        bus_free = beat_at + rounding;
        serving = NONE;
      end
    end
  endtask

  task take_requests;
    begin
      if (s_axi_arvalid && s_axi_arready) begin
        check_request(s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst);
        item = ar_tail % READS;
        ar_id[item] = s_axi_arid;
        ar_address[item] = s_axi_araddr;
        ar_length[item] = s_axi_arlen;
        ar_due[item] = now + latency;
        ar_tail = ar_tail + 1;
      end
      if (s_axi_awvalid && s_axi_awready) begin
        check_request(s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst);
        item = aw_tail % WRITES;
        aw_id[item] = s_axi_awid;
        aw_address[item] = s_axi_awaddr;
        aw_length[item] = s_axi_awlen;
        aw_due[item] = now + latency;
        aw_tail = aw_tail + 1;
      end
      if (s_axi_wvalid && s_axi_wready) begin
        w_data[w_tail % BEATS] = s_axi_wdata;
        w_strobe[w_tail % BEATS] = s_axi_wstrb;
        w_last[w_tail % BEATS] = s_axi_wlast;
        w_tail = w_tail + 1;
      end
    end
  endtask

  task answer;
    begin
      if (shared) choose_burst;
      if (aw_head != aw_tail && w_head != w_tail && b_tail - b_head < WRITES
          && (shared ? serving == WRITE && {28'd0, now, 4'd0} >= beat_at
            : now - aw_due[aw_head % WRITES] < 32'h80000000)) begin
        if (shared) next_beat(now, write_beat == aw_length[aw_head % WRITES]);
        write_one_beat;
      end
      // A beat that is read next is sent in this cycle.
      if (shared) choose_burst;
      if (s_axi_bready || !s_axi_bvalid) begin
        s_axi_bvalid <= 0;
        if (b_head != b_tail && !stalled[4]) begin
          s_axi_bid <= b_id[b_head % WRITES];
          s_axi_bresp <= b_response[b_head % WRITES];
          s_axi_bvalid <= 1;
          b_head = b_head + 1;
        end
      end
      if (s_axi_rready || !s_axi_rvalid) begin
        s_axi_rvalid <= 0;
        // A beat that is sent now transfers in the next cycle.
        if (ar_head != ar_tail && !stalled[1]
            && (shared ? serving == READ && {28'd0, now + 32'd1, 4'd0} >= beat_at
              : now + 1 - ar_due[ar_head % READS] < 32'h80000000)) begin
          if (shared) next_beat(now + 1, read_beat == ar_length[ar_head % READS]);
          read_one_beat;
        end
      end
    end
  endtask

  wire [2:0] broken;
  axi_held #(.BITS(45)) held_ar (
    .clk(clk), .rst(rst), .valid(s_axi_arvalid), .ready(s_axi_arready), .broken(broken[0]),
    .payload({s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst}));
  axi_held #(.BITS(45)) held_aw (
    .clk(clk), .rst(rst), .valid(s_axi_awvalid), .ready(s_axi_awready), .broken(broken[1]),
    .payload({s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst}));
  axi_held #(.BITS(9*PORT+1)) held_w (
    .clk(clk), .rst(rst), .valid(s_axi_wvalid), .ready(s_axi_wready), .broken(broken[2]),
    .payload({s_axi_wdata, s_axi_wstrb, s_axi_wlast}));

  always @(posedge clk) begin
    now = now + 1;
    for (i = 0; i < 5; i = i + 1) begin
      random[i] = xorshift(random[i]);
      stalled[i] = random[i][15:8] < stall[8*i +: 8];
    end
    take_requests;
    answer;
    if (broken != 0) violation("request not held");
    s_axi_arready <= !stalled[0] && ar_tail - ar_head < READS;
    s_axi_awready <= !stalled[2] && aw_tail - aw_head < WRITES;
    s_axi_wready <= !stalled[3] && w_tail - w_head < BEATS;
    if (load && !loaded) begin
      $readmemh("load.hex", memory);
      seed_stalls;
    end
    if (dump && !dumped) $writememh("dump.hex", memory, 0, dump_words - 1);
    loaded = load;
    dumped = dump;
    if (rst) begin
      now = 0;
      {ar_head, ar_tail, aw_head, aw_tail, w_head, w_tail, b_head, b_tail} = 0;
      {read_beat, write_beat, write_response} = 0;
      {serving, direction, bus_free, beat_at, rounding, is_open} = 0;
      refresh_at = 16 * refresh_every;
      {s_axi_arready, s_axi_awready, s_axi_wready, s_axi_rvalid, s_axi_bvalid} <= 0;
      {outside, violations} <= 0;
      seed_stalls;
    end
  end
endmodule

// Rule of every AXI channel: valid stays, and the payload with it, until ready.
module axi_held #(
  parameter BITS = 1
) (
  input wire clk,
  input wire rst,
  input wire valid,
  input wire ready,
  input wire [BITS-1:0] payload,
  output wire broken
);
  reg waiting;
  reg [BITS-1:0] offered;
  assign broken = waiting && !(valid === 1'b1 && payload === offered);
  always @(posedge clk) begin
    waiting <= !rst && valid && !ready;
    offered <= payload;
  end
endmodule
