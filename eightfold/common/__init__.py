"""What every room may use: errors, files, processes, progress, extras, the options of programs.

Imports nothing of Eightfold.
"""
