"""Integer parameters that are proved equal to the reference's arithmetic.

Imports golden alone; lowering and steps import it.
"""
