"""The command line: ``eightfold`` and its subcommands, a module for each group of them.

`main` is the program. Imports everything; nobody imports it.
"""
