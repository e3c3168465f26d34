"""Random and directed inputs of the benches: commands, beats, requantizations."""
