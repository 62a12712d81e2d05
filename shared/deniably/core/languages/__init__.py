"""Writers of the languages that files are in: the only way for a text to become part of one.

Each module has the writer of one language. A writer makes a ``Code`` of that language, whose
``source`` is the text. A title, a label or an address gets into a script, a bibliography or a page
only through such a writer, so that it can be no command there.
"""
