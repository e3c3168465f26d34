"""Operators prepared for many inferences: `weighted` with constant weights, `tables` bytewise."""
