"""The languages that files are written in: here alone a text becomes part of one.

Each module has the writer of one language. What it makes is a ``Code`` of that language, which
``source`` gives as text. A title, a label or an address gets into a script, a bibliography or a
page only through such a writer, so that it can be no command there.
"""
