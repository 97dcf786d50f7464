# SPDX-License-Identifier: Apache-2.0
# docs/conf.py: how Sphinx builds the guide from this repository's Markdown, by `make docs` (tools/docs.sh).
"""The source folder is the repository's root, so links work as they do on GitHub, also to READMEs and to code."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # lesson.py, header_comments.py

project = "upsweep"
root_doc = "docs/index"
include_patterns = ["docs/**.md", "docs/*.ipynb", "src/README.md", "src/**/README.md", "include/**/README.md", "bench/results/README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = [".*", "build*", "dist"]
extensions = ["myst_nb", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "lesson", "header_comments"]

# A link or a name without a target is a warning, and warnings are errors. These names are exempt.
nitpicky = True
nitpick_ignore_regex = [
    ("cpp:identifier", r"(upsweep::)?(mpi::|nccl::)?detail(::.*)?"),  # names that only templates use
    ("cpp:identifier", r"query::\w+|State|CUstream_st|CUevent_st|MPI_Comm|ncclComm_t"),  # only declared, or not ours
    ("cpp:identifier", r"u?int\d+_t"),
    ("std:ref", r"\w+_8hpp"),  # headers that comments name: doxygen would link to its pages for them
    ("py:class", ".*"),  # types of parameters are prose: "array of int64, of shape (n,)"
]
suppress_warnings = ["duplicate_declaration.cpp"]  # every header opens the namespace upsweep

# Headings are linked to as on GitHub: performance.md#queries-1.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]

highlight_language = "none"  # of blocks without a language: commands and their output
smartquotes = False  # quotes are part of names and values: "checked"

nb_execution_mode = "off"  # the notebook is shown with its stored output: tools/notebook.py

breathe_projects = {"upsweep": "../build/docs/doxygen/xml"}
breathe_default_project = "upsweep"
breathe_show_include = False  # the heading names the header

add_module_names = False
autodoc_typehints = "none"  # the docstrings contain types
default_role = "code"  # docstrings mark names with backquotes, like Markdown

html_theme = "furo"
html_title = "upsweep"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_css_files = ["guide.css"]
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "github-dark"  # comments are gray, as in the light style
