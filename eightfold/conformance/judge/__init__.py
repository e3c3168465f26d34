"""Verdicts that explain: another requantizer's results against golden, and the mistake by its name.

`forms` has the forms of requantization that can be claimed, with golden as their reference;
`arithmetic` a requantizer with a choice at every place where one can go wrong, `variants` the named
mistakes, which are such choices; `diagnosis` the verdict, `rules` what cases have in common, and
`power` what the cases could not have told apart. Arrays in, sentences out: no files, no adapters.

Imports golden alone.
"""
