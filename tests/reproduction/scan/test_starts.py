"""The first updates of the paper's runs, and whether attention lies on one end of the command by then."""

from types import SimpleNamespace

import pytest
import torch

from mini_lib.errors import UsageError
from mini_lib.reproduction.scan import cells, starts
from mini_lib.reproduction.scan.starts import Start, by_update, look_inside, share_on_an_end
from mini_lib.scan import runs
from mini_lib.scan.recipes import RECIPES, batch_of
from mini_lib.scan.runs import paper_settings, tutorial_settings
from mini_lib.scan.syntactic_attention import SyntacticAttention
from mini_lib.scan.tasks import encode
from mini_lib.training import train


def test_a_start_is_the_beginning_of_the_papers_run(monkeypatch):
    monkeypatch.setattr(starts, "look_inside", lambda model, examples: {"loss": 0.0, "on_an_end": 0.0})
    start = train([starts.build(Start((4, 6)).to_dict(), seed=3)])[0]
    whole = runs.build(paper_settings("add_jump"), seed=3)
    begun = train([whole], stop=lambda update: update >= 6)[0]
    assert (start.updates, begun.updates) == (6, 6)
    for (name, ours), theirs in zip(
        start.model.state_dict().items(), begun.model.state_dict().values(), strict=True
    ):
        assert torch.equal(ours, theirs), name
    fresh = runs.build(paper_settings("add_jump"), seed=3).model
    assert not torch.equal(fresh.word.weight, start.model.word.weight)
    assert start.metrics.keys() == {
        f"{name}_{at}" for name in ("loss", "on_an_end", "trapped") for at in (4, 6)
    }


class Looker(SyntacticAttention):
    """Looks at <SOS>, at the word after it, and then at <EOS> until it is done; at each with so much attention."""

    def __init__(self, most: float):
        torch.nn.Module.__init__(self)
        self.most = most

    def trace(self, words, lengths, steps):
        at = torch.stack([torch.zeros_like(lengths), torch.ones_like(lengths)], dim=1)
        at = torch.cat([at, (lengths - 1)[:, None].expand(-1, steps)], dim=1)[:, :steps]
        attention = torch.zeros(len(lengths), steps, words.shape[1])
        return SimpleNamespace(attention=attention.scatter(2, at[..., None], self.most))


@pytest.mark.parametrize(
    ("command", "most", "expected"),
    [
        ("jump", 0.99995, 50.0),  # JUMP and the end: <SOS>, then the word itself
        ("walk thrice", 0.99995, 75.0),  # the second of four steps is on the word
        ("walk thrice", 0.9998, 0.0),
    ],
)
def test_attention_on_either_end_is_counted(command, most, expected):
    assert share_on_an_end(Looker(most), encode([command])) == pytest.approx(expected)


def test_steps_count_alike_whatever_command_they_are_of():
    both = share_on_an_end(Looker(0.99995), encode(["jump", "walk thrice"]))
    assert both == pytest.approx(100 * (1 + 3) / (2 + 4))


def test_the_loss_is_that_of_training_without_dropout():
    model = runs.build(tutorial_settings(), seed=1).model.eval()
    examples = encode(["jump twice", "walk around left"])
    looked = look_inside(model, examples)
    loss, _ = RECIPES["syntactic_attention"].loss(model, batch_of(examples))
    assert looked["loss"] == pytest.approx(loss.item())
    assert looked["on_an_end"] == share_on_an_end(model, examples)


def test_looks_are_named_by_their_update():
    checks = [{"epoch": 3, "loss": 1.5, "on_an_end": 51.0}, {"epoch": 15, "loss": 0.5, "on_an_end": 50.0}]
    assert by_update(checks, part=100) == {
        "loss_300": 1.5,
        "on_an_end_300": 51.0,
        "trapped_300": 100.0,
        "loss_1500": 0.5,
        "on_an_end_1500": 50.0,
        "trapped_1500": 0.0,
    }


@pytest.mark.parametrize("looks", [(), (0, 5), (5, 5), (6, 4), (10, 20_000)])
def test_looks_that_cannot_be_made(looks):
    with pytest.raises(UsageError, match="looks are"):
        starts.build({"paper": "scan", "looks": list(looks)}, seed=1)


def test_every_cell_of_starts_names_a_metric_of_its_runs():
    own = [cell for cell in cells.CELLS if cell.table == cells.STARTS]
    (settings,) = {cell.hash: cell.settings for cell in own}.values()
    at_the_end = [{"epoch": look // 100, "loss": 1.0, "on_an_end": 0.0} for look in settings["looks"]]
    assert {cell.metric for cell in own} == by_update(at_the_end, part=100).keys()
    assert cells.data_source(settings) == "generated"
