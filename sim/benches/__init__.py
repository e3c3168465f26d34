"""The cocotb benches, named as the units that they test. Each runs inside a simulator."""
