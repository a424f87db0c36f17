"""Mends what Sphinx and its theme write into the book's pages; a Sphinx extension (`book/_config.yml`)."""

import os
import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

# A signature of several lines comes as a list of definitions that define nothing, which screen readers stumble over.
LONG_SIGNATURE = re.compile(r"<dl>\n((?:<dd>.*?</dd>\n)+)</dl>", re.DOTALL)
# Such as [AWCL24], where the chapters cite authors and year.
CITATION_LABEL = re.compile(
    r'<span class="label"><span class="fn-bracket">\[</span>.*?<span class="fn-bracket">\]</span></span>\s*'
)
# A cell that draws a figure of a paper (`mini_lib.reproduction.gallery`).
PAPERS_FIGURE = re.compile(r'<div class="cell [^"]*\btag_figure-[^"]*">')
GUESS = "Your guess."  # the words, in bold, that begin a paragraph before a reveal


class Reveal(SphinxTransform):
    """Fold what follows a question, figure and answer together, until the reader asks for it.

    A reveal begins after a paragraph that opens with `GUESS` in bold; it ends at a thematic break (`---`), which is
    taken out, at the next heading or at the next question. Its `<details>` works without a script; `folds.js` opens
    it in print, and makes buttons of answers at the end of the question: "*yes* · *no*".
    """

    default_priority = 200  # before docutils checks the places of thematic breaks

    def apply(self, **_) -> None:
        """Called by Sphinx for each page."""
        questions = [each for each in self.document.findall(nodes.paragraph) if _asks(each)]
        for question in questions:
            parent = question.parent
            first = last = parent.index(question) + 1
            while last < len(parent) and not (
                isinstance(parent[last], nodes.section | nodes.transition) or _asks(parent[last])
            ):
                last += 1
            if last == first:
                raise ValueError(f"{self.env.docname}: nothing to show after {question.astext()!r}")
            if last < len(parent) and isinstance(parent[last], nodes.transition):
                del parent[last]
            start = '<details class="reveal"><summary>Show what happened</summary>'
            parent.insert(last, nodes.raw("", "</details>", format="html"))
            parent.insert(first, nodes.raw("", start, format="html"))


def _asks(node: nodes.Node) -> bool:
    first = next((part for part in node.children if part.astext()), None)
    return isinstance(node, nodes.paragraph) and isinstance(first, nodes.strong) and first.astext() == GUESS


def mend(app, page, template, context, doctree) -> None:
    """Mend the HTML of a page; called by Sphinx for each.

    The lines of long signatures are no list, citations have no label and no role of an empty list, and links lead to
    the cells that draw the papers' figures.
    """

    def lines(found: re.Match) -> str:
        return found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")

    def named(found: re.Match) -> str:
        first, *others = re.findall(r"tag_(figure-[\w-]+)", found[0])
        places = "".join(f'<span id="{other}"></span>' for other in others)
        return found[0].replace("<div", f'<div id="{first}"', 1) + places

    body = LONG_SIGNATURE.sub(lines, context.get("body") or "")
    body = CITATION_LABEL.sub("", body.replace('<div role="list" class="citation', '<div class="citation'))
    context["body"] = PAPERS_FIGURE.sub(named, body)


def find_terms(app, doctree, page) -> None:
    """Let links to the glossary lead to the word that they show, if it is a term; called by Sphinx for each page."""
    objects = app.env.domains["std"].objects
    places = {term.lower(): place for (kind, term), (_, place) in objects.items() if kind == "term"}
    for link in doctree.findall(nodes.reference):
        word = link.astext().lower()
        place = places.get(word) or places.get(word.removesuffix("s"))
        if place and link.get("refuri", "").endswith("glossary.html"):
            link["refuri"] += f"#{place}"


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
    app.add_transform(Reveal)
    app.connect("config-inited", add_buttons)
    app.connect("doctree-resolved", find_terms)
    app.connect("html-page-context", mend)
    app.connect("html-page-context", once, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
