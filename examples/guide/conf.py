"""Settings of Sphinx for the guide: theme, links to public names, and formulas of docstrings."""

import os
import tomllib
from importlib.util import find_spec
from pathlib import Path

import docstrings
import generated_pages
from sphinx.ext.autodoc.mock import mock

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
# Names in the lists of the API stand with their packages, so that references in their first
# sentences are found.
suppress_warnings = ["autosummary.import_cycle"]
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

# Cards of the gallery link to pages of the guide, which tests/test_guide.py checks.
linkcheck_ignore = [r"\w+\.html$"]

html_theme = "pydata_sphinx_theme"
html_title = "boostrank"
# MathJax is a part of the site: formulas are drawn without a network, and no other server learns
# who reads them.
html_static_path = [
    "static",
    f"{find_spec('sphinx-mathjax-offline').submodule_search_locations[0]}/static",
]
mathjax_path = "mathjax/tex-chtml.js"
html_css_files = ["guide.css"]
html_show_sourcelink = False
html_use_index = False
html_domain_indices = False
# Pages without others below them.
html_sidebars = {"faq": [], "changes": []}
html_theme_options = {
    # Other pages need the width for code, formulas and tables.
    "secondary_sidebar_items": {
        "*": ["page-toc"],
        "_generated/api/**": ["page-toc"],
        "_generated/api/parameters": [],
    },
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
}

# The address of a version that publish.py puts beside others: the menu of versions needs it.
if address := os.environ.get("GUIDE_ADDRESS"):
    folder, _, version_match = address.rpartition("/")
    html_theme_options |= {
        "switcher": {"json_url": f"{folder}/switcher.json", "version_match": version_match},
        "navbar_start": ["navbar-logo", "version-switcher"],
        "show_version_warning_banner": True,
        # The file is written after this.
        "check_switcher": False,
    }

# Addresses of the project, when it has them.
urls = tomllib.loads(GUIDE.parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8"))[
    "project"
].get("urls", {})
html_theme_options["external_links"] = [
    {"name": name, "url": url} for name, url in urls.items() if name != "Documentation"
]
if "Source" in urls:
    html_theme_options |= {"use_edit_page_button": True, "article_footer_items": ["edit-this-page"]}
    owner, repository = urls["Source"].split("/")[-2:]
    html_context = {"github_user": owner, "github_repo": repository, "github_version": "main"}
    html_context["doc_path"] = "examples/guide"

# The pages of Ray and Spark need no installation of them, which is large.
with mock(["pyspark", "ray"]):
    generated_pages.write_all(GUIDE / "_generated")


def setup(app):
    docstrings.setup(app)
    app.connect("html-page-context", without_edit_link)


def without_edit_link(app, page, template, context, doctree):
    """Pages that are written from other files have no file that a reader could edit."""
    if page.startswith("_generated/"):
        context["theme_use_edit_page_button"] = False
