# AMD Zynq-7000, XC7Z020: the clock of every unit out of context.
# For Vivado users (synth_design -mode out_of_context); `eightfold synth` reads the period.
create_clock -name clk -period 5.000 [get_ports clk]
