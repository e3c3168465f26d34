"""What campaigns have shown of Eightfold, counted, so that a page and its figures can be kept.

`entry` says what is kept of a suite in a column of a campaign, `collect` counts it from a
campaign's folder, `record` keeps all entries in one file. `lab.documents.evidence` writes
the page.
"""
