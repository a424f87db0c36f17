"""Mends what Sphinx and its theme write into the book's pages; a Sphinx extension (`book/_config.yml`)."""

import os
import re

STATE = "application/vnd.jupyter.widget-state+json"  # a notebook's widgets
VIEW = "application/vnd.jupyter.widget-view+json"  # an output that is one of them
# A signature of several lines comes as a list of definitions that define nothing, which screen readers stumble over.
LONG_SIGNATURE = re.compile(r"<dl>\n((?:<dd>.*?</dd>\n)+)</dl>", re.DOTALL)
# A cell that draws a figure of a paper (`mini_lib.reproduction.gallery`).
PAPERS_FIGURE = re.compile(r'<div class="cell [^"]*\btag_figure-[^"]*">')


def mend_signatures(app, page, template, context, doctree) -> None:
    """Make the lines of long signatures lines, and no list; called by Sphinx for each page."""

    def lines(found: re.Match) -> str:
        return found.group(1).replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")

    context["body"] = LONG_SIGNATURE.sub(lines, context.get("body") or "")


def mend_bibliography(app, page, template, context, doctree) -> None:
    """Its entries are no items of a list for screen readers, so it is no list; called by Sphinx for each page."""
    context["body"] = (context.get("body") or "").replace(
        '<div role="list" class="citation', '<div class="citation'
    )


def name_figures(app, page, template, context, doctree) -> None:
    """Let links lead to the cells that draw the papers' figures; called by Sphinx for each page."""

    def named(found: re.Match) -> str:
        first, *others = re.findall(r"tag_(figure-\w+)", found.group())
        places = "".join(f'<span id="{other}"></span>' for other in others)
        return found.group().replace("<div", f'<div id="{first}"', 1) + places

    context["body"] = PAPERS_FIGURE.sub(named, context.get("body") or "")


def once(app, page, template, context, doctree) -> None:
    """Leave out inline scripts that the theme puts in twice: their `const` would be an error on every page."""
    seen = set()

    def new(script) -> bool:
        body = getattr(script, "attributes", {}).get("body")
        return not body or not (body in seen or seen.add(body))

    context["script_files"][:] = [script for script in context.get("script_files", []) if new(script)]


def add_buttons(app, config) -> None:
    """Where `BOOK_REPOSITORY` is set, link the pages to it, and notebooks to Binder and Colab; called by Sphinx.

    It is an address such as "https://github.com/owner/name"; `BOOK_VERSION` is a branch or tag, "main" if not set.
    """
    if address := os.environ.get("BOOK_REPOSITORY"):
        config.html_theme_options |= {
            "repository_url": address,
            "repository_branch": os.environ.get("BOOK_VERSION", "main"),
            "use_repository_button": True,
            "launch_buttons": {
                "binderhub_url": "https://mybinder.org",
                "colab_url": "https://colab.research.google.com",
                "notebook_interface": "jupyterlab",
            },
        }


def setup(app) -> dict:
    """Register with Sphinx."""
    app.connect("config-inited", add_buttons)
    app.connect("html-page-context", mend_signatures)
    app.connect("html-page-context", mend_bibliography)
    app.connect("html-page-context", name_figures)
    app.connect("html-page-context", once, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
