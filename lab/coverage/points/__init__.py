"""Points of each operator and their bins."""
