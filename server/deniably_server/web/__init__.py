"""Gives every view its tools: request bodies, files, problems, languages, icon arrays, Markdown."""
