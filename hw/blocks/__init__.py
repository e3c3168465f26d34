"""What several parts are made of: registers on streams, queues, delays, loops, the requantizer.

Imports nothing else of hw.
"""
