"""The settings of the small binding task, on which two machines come to divide the items unaided."""

from mini_lib.kanerva.runs import Settings
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.kanerva.cells import CELLS

VARIANTS = {"as printed": f"{TUTORIAL}, small", "balanced at first": f"{TUTORIAL}, small, balanced at first"}


def settings_of(name: str) -> Settings:
    """The settings of the records of Figure 2A, as the paper has them or with the balance term."""
    return next(
        Settings.from_dict(cell.settings)
        for cell in CELLS
        if cell.table == "kanerva.fig2a" and cell.variant == VARIANTS[name]
    )
