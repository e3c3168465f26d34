"""What several parts are made of: registers on streams, queues, delays, loops, the requantizer.

`component` is the base of all components. Imports nothing else of hw.
"""
