"""Tools of every view: bodies, files, problems, languages, icon arrays, Markdown."""
