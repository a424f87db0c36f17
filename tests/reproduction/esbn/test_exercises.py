"""The problems that the exercises are about."""

import pytest
import torch

from mini_lib.reproduction.esbn.exercises import doubled_problems


@pytest.mark.parametrize("row", [(0, 1, 2), (0, 0, 1), (1, 0, 0), (0, 0, 0)])
def test_doubled_problems_repeat_as_the_row_says(row: tuple[int, int, int]):
    pool = torch.arange(40, 60)
    problems = doubled_problems(pool, row, size=200, seed=3)
    answers = set()
    for ids, answer in zip(problems.ids.tolist(), problems.answers.tolist(), strict=True):
        first, second, choices = ids[:3], ids[3:5], ids[5:]
        assert [first[i] == first[j] for i in range(3) for j in range(3)] == [
            i == j for i in row for j in row
        ]
        assert sorted([*second, choices[answer]]) == sorted(first)
        assert len(set(choices)) == 4
        assert set(ids) <= set(pool.tolist())
        answers.add(answer)
    assert answers == {0, 1, 2, 3}
