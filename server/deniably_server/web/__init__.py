"""Tools of every view: bodies, files, problems, languages, charts, Markdown."""
