# Gowin GW2AR-18: the clock of every unit out of context.
# For Gowin EDA users; `eightfold synth` counts cells only.
create_clock -name clk -period 10.000 [get_ports {clk}]
