"""The tasks against the paper's counts and against answer keys computed by brute force from the rules."""

from collections import Counter
from math import comb, perm

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from mini_lib.errors import UsageError
from mini_lib.esbn.tasks import TASKS, Problems, get_task, make_problems, unrank_permutation

# Tables 1-4 of the paper: (training, test) problems
SIZES = {
    ("same_different", 0): (18_810, 990),
    ("same_different", 50): (4_900, 4_900),
    ("same_different", 85): (420, 10_000),
    ("same_different", 95): (40, 10_000),
    ("same_different", 98): (4, 10_000),
    ("rmts", 95): (480, 10_000),
    ("distribution_of_three", 95): (360, 10_000),
    ("identity_rules", 95): (8_640, 10_000),
}
CASES = [(task.name, m) for task in TASKS.values() for m in task.regimes]


def answers_by_rule(task, ids):
    """Every answer that the task's rule allows, for one problem."""
    if task == "same_different":
        return [0 if ids[0] == ids[1] else 1]
    if task == "rmts":
        source, *targets = ids[0:2], ids[2:4], ids[4:6]
        same = source[0] == source[1]
        return [side for side, pair in enumerate(targets) if (pair[0] == pair[1]) == same]
    row1, row2, choices = ids[0:3], ids[3:5], ids[5:9]
    if task == "distribution_of_three":
        return [i for i, choice in enumerate(choices) if Counter([*row2, choice]) == Counter(row1)]
    return [i for i, choice in enumerate(choices) if pattern_of([*row2, choice]) == pattern_of(row1)]


def pattern_of(row):
    return [row.index(image) for image in row]


