"""Settings of Sphinx for the guide: theme, references to public names, and formulas of docstrings."""

from pathlib import Path

import docstrings
import generated_pages

import boostrank

GUIDE = Path(__file__).parent

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
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autosummary_generate = True
# Names in the lists of the API stand with their packages, so that references in their first sentences are found.
suppress_warnings = ["autosummary.import_cycle"]
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# Cards of the gallery link to pages of the guide, which tests/test_guide.py checks.
linkcheck_ignore = [r"\w+\.html$"]

html_theme = "pydata_sphinx_theme"
html_title = "boostrank"
html_static_path = ["static"]
html_css_files = ["guide.css"]
html_show_sourcelink = False
html_use_index = False
html_domain_indices = False
html_theme_options = {
    "show_prev_next": False,
    # Other pages need the width for code, formulas and tables.
    "secondary_sidebar_items": {"_generated/api/**": ["page-toc"]},
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
}

generated_pages.write_all(GUIDE / "_generated")


def setup(app):
    docstrings.setup(app)
