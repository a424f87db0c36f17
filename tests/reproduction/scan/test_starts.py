"""The first updates of the paper's runs, and whether attention is on one end of the command by then."""

from types import SimpleNamespace

import pytest
import torch

from mini_lib.reproduction.scan import cells, starts
from mini_lib.reproduction.scan.starts import Start, by_update, share_on_an_end
from mini_lib.scan import runs
from mini_lib.scan.runs import paper_settings
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import encode
from mini_lib.training import train


def test_a_start_is_the_beginning_of_the_papers_run(monkeypatch):
    """With smaller networks and fewer commands."""
    train_commands, test = runs.get_split("add_jump")
    few = runs.get_split("add_jump")._replace(train=train_commands[:400], test=test[:5])
    small = paper_settings("add_jump", options={"syntax": 8, "semantics": 6})
    monkeypatch.setattr(runs, "get_split", lambda name: few)
    monkeypatch.setattr(starts, "paper_settings", lambda split: small)
    monkeypatch.setattr(starts, "look_inside", lambda model, examples: {"loss": 0.0, "on_an_end": 0.0})
    start = train([starts.build(Start((4, 6)).to_dict(), seed=3)])[0]
    begun = train([runs.build(small, seed=3)], stop=lambda update: update >= 6)[0]
    assert (start.updates, begun.updates) == (6, 6)
    for name, theirs in begun.model.state_dict().items():
        assert start.model.state_dict()[name].equal(theirs), name
    assert not runs.build(small, seed=3).model.word.weight.equal(start.model.word.weight)
    assert {name.rpartition("_")[2] for name in start.metrics} == {"4", "6"}


class Looker(SyntacticAttention):
    """Attends to <SOS>, to the word after it, and then to <EOS>; to each with so much weight."""

    def __init__(self, most: float):
        torch.nn.Module.__init__(self)
        self.most = most

    def trace(self, words, lengths, steps):
        at = torch.stack([torch.zeros_like(lengths), torch.ones_like(lengths)], dim=1)
        at = torch.cat([at, (lengths - 1)[:, None].expand(-1, steps)], dim=1)[:, :steps]
        attention = torch.zeros(len(lengths), steps, words.shape[1])
        return SimpleNamespace(attention=attention.scatter(2, at[..., None], self.most))


@pytest.mark.parametrize(
    ("commands", "most", "expected"),
    [
        (["jump"], 0.99995, 50.0),  # JUMP and the end: <SOS>, then the word itself
        (["walk thrice"], 0.99995, 75.0),  # the second of four steps is on the word
        (["walk thrice"], 0.9998, 0.0),
        (["jump", "walk thrice"], 0.99995, 100 * (1 + 3) / (2 + 4)),  # steps count alike
    ],
)
def test_steps_with_all_attention_on_either_end_are_counted(commands, most, expected):
    assert share_on_an_end(Looker(most), encode(commands)) == pytest.approx(expected)


def test_measurements_are_named_by_their_update_and_each_entry_names_one():
    checks = [{"epoch": 3, "loss": 1.5, "on_an_end": 51.0}, {"epoch": 15, "loss": 0.5, "on_an_end": 50.0}]
    expected = {"loss_300": 1.5, "on_an_end_300": 51.0, "trapped_300": 100.0}
    expected |= {"loss_1500": 0.5, "on_an_end_1500": 50.0, "trapped_1500": 0.0}
    assert by_update(checks, part=100) == expected
    own = [cell for cell in cells.CELLS if cell.table == cells.STARTS]
    (settings,) = {cell.hash: cell.settings for cell in own}.values()
    at_the_end = [{"epoch": look // 100, "loss": 1.0, "on_an_end": 0.0} for look in settings["looks"]]
    assert {cell.metric for cell in own} == by_update(at_the_end, part=100).keys()
    assert cells.data_source(settings) == "generated"
