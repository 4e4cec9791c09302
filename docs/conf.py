"""How Sphinx builds the site: ``make docs``."""

import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
os.environ.setdefault("MPLBACKEND", "Agg")

import vanishing  # noqa: E402

project = "vanishing"
author = copyright = "The vanishing developers"
release = version = vanishing.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "website.mathml",
    "website.pages",
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "**/sg_execution_times*", "sg_execution_times*"]
rst_prolog = r".. |g| replace:: \|g\|"  # docstrings write the absolute value of g like this

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "vanishing"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "subsection_order": [f"../examples/{name}" for name in ("laws", "classifier", "detector", "ideals", "scale")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": "torch_layer" if importlib.util.find_spec("torch") is None else r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "plot_gallery": True,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "min_reported_time": 10_000,
}
