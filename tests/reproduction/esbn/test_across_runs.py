"""The paper's t-tests follow from its printed tables (A.5.4)."""

import pytest
from scipy import stats

from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.esbn.across_runs import condition_means
from mini_lib.reproduction.esbn.cells import CELLS

PAIRED = {  # recomputed from the printed Tables 15-18: t, and p as the paper rounds it
    ("ESBN", "MLP"): (-1.74, 0.1),
    ("ESBN", "rand"): (1.61, 0.13),
    ("Transformer", "rand"): (-4.00, 0.001),
    ("Transformer", "MLP"): (-1.55, 0.14),
}


@pytest.mark.parametrize(("model", "encoder"), PAIRED)
def test_the_papers_t_tests_follow_from_its_printed_tables(model: str, encoder: str, tmp_path):
    tables = [f"esbn.table{number}" for number in range(15, 19)]
    comparisons = compare(CELLS, Records(tmp_path), tables=tables)
    conv, other = (condition_means(comparisons, f"{model} ({each})") for each in ("conv", encoder))
    assert list(conv) == list(other)
    t, p = stats.ttest_rel(list(other.values()), list(conv.values()))
    expected, printed_p = PAIRED[model, encoder]
    assert round(t, 2) == expected
    assert p == pytest.approx(printed_p, rel=0.06)
    assert len(conv) == 17
    assert condition_means(comparisons, f"{model} (conv)", ours=True) == {}
