"""The live figure of the last chapter, operated as readers do."""

from copy import deepcopy

import pytest
import torch

from mini_lib.grid.runs import Settings, build

from .reader import close, press, said

pytestmark = pytest.mark.browser
SETTINGS = {"task": "distribution_of_three", "m": 95, "lr": 1e-3, "updates": 1}


@torch.no_grad()
def related(core, z, relation: str, share: float):
    """R by PyTorch, with the maps moved towards the identity."""
    core = deepcopy(core)
    for layer in (core.query, core.key):
        layer.weight.copy_((1 - share) * layer.weight.half() + share * torch.eye(len(layer.weight)))
    if relation == "fixed":
        core.query = core.key = torch.nn.Identity()
    elif relation == "tied":
        core.key = core.query
    return core.relate(z.half().float()[None])[0]


@torch.no_grad()
def test_the_relation_of_an_untrained_network_is_that_of_pytorch(live):
    run = build(Settings(model="corelnet learned", **SETTINGS), seed=101)
    ids = run.epoch(0)["ids"][:2]
    z, ids = run.model.embed(ids)[1], ids[1].squeeze(-1)
    box = live("grid_start")
    relations, share = box.get_by_role("combobox"), box.get_by_role("slider")
    press(box, "Other objects")
    assert relations.input_value() == "learned"
    found = {}
    for relation, steps in (("learned", 0), ("learned", 7), ("learned", 20), ("tied", 0), ("fixed", 0)):
        relations.select_option("learned")
        share.press("Home")
        for _ in range(steps):
            share.press("ArrowRight")
        relations.select_option(relation)
        expected = related(run.model.core, z, relation, steps * 0.05)
        shown = box.locator("tbody td[title]").evaluate_all("all => all.map((cell) => Number(cell.title))")
        close(shown, expected[torch.ones_like(expected).tril() > 0])
        equal = (expected * (ids[:, None] == ids)).sum(dim=1)[1:].mean().item()
        found[relation, steps] = int(said(box).split(" %")[0])
        assert found[relation, steps] == pytest.approx(100 * equal, abs=0.6)
        assert share.is_visible() == (relation != "fixed")
    assert found["learned", 0] < 50, "random maps miss equal objects"
    assert min(found["learned", 20], found["tied", 0]) > 95, "the identity finds them, and so does one map"
