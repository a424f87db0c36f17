"""The live figure of the last chapter, operated as readers do."""

from copy import deepcopy

import pytest
import torch

from mini_lib.grid.runs import Settings, build

pytestmark = pytest.mark.browser
SETTINGS = {"task": "distribution_of_three", "m": 95, "lr": 1e-3, "updates": 1}


@pytest.fixture(scope="module")
def problems():
    """A CoRelNet with two maps before its training, and its first problems: the network, ids, vectors."""
    run = build(Settings(model="corelnet learned", **SETTINGS), seed=101)
    ids = run.epoch(0)["ids"][:8]
    with torch.no_grad():
        return run.model.core, ids.squeeze(-1), run.model.embed(ids)


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


def shown(box):
    """R on the page, and the share that its sentence names."""
    cells = box.locator("tbody tr").all()
    rows = [
        [float(v) for v in row.locator("td[title]").evaluate_all("all => all.map(c => c.title)")]
        for row in cells
    ]
    return rows, int(box.locator("p[role=status]").inner_text().split(" %")[0])


@pytest.mark.parametrize(
    ("relation", "steps"), [("learned", 0), ("learned", 7), ("learned", 20), ("tied", 0), ("fixed", 0)]
)
def test_the_relation_is_that_of_pytorch(live, problems, relation, steps):
    core, ids, z = problems
    box = live("grid_start").locator("[data-live='grid_start']")
    box.get_by_role("button", name="Other objects").click()
    assert box.get_by_role("combobox").input_value() == "learned"
    box.get_by_role("combobox").select_option(relation)
    for _ in range(steps):
        box.get_by_role("slider").press("ArrowRight")
    rows, share = shown(box)
    expected = related(core, z[1], relation, steps * 0.05)
    for i, row in enumerate(rows):
        assert row == pytest.approx(expected[i, : i + 1].tolist(), abs=1e-3)
    equal = (expected * (ids[1][:, None] == ids[1])).sum(dim=1)[1:].mean().item()
    assert share == pytest.approx(100 * equal, abs=0.6)
    assert box.get_by_role("slider").count() == (relation != "fixed")
    assert not box.page.complaints


def test_random_maps_miss_equal_objects_and_the_identity_finds_them(problems):
    core, ids, z = problems
    equal = ids[:, :, None] == ids[:, None]
    shares = {
        (relation, share): torch.stack(
            [(related(core, z[n], relation, share) * equal[n]).sum(dim=1).mean() for n in range(len(z))]
        )
        for relation, share in (("learned", 0.0), ("learned", 1.0), ("tied", 0.0))
    }
    assert shares["learned", 0.0].max() < 0.5
    assert min(shares["learned", 1.0].min(), shares["tied", 0.0].min()) > 0.95
