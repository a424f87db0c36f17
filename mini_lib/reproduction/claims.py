"""The papers' headline claims, and ours beside them: rules over entries in claims.json, judged on our runs."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mini_lib.errors import check_names
from mini_lib.reproduction.cells import PAPERS, TUTORIAL, cells_of, size_and_name
from mini_lib.reproduction.comparison import Comparison, counted
from mini_lib.reproduction.judgement import (
    NOT_REPRODUCED,
    NOT_RUN,
    REPRODUCED,
    UNCLEAR,
    Mean,
    expand,
    judge_rule,
    mean_of,
)
from mini_lib.reproduction.tables import load_json, not_compared, reports_numbers

SCALES = ("paper", TUTORIAL)
WINDOW = 5  # logged batches that a training accuracy is averaged over before it is compared with a level


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of a paper, or one of ours beside it."""

    id: str  #: such as "esbn.C1".
    statement: str  #: in a sentence.
    source: str  #: where the paper says so; of one of ours, what it belongs to.
    rule: dict  #: its `kind` (of `judgement.KINDS`), the entries it names, its numbers; a `metric`.
    ours: bool = False  #: whether it is ours: the paper does not say so.
    control: bool = False  #: whether no claim on its tables is reproduced where this one is not.
    presumes: str = ""  #: the claim without which there is nothing to test.
    otherwise: str = ""  #: what is said where that claim is not reproduced.
    given: Sequence[str] = ()  #: variants in which it is so by construction; it is not judged there.

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return self.id.split(".")[0]

    def cells(self) -> list[str]:
        """Ids of all entries that the rule names."""
        return list(dict.fromkeys(expand([self.rule.get("cells", ()), self.rule.get("pairs", ())])))

    def tables(self) -> set[str]:
        """The tables of these entries."""
        return {cell.split("/")[0] for cell in self.cells()}


class Judgement(NamedTuple):
    """What became of a claim at one scale, or under one interpretation."""

    claim: Claim  #: what was judged.
    scale: str  #: "paper", the name of a smaller one, or an interpretation's, such as "tutorial, balanced at first".
    verdict: str  #: one of `judgement.WORDS`.
    detail: str  #: the figures behind it.

    @property
    def untestable(self) -> bool:
        """Whether what the claim presumes is not reproduced, so that there is nothing to test."""
        return bool(self.claim.otherwise) and self.detail.endswith(self.claim.otherwise)


@cache
def load_claims() -> tuple[Claim, ...]:
    """All claims, as claims.json has them; UsageError where one names an entry that no paper has."""
    claims = tuple(Claim(**entry) for entry in load_json(Path(__file__).with_name("claims.json"), list))
    known = dict.fromkeys(cell.place for paper in PAPERS for cell in cells_of(paper))
    for claim in claims:
        lacking = [each for each in claim.cells() if each not in known]
        check_names(f"entry of {claim.id}", lacking, known)
    return claims


def judge(comparisons: Iterable[Comparison], claims: Iterable[Claim] | None = None) -> list[Judgement]:
    """Judge every claim at every scale at which all its entries are declared.

    Of a paper that reports no numbers, only its claims tell what an interpretation such as "no mask" achieves. There
    they are judged under each that has three runs of its own, and not just the numbers and runs that the claim was
    judged on before. A claim of the paper is not reproduced where a control of ours on the same table is not.
    """
    compared = {comparison.cell.id: comparison for comparison in comparisons}
    cells = [each.cell for each in compared.values()]
    readings = dict.fromkeys(cell.variant for cell in cells if cell.interpretation)
    judgements = []
    for claim in load_claims() if claims is None else claims:
        before = []
        for scale in SCALES if reports_numbers(claim.paper) else (*SCALES, *readings):
            suffix = "" if scale == "paper" else f"/{scale}"
            own = {cell: compared.get(f"{cell}{suffix}") for cell in claim.cells()}
            numbers = [each and each.number for each in own.values()]
            given = size_and_name(scale)[1] in claim.given
            if all(own.values()) and numbers not in before and not given:
                before.append(numbers)
                judgements.append(_judge(claim, scale, own))
    judgements = _with_controls(judgements)
    return [each for each in judgements if each.scale in SCALES or each.verdict != NOT_RUN]


def _judge(claim: Claim, scale: str, compared: Mapping[str, Comparison]) -> Judgement:
    """Judge a claim on the entries of one scale; where runs diverged it cannot be reproduced."""
    metric = claim.rule.get("metric", "")
    means = {cell: each.mean() if not metric else level_mean(each, metric) for cell, each in compared.items()}
    verdict, detail = judge_rule(claim.rule, means)
    detail = next(filter(None, map(not_compared, sorted(claim.tables()))), detail)
    runs = {record["key"]: record["diverged"] for each in compared.values() for record in each.records}
    if lost := sum(runs.values()):
        verdict = UNCLEAR if verdict == REPRODUCED else verdict
        detail += f"; {lost} of {counted(len(runs), 'run')} diverged"
    return Judgement(claim, scale, verdict, detail.replace(f"{claim.paper}.", ""))


def _with_controls(judgements: list[Judgement]) -> list[Judgement]:
    """Judge claims again by our controls on one of their tables, and by what they presume.

    A control that an interpretation does not declare counts as without it, unless it holds there by construction.
    """
    verdicts = {(each.claim.id, each.scale): each.verdict for each in judgements}
    controls = {each.claim.id: each.claim for each in judgements if each.claim.control}

    def controlled(each: Judgement) -> Judgement:
        size, interpretation = size_and_name(each.scale)
        against = [
            name.removeprefix(f"{each.claim.paper}.")
            for name, control in controls.items()
            if verdicts.get((name, each.scale), verdicts.get((name, size))) == NOT_REPRODUCED
            and interpretation not in control.given
            and control.tables() & each.claim.tables()
        ]
        if not against or each.verdict != REPRODUCED or each.claim.ours:
            return each
        detail = f"{each.detail}; but our control on the same table is not reproduced: {', '.join(against)}"
        return each._replace(verdict=NOT_REPRODUCED, detail=detail)

    found = [controlled(each) for each in judgements]
    refuted = {(each.claim.id, each.scale) for each in found if each.verdict == NOT_REPRODUCED}
    return [
        each._replace(verdict=UNCLEAR, detail=f"{each.detail}; but {each.claim.otherwise}")
        if (each.claim.presumes, each.scale) in refuted and each.verdict != NOT_RUN
        else each
        for each in found
    ]


def level_mean(comparison: Comparison, metric: str) -> Mean | None:
    """The mean update at which training accuracy reaches a level, such as 95 % for "updates_to_95"."""
    level = float(metric.removeprefix("updates_to_"))
    finished = [record for record in comparison.records if not record["diverged"]]
    return mean_of({record["key"]: updates_to(record, level) or math.inf for record in finished})


def updates_to(record: dict, level: float = 95.0, window: int = WINDOW) -> int | None:
    """The update at which the training score, averaged over `window` logged batches, reaches `level`.

    Late points of a curve are means of several logged batches already; each counts by itself.
    """
    updates, scores = record["curve"]["update"], record["curve"]["score"]
    every = updates[1] - updates[0] if len(updates) > 1 else 0
    for end in range(window, len(scores) + 1):
        thinned = updates[end - 1] - updates[end - 2] > every
        if statistics.fmean(scores[end - (1 if thinned else window) : end]) >= level:
            return updates[end - 1]
    return None
