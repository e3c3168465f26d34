"""What runs found, in the forms in which people and programs take it.

`result` is the result of a run, as Python and as JSON, and what it may keep besides; `clock` says
what cycles take in time; `table` shows a run, or an estimate, on a terminal. `page` makes static
HTML pages of the templates in ``templates/``, and the charts in them, with the extra ``report``,
which is loaded only when a page is made. `junit` writes JUnit XML. `run_page` is the page of one
run, and `timeline` what it draws over the cycles.

Imports `eightfold.run.reference`, `eightfold.isa` and what every room may; `Session`, documents
and the command line import it.
"""
