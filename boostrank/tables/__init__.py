"""Tables of results for the terminal, in Markdown, in LaTeX and in HTML."""
