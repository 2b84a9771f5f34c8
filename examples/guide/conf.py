"""Settings of Sphinx for the guide: theme, references to public names, and formulas of docstrings."""

import sys
from pathlib import Path

GUIDE = Path(__file__).parent
sys.path.insert(0, str(GUIDE))

import docstrings
import generated_pages

import boostrank

project = "boostrank"
author = "The boostrank developers"
release = version = boostrank.__version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
root_doc = "index"
exclude_patterns = ["_build", "_doctrees"]
templates_path = ["templates"]
nitpicky = True
# Single backticks stand around names of parameters.
default_role = "literal"
highlight_language = "python"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autosummary_generate = True
# Names in the lists of the API stand with their packages, so that references in their first sentences are found.
suppress_warnings = ["autosummary.import_cycle"]
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "boostrank"
html_static_path = ["static"]
html_css_files = ["guide.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
}

generated_pages.write_all(GUIDE / "_generated")


def setup(app):
    docstrings.setup(app)