@pytest.fixture(scope="module")
def drawn():
    return {case: make_problems(*case, seed=3) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_sizes_are_the_papers(case, drawn):
    data = drawn[case]
    assert (len(data.train.ids), len(data.test.ids)) == SIZES.get(case, (10_000, 10_000))
    task = TASKS[case[0]]
    assert data.train.ids.shape[1] == data.test.ids.shape[1] == task.length


@pytest.mark.parametrize("case", CASES)
def test_every_answer_follows_from_the_rule_alone(case, drawn):
    for problems in (drawn[case].train, drawn[case].test):
        for ids, answer in zip(problems.ids.tolist(), problems.answers.tolist(), strict=True):
            assert answers_by_rule(case[0], ids) == [answer]


@pytest.mark.parametrize("case", CASES)
def test_training_and_test_share_no_image_and_no_problem(case, drawn):
    data, m = drawn[case], case[1]
    used = {name: set(getattr(data, name).ids.unique().tolist()) for name in ("train", "test")}
    assert used["train"] <= set(data.train_images.tolist())
    assert used["test"] <= set(data.test_images.tolist())
    if m:
        assert not used["train"] & used["test"]
        assert (len(data.train_images), len(data.test_images)) == (100 - m, m)
    context = 5 if case[0] == "distribution_of_three" else data.train.ids.shape[1]
    prefixes = [{tuple(ids[:context]) for ids in part.ids.tolist()} for part in (data.train, data.test)]
    assert not prefixes[0] & prefixes[1]


@pytest.mark.parametrize("case", CASES)
def test_repeats_only_where_the_paper_has_them(case, drawn):
    data = drawn[case]
    if case[0] == "same_different":
        return
    assert len(data.test.ids.unique(dim=0)) == len(data.test.ids)
    distinct = len(data.train.ids.unique(dim=0))
    if case == ("identity_rules", 95):
        assert distinct == 7_200  # every problem there is; only AAA is repeated
    elif case == ("identity_rules", 85):
        assert 9_900 < distinct <= 10_000
    else:
        assert distinct == len(data.train.ids)


@pytest.mark.parametrize("m", [0, 50, 85, 95, 98])
def test_same_different_is_balanced(m, drawn):
    train = drawn["same_different", m].train
    assert (train.answers == 0).sum() == (train.answers == 1).sum()
    assert ((train.ids[:, 0] == train.ids[:, 1]) == (train.answers == 0)).all()
    different = train.ids[train.answers == 1]
    assert len(different.unique(dim=0)) == len(different)
    assert len(different) == (9_405 if m == 0 else (100 - m) * (99 - m))


def share_of_same_sources(ids):
    return (ids[:, 0] == ids[:, 1]).double().mean().item()


@pytest.mark.parametrize("m", [0, 50, 85, 95])
def test_rmts_balance(m, drawn):
    data = drawn["rmts", m]
    if m:
        assert share_of_same_sources(data.test.ids) == 0.5
    else:
        both = [share_of_same_sources(part.ids) for part in (data.train, data.test)]
        assert sum(both) == pytest.approx(1.0)
    if m == 50 or m == 95:
        assert share_of_same_sources(data.train.ids) == 0.5


def test_rmts_m85_follows_the_released_code_or_the_paper_on_request(drawn):
    released = share_of_same_sources(drawn["rmts", 85].train.ids)
    assert released == pytest.approx(1 / 12, abs=0.012)
    paper = make_problems("rmts", 85, seed=3, balance="paper")
    assert share_of_same_sources(paper.train.ids) == 0.5
    assert len(paper.train.ids.unique(dim=0)) == 10_000


@pytest.mark.parametrize("m", [0, 50, 85, 95])
def test_identity_rules_have_a_third_of_each_pattern(m, drawn):
    for part in (drawn["identity_rules", m].train, drawn["identity_rules", m].test):
        a, b, c = part.ids[:, :3].T
        kinds = {"AAA": (a == b) & (b == c), "ABA": (a == c) & (a != b), "ABB": (b == c) & (a != b)}
        shares = [kind.double().mean().item() for kind in kinds.values()]
        assert sum(shares) == pytest.approx(1)
        assert shares == pytest.approx([1 / 3] * 3, abs=0.02 if m in (0, 85) else 1e-3)


def test_distribution_of_three_m95_holds_every_matrix_once(drawn):
    train = drawn["distribution_of_three", 95].train
    assert len(train.ids[:, :5].unique(dim=0)) == 36 * comb(5, 3) == 360


def test_distribution_of_three_fourth_choice_is_any_other_image_and_any_place(drawn):
    test = drawn["distribution_of_three", 95].test
    fourth = [next(i for i, c in enumerate(row[5:]) if c not in row[:3]) for row in test.ids.tolist()]
    for places in (fourth, test.answers):
        shares = np.bincount(places, minlength=4) / len(test.ids)
        assert shares == pytest.approx([0.25] * 4, abs=0.02)


@pytest.mark.parametrize(
    ("case", "sizes"),
    [
        (("distribution_of_three", 85), (36 * comb(15, 3), 10_000)),
        (("identity_rules", 85), (100_000, 10_000)),
        (("distribution_of_three", 0), (100_000, 10_000)),
    ],
)
def test_larger_training_sets_stop_at_what_exists(case, sizes):
    data = make_problems(*case, 1, train_size=100_000)
    assert (len(data.train.ids), len(data.test.ids)) == sizes


def test_seeds_give_other_images_and_other_problems_and_repeat_exactly():
    first, again, other = (make_problems("rmts", 95, seed) for seed in (1, 1, 2))
    assert (first.train.ids == again.train.ids).all()
    assert (first.test.ids == again.test.ids).all()
    assert set(first.train_images.tolist()) != set(other.train_images.tolist())


@given(st.integers(2, 9), st.data())
def test_unranking_is_a_bijection(n, data):
    k = data.draw(st.integers(1, n if n < 7 else 4))
    rows = unrank_permutation(np.arange(perm(n, k)), n, k)
    assert len({tuple(row) for row in rows.tolist()}) == perm(n, k)
    assert all(len(set(row)) == k and min(row) >= 0 and max(row) < n for row in rows.tolist())


# Without the types that tests check, by which some arguments would not come so far:
make_anything = getattr(make_problems, "__wrapped__", make_problems)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        *((("rmts", m, 1), {}) for m in (97, 3, -1, True)),
        *(((task, 0, 1), {}) for task in ("rtms", ["rmts"])),
        (("rmts", 85, -1), {}),
        (("rmts", 85, 1), {"balance": "papr"}),
        *((("rmts", 85, 1), {"train_size": n}) for n in (0, 1.5, "10", 10**10)),
    ],
)
def test_bad_arguments_are_named(arguments, options):
    with pytest.raises(UsageError):
        make_anything(*arguments, **options)


def test_numpy_integers_give_the_same_problems():
    one, two = (
        make_problems("rmts", 95, 1),
        make_anything("rmts", np.int64(95), np.int64(1), train_size=np.int32(10_000)),
    )
    assert one.train.ids.equal(two.train.ids)
    assert get_task("rmts") is TASKS["rmts"]


def test_problems_are_a_data_set():
    problems = make_problems("distribution_of_three", 95, 1).train
    loader = torch.utils.data.DataLoader(problems, batch_size=50)
    batches = list(loader)
    assert torch.cat([ids for ids, _ in batches]).equal(problems.ids)
    assert torch.cat([answers for _, answers in batches]).equal(problems.answers)
    assert len(problems) == len(problems.ids) == len([*problems]) == 360
    few = Problems(*problems[:7])
    assert (len(few), few[-1][1]) == (7, problems.answers[6])


def test_the_papers_balance_changes_relational_match_to_sample_alone():
    for task in TASKS:
        few = {balance: make_problems(task, 85, 1, balance=balance) for balance in ("paper", "released")}
        same = few["paper"].train.ids.equal(few["released"].train.ids)
        assert same == (task != "rmts")
