"""What writes the documents' generated parts, between the markers of `eightfold.common.markers`.

``python -m lab.documents`` writes all that has its source in the tree: `tables` says what the tree
says, `throughput` what operators were measured to take, `kit` what the conformance kit names,
`evidence` what campaigns have counted. What is measured has programs of its own: `figures` runs
networks, `speed` times golden. `blocks` runs the commands whose output a page shows, `site` makes
pages for a browser. Nothing imports this room.
"""
