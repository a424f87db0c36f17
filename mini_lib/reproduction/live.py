"""Live figures: the book's pages in which a trained network answers by itself, with no Python behind them.

A page that holds `<div class="live" data-live="NAME">` gets the scripts of that figure, and the book a parcel: the
tensors that the scripts calculate with, and facts about them. It is a Sphinx extension (`book/_config.yml`); the
scripts lie in `book/_static/live`.
"""

import base64
import json
import re
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from safetensors.torch import save
from torch import Tensor, nn

from mini_lib.errors import UsageError

# Figures by name, PAPER or PAPER_PART: the scripts between the shared ones and NAME_figure, and the parcels.
FIGURES = {
    "game": (("esbn", "esbn_parts"), "esbn_pictures", "esbn", "esbn_lstm"),
    "esbn_tasks": (("esbn", "esbn_parts"), "esbn_pictures"),
    "esbn_memory": (("esbn", "esbn_parts"), "esbn_pictures", "esbn"),
    "esbn_shuffle": (("esbn", "esbn_parts"), "esbn_pictures", "esbn", "esbn_lstm"),
    "esbn_keys": (("esbn", "esbn_parts"), "esbn_pictures", "esbn"),
    "esbn_plane": (("esbn", "esbn_parts"), "esbn_pictures", "esbn"),
    "scan_commands": (("scan", "scan_chips"),),
    "scan_way": (("scan", "scan_chips", "scan_gru"), "scan_way"),
    "scan_streams": (("scan", "scan_parts"), "scan"),
    "scan_attention": (("scan", "scan_parts"), "scan"),
    "functions_draw": (("functions", "functions_plot"), "functions"),
    "functions_lift": (("functions", "functions_plot"), "functions"),
    "functions_tune": ((),),
    "functions_window": (("functions", "functions_plot"), "functions"),
    "functions_ensemble": (("functions", "functions_plot"), "functions"),
    "kanerva": (("kanerva", "kanerva_parts"), "kanerva"),
    "kanerva_binding": (("kanerva", "kanerva_parts"), "kanerva_binding"),
    "kanerva_stroke": (("kanerva", "kanerva_parts"), "kanerva_binding"),
    "kanerva_sprites": (("kanerva", "kanerva_parts"), "kanerva_sprites"),
    "kanerva_choice": ((), "kanerva_choice"),
    "kanerva_product": ((), "kanerva_product"),
    "grid_start": ((), "grid_start"),
}
PARCELS = tuple(dict.fromkeys(name for _, *names in FIGURES.values() for name in names))
MARK = re.compile(r'data-live="([\w-]+)"')


@dataclass(frozen=True)
class Parcel:
    """What the scripts of a figure are given."""

    tensors: dict[str, Tensor]  #: by name, in float16, float32 or uint8, as small as will do.
    facts: dict = field(default_factory=dict)  #: whatever else they should know, as JSON holds it.

    def script(self, name: str) -> str:
        """The JavaScript that hands it over. A page from the disk may fetch nothing else."""
        packed = base64.b64encode(save({k: v.contiguous() for k, v in self.tensors.items()})).decode()
        return f"Live.deliver({json.dumps(name)}, {json.dumps({'tensors': packed, 'facts': self.facts})});\n"


def halves(name: str, network: nn.Module) -> dict[str, Tensor]:
    """What a network holds as NAME/PARAMETER, in half precision."""
    return {f"{name}/{parameter}": value.half() for parameter, value in network.state_dict().items()}


def parcel(name: str) -> Parcel:
    """The parcel of that name: `parcel()` in the module `live` of its paper, of PAPER_PART `parcel(PART)`."""
    paper, *part = name.split("_")
    return import_module(f"mini_lib.reproduction.{paper}.live").parcel(*part)


def scripts_of(names: list[str]) -> list[str]:
    """The scripts of these figures in their order: what all share, their networks, the figures."""
    shared = dict.fromkeys(script for name in names for script in FIGURES[name][0])
    return [*(("arithmetic", "page") if names else ()), *shared, *(f"{name}_figure" for name in names)]


def figures_of(body: str) -> list[str]:
    """The live figures of a page's HTML; UsageError for one that does not exist."""
    names = sorted(set(MARK.findall(body)))
    if unknown := [name for name in names if name not in FIGURES]:
        raise UsageError(f"no live figure {unknown[0]!r}; there are {', '.join(FIGURES)}")
    return names


def pages_of(book: Path, figure: str) -> list[Path]:
    """The pages of a built book that hold a live figure, in the order of their paths."""
    mark = f'data-live="{figure}"'
    return [path for path in sorted(book.rglob("*.html")) if mark in path.read_text(encoding="utf-8")]


def add_scripts(app, page, template, context, doctree) -> None:
    """Give a page the scripts of its live figures, and each figure an anchor; called by Sphinx for each page."""
    body = context.get("body") or ""
    for script in scripts_of(figures_of(body)):
        app.add_js_file(f"live/{script}.js", loading_method="defer")
    context["body"] = MARK.sub(r'id="live-\1" \g<0>', body)


def write_parcels(app) -> None:
    """Write the parcels of all figures to where their scripts will be.

    Before any page is read: autodoc puts objects of its own in the place of the defaults that it documents, and
    networks are made of these.
    """
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / "live"
        folder.mkdir(parents=True, exist_ok=True)
        for name in PARCELS:
            (folder / f"parcel-{name}.js").write_text(parcel(name).script(name))


def setup(app) -> dict:
    """Register with Sphinx."""
    app.connect("builder-inited", write_parcels)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
