"""The Python that README shows runs, and says what README says."""

import re
from pathlib import Path

from mini_lib.reproduction import Records, compare
from mini_lib.reproduction.cells import select
from mini_lib.reproduction.claims import judge_all
from mini_lib.reproduction.comparison import counts

README = (Path(__file__).parents[1] / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(snippet: str) -> dict:
    names = {}
    exec(compile(snippet, "README.md", "exec"), names)
    return names


def test_a_network_answers_tensors_of_ones_own_and_is_saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run(SNIPPETS[0])
    assert names["logits"].shape == (8, 2)
    assert names["keys"].shape[:2] == (8, 6)
    assert names["again"].about == {"trained_on": "nothing yet"}


def test_esbn_learns_from_what_readme_shows(capsys):
    """One epoch of its twenty-five, a smaller network and a shorter test, so that it takes a second."""
    smaller = "epochs=1, train_size=64, test_size=200"
    short = SNIPPETS[1].replace("epochs=25", smaller).replace("progress=True", "progress=False")
    assert short.count(smaller) == short.count("=False") == 1
    assert run(short)["run"].finished
    assert "test_accuracy" in capsys.readouterr().out


def test_problems_are_loaded_and_keys_lie_in_a_plane():
    names = run(SNIPPETS[2])
    assert names["problems"].shape[1:] == (9, 32, 32)
    assert names["points"].shape[-1] == 2


def test_scan_says_what_readme_says(capsys):
    names = run(SNIPPETS[3])
    said, translated = capsys.readouterr().out.splitlines()
    assert f"# {said}\n" in SNIPPETS[3]
    assert translated == str((*names["mini_lib"].interpret("walk opposite left and run twice"), "<EOS>"))


def test_a_curve_goes_on_as_readme_says(capsys):
    """A line of slope .1 or so: the network goes on upwards, five points of it."""
    ahead = run(SNIPPETS[4])["ahead"]
    assert ahead.point.shape == ahead.spread.shape == (1, 5)
    assert 6.0 < ahead.point.min() <= ahead.point.max() < 7.2
    assert capsys.readouterr().out.startswith("tensor([[6.")


def test_a_memory_knows_what_it_has_seen_as_readme_says(capsys):
    names = run(SNIPPETS[5])
    error, written, unseen = (
        float(re.search(r"-?[\d.]+", line)[0]) for line in capsys.readouterr().out.splitlines()
    )
    written_digits = names["digits"][:45]
    variance = (written_digits - written_digits.mean(0)).square().mean().item()
    assert 0.05 * variance < error < 0.15 * variance
    assert written > unseen + 3


def test_an_encoder_learns_through_a_memory():
    names = run(SNIPPETS[6])
    assert names["encoder"].weight.grad.abs().sum() > 0


def test_what_came_out_is_what_the_records_say():
    def mean(cell_id):
        (each,) = compare(select(cell_id), Records())
        return each.ours.mean, each.paper.mean

    assert mean("esbn.table11/ESBN + TCN/m=95")[0] > 99
    assert 30 < mean("esbn.table11/LSTM + TCN/m=95")[0] < 36
    ours, paper = map(round, mean("scan.table1/Syntactic Attention/Add jump"))
    assert f"follows {ours} % of the new commands with *jump* ({paper} % reported)" in README
    table1 = compare(select("functions.table1", variants=[""]), Records())
    assert sum(each.verdict == "reproduced" for each in table1) == 3
    assert "Three of 16 errors are reproduced" in README
    assert len(table1) == 16
    count = counts(compare(select("esbn"), Records()), "paper")["esbn"]
    assert f"Of {count['numbers']} reported numbers {count['reproduced']} are reproduced" in README
    assert f"and {count['not reproduced']} are not; {count['not run']} lack runs" in README
    judged = [each for each in judge_all(compare(select("kanerva"), Records())) if not each.claim.ours]
    small = [each.verdict for each in judged if each.scale == "tutorial"]
    assert (
        f"Of {len(small)} claims on its figures small networks contradict {small.count('not reproduced')}"
        in README
    )
