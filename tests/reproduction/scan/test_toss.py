"""Which word says JUMP in the small networks: the stored looks are of every run on record."""

import pytest

from mini_lib import trained
from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.comparison import TUTORIAL
from mini_lib.reproduction.scan import toss
from mini_lib.reproduction.scan.cells import CELLS
from mini_lib.scan import analysis
from mini_lib.scan.tasks import encode

LOOKS = toss.stored()


def seeds():
    """The seeds of the runs on record."""
    found = compare(
        CELLS, Records(), rows=["Syntactic Attention"], columns=["Add jump"], tables=["scan.table1"]
    )
    [small] = [each for each in found if each.cell.variant == TUTORIAL]
    return sorted(record["seed"] for record in small.records)


def test_stored_looks_are_of_every_run_on_record():
    assert list(LOOKS) == list(toss.SEEDS) == seeds()
    assert all(0 <= value <= 100 for look in LOOKS.values() for value in look)


def test_jump_says_jump_where_the_dictionary_says_so():
    for name in ("syntactic_attention", "syntactic_attention_wrong_meaning"):
        network = trained(name)
        says = analysis.dictionary(network).best()["jump"] == "JUMP"
        assert says == (toss.says_jump(network) > 50) == (name == "syntactic_attention")


def test_a_first_look_is_least_where_one_command_has_it_least():
    network = trained("syntactic_attention")
    commands = toss.practised()[:40]
    looks = [analysis.attend(network, command).attention[0] for command in commands]
    least = [100 * min(float(look[place]) for look in looks) for place in (0, -1)]
    assert toss.first_look(network, encode(commands)) == pytest.approx(least, abs=1e-3)
