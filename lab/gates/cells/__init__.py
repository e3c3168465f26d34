"""What each cell of an ECP5 netlist computes, as Verilog that simulates fast."""
