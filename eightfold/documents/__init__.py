"""What writes the documents: cycles of networks, their chart, golden's speed.

Programs of their own (``python -m eightfold.documents.figures``); nobody imports them but tests.
"""
