"""What is compared across runs of the ESBN paper: means by condition, for the t-tests of A.5.4."""

from mini_lib.reproduction import Comparison


def condition_means(
    comparisons: list[Comparison], row: str, ours: bool = False
) -> dict[tuple[str, str], float]:
    """Mean accuracy of a row of Tables 15-18 in each condition (table, m), the paper's or ours where we have any."""
    chosen = [c for c in comparisons if c.cell.row == row and not c.cell.variant]
    means = {(c.cell.table, c.cell.column): c.ours.mean if ours else c.paper.mean for c in chosen}
    return {condition: mean for condition, mean in means.items() if mean is not None}
