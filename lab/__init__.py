"""The laboratory: what shows that this hardware is right and what it costs, in a checkout only."""
