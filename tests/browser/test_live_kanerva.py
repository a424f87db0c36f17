"""The memory in the page: its numbers beside the library's, and its figures driven as a reader drives them."""

import re

import pytest
import torch

from mini_lib.files import trained
from mini_lib.kanerva import dsprites, tasks
from mini_lib.kanerva.assignment import straight_through
from mini_lib.kanerva.digits import hide
from mini_lib.kanerva.evaluation import fixed_loss, forget
from mini_lib.kanerva.memory import weights_from_eta, write_item
from mini_lib.kanerva.objective import nats
from mini_lib.kanerva.product_memory import ProductMemory
from mini_lib.reproduction.kanerva.live import (
    BINDING,
    COLUMNS,
    COSTS,
    CURVE,
    ETA,
    ITEMS,
    PROBABILITIES,
    SHOWN,
    SPRITES,
    choice,
    memory,
    stroke,
)

pytestmark = pytest.mark.browser
CLOSE = {"rtol": 1e-3, "atol": 1e-3}
EXACT = {"rtol": 1e-9, "atol": 1e-9}
# What the page calculates with, typed arrays among it, as lists.
PLAIN = """window.plain = (x) => {
  if (ArrayBuffer.isView(x) || Array.isArray(x)) return Array.from(x, plain);
  if (typeof x !== "object") return x;
  return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, plain(value)]));
}"""


def page_with(figure: str):
    """A fixture: the page of a live figure, with `PLAIN` in it."""

    @pytest.fixture(scope="module")
    def page(live):
        found = live(figure)
        found.add_script_tag(content=PLAIN)
        return found

    return page


memory_page, binding_page = page_with("kanerva"), page_with("kanerva_binding")
stroke_page, sprites_page = page_with("kanerva_stroke"), page_with("kanerva_sprites")
choice_page, product_page = page_with("kanerva_choice"), page_with("kanerva_product")


def double(numbers) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize("columns", COLUMNS)
def test_kanerva_memory_is_the_librarys_to_the_last_digits(memory_page, columns):
    found = memory_page.evaluate(
        """async (name) => {
          const parcel = await Live.load("kanerva"), eta = [parcel.facts.eta];
          const kind = KanervaFigure.memories(parcel).find((each) => each.name === name);
          const codes = kind.digits.map(kind.encode);
          let { memory } = kind.begin();
          const taught = [];
          for (const z of codes.slice(0, 30)) {
            const step = Kanerva.write(memory, z, Kanerva.weightsOf(eta));
            memory = step.memory;
            taught.push(step.nats[0]);
          }
          const answers = codes.map((z) => Kanerva.read(memory, z, [1]));
          const errors = kind.digits.map((image) => KanervaFigure.missed(kind, { memory }, image));
          return plain({ R: memory.R, V: memory.V, taught, answers, errors, spread: Kanerva.spread(memory) });
        }""",
        str(columns),
    )
    parcel = memory()
    codes = (parcel.tensors["digits/8"].double() - double(parcel.facts["mean"])) / parcel.facts["scale"]
    ours = ProductMemory(codes.shape[1], columns=columns, dtype=torch.float64)
    torch.testing.assert_close(double(found["taught"]), ours.write(codes[:30], ETA)[:, 0], **EXACT)
    R, V, _ = ours.state
    torch.testing.assert_close(double(found["R"]), R[0].flatten(1), **EXACT)
    torch.testing.assert_close(double(found["V"]), V[0].flatten(1), **EXACT)
    assert found["spread"] == pytest.approx(V[0, 0].diagonal().mean().item(), rel=1e-9)
    read = ours.read(codes)
    torch.testing.assert_close(double([each["code"] for each in found["answers"]]), read.codes, **EXACT)
    errors = (read.codes - codes).square().sum(-1) / codes.square().sum(-1)
    torch.testing.assert_close(double(found["errors"]), errors, **EXACT)


@pytest.mark.parametrize("between", ["plain", "round", "keep"])
def test_kanerva_memory_settles_as_in_the_chapter(memory_page, between):
    found = memory_page.evaluate(
        """async (between) => {
          const kind = KanervaFigure.memories(await Live.load("kanerva")).find(({ name }) => name === "15");
          const codes = kind.digits.slice(0, 15).map(kind.encode);
          const episode = codes.reduce((before, z) => kind.store(before, z), kind.begin());
          const hidden = [...kind.mean.keys()].map((i) => i >= 32);
          return plain(KanervaFigure.settle(kind, episode, kind.digits[3], hidden, 12, between));
        }""",
        between,
    )
    parcel = memory()
    mean, scale = double(parcel.facts["mean"]), parcel.facts["scale"]
    images = parcel.tensors["digits/8"].double()
    ours = ProductMemory(len(mean), columns=15, dtype=torch.float64)
    ours.write((images[:15] - mean) / scale, ETA)
    top = torch.arange(len(mean)) < 32
    query = ((images[3] - mean) / scale) * top
    for answer in found:
        code = ours.read(query[None]).codes[0]
        torch.testing.assert_close(double(answer), code * scale + mean, **EXACT)
        rounded = ((code * scale + mean > 0.5).double() - mean) / scale
        query = {"plain": code, "round": rounded, "keep": torch.where(top, query, code)}[between]


def figure(page):
    return page.locator("[data-live='kanerva']")


def said(page) -> str:
    return figure(page).locator(".live-status").inner_text()


def press(page, name: str) -> None:
    figure(page).get_by_role("button", name=name, exact=True).click()


@pytest.fixture
def fresh(memory_page):
    """The memory of fifteen columns with nothing written, and the first digit on the pad."""
    figure(memory_page).locator("details").evaluate("details => { details.open = true; }")
    figure(memory_page).get_by_label("Memory", exact=True).select_option("15")
    return memory_page


def number(page, after: str) -> float:
    """The number that follows these words in the figure's sentence; "less than .001" counts as .001."""
    return float(re.search(rf"{after} (?:less than )?(\d+\.?\d*)", said(page))[1])


MISSES = "in the (?:whole digit|hidden part):"


def test_kanerva_digits_are_written_one_by_one_and_read_back(fresh):
    assert said(fresh).startswith("Nothing is written yet.")
    error, spread = number(fresh, MISSES), 1.0
    for n in range(1, 6):
        figure(fresh).locator(".live-shelf button").nth(n - 1).click()
        press(fresh, "Write it")
        found = "1 digit" if n == 1 else f"{n} digits"
        assert said(fresh).startswith(f"{found} written, this one as number {n}.")
        after = number(fresh, MISSES)
        assert after < 0.1 * error
        told = figure(fresh).locator(".live-chart").get_attribute("aria-label")
        now = float(re.search(r"columns' variance (\S+)\.$", told)[1])
        assert now < spread
        spread = now
    assert figure(fresh).locator(".live-shelf .live-written").count() == 5
    figure(fresh).locator(".live-shelf button").nth(20).click()
    assert "5 digits written, this one not" in said(fresh)
    assert number(fresh, MISSES) > 5 * after
    press(fresh, "Forget all")
    assert said(fresh).startswith("Nothing is written yet.")
    assert not fresh.complaints


def test_kanerva_completes_a_half_that_was_written_and_no_other(fresh):
    for at in range(5):
        figure(fresh).locator(".live-shelf button").nth(at).click()
        press(fresh, "Write it")
    press(fresh, "Hide lower half")
    missed = number(fresh, MISSES)
    assert missed < 0.3
    figure(fresh).get_by_label("Between them it").select_option("plain")
    assert number(fresh, MISSES) > missed
    figure(fresh).get_by_label("Between them it").select_option("keep")
    figure(fresh).locator(".live-shelf button").nth(20).click()
    press(fresh, "Hide lower half")
    assert "the mean digit has 1" in said(fresh)
    assert number(fresh, MISSES) > 0.7
    press(fresh, "Show all")
    assert "in the whole digit" in said(fresh)
    assert not fresh.complaints


def test_kanerva_pad_is_drawn_on_by_keyboard_and_by_mouse(fresh):
    press(fresh, "Clear")
    cells = figure(fresh).locator(".live-pad button")
    cells.nth(0).focus()
    for key in ("Enter", "ArrowRight", "Space", "ArrowDown", "ArrowUp", "ArrowUp"):
        fresh.keyboard.press(key)
    assert figure(fresh).locator(".live-pad .live-ink").count() == 2
    assert fresh.evaluate("document.activeElement.ariaLabel") == "row 1, column 2: ink"
    box = cells.nth(16).bounding_box()
    fresh.mouse.move(box["x"] + 5, box["y"] + 5)
    fresh.mouse.down()
    fresh.mouse.move(box["x"] + 5 + 7 * box["width"], box["y"] + 5, steps=20)
    fresh.mouse.up()
    assert figure(fresh).locator(".live-pad .live-ink").count() == 10
    figure(fresh).get_by_label("Pen").select_option("hide")
    cells.nth(16).click()
    assert cells.nth(16).get_attribute("aria-label") == "row 3, column 1: ink, hidden"
    cells.nth(16).click()
    assert cells.nth(16).get_attribute("aria-label") == "row 3, column 1: ink"
    figure(fresh).get_by_label("Pen").select_option("draw")
    press(fresh, "Write it")
    assert figure(fresh).locator(".live-shelf [aria-pressed='true']").count() == 1
    assert "1 digit written, this one as number 1." in said(fresh)
    assert figure(fresh).locator(".live-shelf button").count() == ITEMS + 1
    press(fresh, "Clear")
    figure(fresh).get_by_label("Pen").select_option("hide")
    cells.nth(0).click()  # no digit has ink there, so that there is nothing to complete
    assert "The hidden part is that of the mean digit." in said(fresh)
    figure(fresh).get_by_label("Pen").select_option("draw")
    assert not fresh.complaints


@pytest.mark.parametrize(("name", "network"), [(name, network) for name, _, network in BINDING])
def test_binding_machines_answer_as_in_pytorch(binding_page, name, network):
    found = binding_page.evaluate(
        """async (name) => {
          const parcel = await Live.load("kanerva_binding"), net = Live.network(parcel, name);
          const items = Arithmetic.rows(parcel.tensors.triplets);
          const { query, tell, answer } = KanervaParts, { greenCost, greenCosts } = KanervaBindingFigure;
          const { episodes, gammas } = tell(net, parcel.facts.ridge, items), last = episodes[items.length];
          const ask = (red, blue, written = items.length) => {
            const found = answer(net, episodes[written], query(items[red], items[blue]));
            return { ...found, green: greenCost(found.logits, items[red]) };
          };
          const forgotten = [0, 1].map((i) => greenCosts(net, Kanerva.forget(net, last, i), items));
          const same = items.map((_, i) => ask(i, i));
          return plain({ forgotten, gammas, same, mixed: ask(3, 9), early: ask(2, 2, 7) });
        }""",
        name,
    )
    model = trained(network)
    about = model.about
    images = tasks.evaluation("rgb", 1, ITEMS, source=about["settings"]["source"]).images
    with torch.no_grad():
        trace = model.trace(images, hide(images))
        alone = model.machine_logits(trace.reading)
        mixed = torch.stack([images[:, 3, 0], 0 * images[:, 3, 0], images[:, 9, 2]], dim=1)
        asked = model.read(trace.memory, model.encoder(mixed[:, None]))
        early = model.read(model.write(trace.codes[:, :7]).memory, trace.queries[:, 2:3])
    torch.testing.assert_close(torch.tensor(found["gammas"]), trace.written.gamma[0], **CLOSE)
    for key, ours in (
        ("gamma", trace.reading.gamma[0]),
        ("logits", trace.logits[0].flatten(1)),
        ("alone", alone[0].flatten(2)),
    ):
        torch.testing.assert_close(torch.tensor([each[key] for each in found["same"]]), ours, **CLOSE)
    costs = nats(trace.logits[:, :, 1:2], images[:, :, 1:2])[0]
    torch.testing.assert_close(torch.tensor([each["green"] for each in found["same"]]), costs, **CLOSE)
    for machine, costs in enumerate(found["forgotten"]):
        with torch.no_grad():
            reading = model.read(forget(model, trace.memory, machine), trace.queries)
            ours = nats(model.decoder(reading.codes)[:, :, 1:2], images[:, :, 1:2])[0]
        torch.testing.assert_close(torch.tensor(costs), ours, **CLOSE)
    for key, reading in (("mixed", asked), ("early", early)):
        torch.testing.assert_close(torch.tensor(found[key]["gamma"]), reading.gamma[0, 0], **CLOSE)
        logits = model.decoder(reading.codes).flatten()
        torch.testing.assert_close(torch.tensor(found[key]["logits"]), logits, **CLOSE)


def binding_box(page):
    return page.locator("[data-live='kanerva_binding']")


def nats_of(page, side: int) -> list[int]:
    """What the green digits that were asked for cost in the answer of a network."""
    return [
        int(each)
        for each in re.findall(
            r"(\d+) nats", binding_box(page).locator(".live-status").nth(side).inner_text()
        )
    ]


def weights_of(page, side: int) -> list[int]:
    """The weights of both machines, in percent."""
    words = (
        binding_box(page)
        .locator(".live-sides section")
        .nth(side)
        .locator(".live-shown span")
        .all_inner_texts()
    )
    return [int(re.fullmatch(r"[12]: (\d+)\s%", each)[1]) for each in words[1:]]


def test_binding_figure_says_which_machine_answers(binding_page):
    box, guess = binding_box(binding_page), fixed_loss("distorted")
    assert box.locator(".live-shelf [aria-pressed='true']").inner_text() == "14", "the text starts there"
    assert max(weights_of(binding_page, 0)) < 70
    assert max(weights_of(binding_page, 1)) > 90
    assert nats_of(binding_page, 1)[0] < nats_of(binding_page, 0)[0] < guess
    assert f"costs {guess:.0f} nats" in box.inner_text()
    machine = weights_of(binding_page, 1).index(max(weights_of(binding_page, 1)))
    box.get_by_label("Blue digit of").select_option("10")  # item 11 belongs to the other machine
    assert weights_of(binding_page, 1)[machine] > 90, "the red digit decides"
    assert min(nats_of(binding_page, 1)) > guess
    box.get_by_label("Blue digit of").select_option("same")
    box.locator(".live-shelf button").nth(0).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        binding_page.keyboard.press(key)
    assert box.locator(".live-shelf [aria-pressed='true']").count() == 1
    assert re.search(r"question: red \d and blue \d of item 4", box.inner_text())
    machine = weights_of(binding_page, 1).index(max(weights_of(binding_page, 1)))
    for other in range(4, 10):
        box.get_by_label("Blue digit of").select_option(str(other))
        assert weights_of(binding_page, 1)[machine] > 80, "the red digit decides"
        assert f"green of item {other + 1}" in box.inner_text()
        assert len(nats_of(binding_page, 1)) == 2
    box.get_by_label("Blue digit of").select_option("same")
    means, owns = {}, {}
    for forgotten in ("none", "0", "1"):
        box.get_by_label("Forgotten by").select_option(forgotten)
        means[forgotten] = [int(each) for each in re.findall(r"Mean of all items: (\d+)", box.inner_text())]
        owns[forgotten] = re.search(r"items of machine 1: (\d+), of machine 2: (\d+)", box.inner_text())
    for side in range(2):
        assert means["none"][side] < min(means["0"][side], means["1"][side]), "both machines are needed"
    assert means["none"][1] < means["none"][0], "the network that divides the work binds better"
    first, second = map(int, owns["1"].groups())
    assert second > 4 * first, "what machine 2 has forgotten are its own items"
    box.get_by_label("Forgotten by").select_option("none")
    assert not binding_page.complaints


def test_binding_figure_asks_for_what_is_not_written(binding_page):
    box = binding_box(binding_page)
    box.get_by_label("Blue digit of").select_option("same")
    box.locator(".live-shelf button").nth(12).click()
    box.get_by_label("Items written").focus()
    binding_page.keyboard.press("Home")
    assert re.search(r"green of item 13: \d \(not written\)", box.inner_text())
    assert box.locator(".live-unwritten").count() == box.locator(".live-shelf button").count()
    for side in range(2):
        assert nats_of(binding_page, side)[0] > 50
    binding_page.keyboard.press("End")
    assert "not written" not in box.inner_text()
    assert not binding_page.complaints


def test_binding_picture_and_its_answers_are_on_one_screen_of_a_phone(binding_page):
    size = binding_page.viewport_size
    binding_page.set_viewport_size({"width": 400, "height": 800})
    sides = binding_box(binding_page).locator(".live-sides section")
    one, other = (sides.nth(side).bounding_box() for side in range(2))
    assert one["y"] == pytest.approx(other["y"], abs=1), "the two networks are side by side"
    shelf = binding_box(binding_page).locator(".live-shelf").bounding_box()
    assert sides.first.locator(".live-status").bounding_box()["y"] - shelf["y"] < 600
    assert binding_page.evaluate("document.documentElement.scrollWidth") <= 400
    binding_page.set_viewport_size(size)


# -------------------------------------------------------------------------------------------------- the stroke


def test_stroke_weights_are_those_of_pytorch(stroke_page):
    found = stroke_page.evaluate(
        """async () => {
          const { tensors, facts } = await Live.load("kanerva_binding"), net = Live.network({ tensors }, "balanced");
          const { gammasOf, put } = KanervaStrokeFigure, items = Arithmetic.rows(tensors.triplets);
          const after = (edit) => gammasOf(net, facts.ridge, items, edit);
          const put12 = (ink) => after((red) => put(red, facts.stroke, ink)), inked = put12(1), erased = put12(0);
          return plain({ as_is: after(), inked, erased });
        }"""
    )
    model, places = trained("kanerva_binding_balanced"), stroke()
    assert places.sum() == 12, "the chapter speaks of twelve pixels"
    images = tasks.evaluation("rgb", 1, ITEMS, source=model.about["settings"]["source"]).images
    for key, ink in (("as_is", None), ("inked", 1.0), ("erased", 0.0)):
        changed = images.clone()
        if ink is not None:
            changed[:, :, 0, places] = ink
        with torch.no_grad():
            ours = model.write(model.encoder(changed)).gamma[0]
        torch.testing.assert_close(torch.tensor(found[key]), ours, **CLOSE)


def test_twelve_pixels_move_every_item_and_their_mirror_image_none(stroke_page):
    box = stroke_page.locator("[data-live='kanerva_stroke']")
    told, counted = box.locator(".live-status"), box.locator("p[role='status']:not(.live-status)")
    assert told.inner_text().startswith("Machine 1 has"), "the chapter begins with a picture of machine 1"
    machines = [each.get_attribute("aria-label")[-1] for each in box.locator(".live-shelf button").all()]
    box.locator(".live-shelf button").nth(machines.index("1")).click()
    assert told.inner_text().startswith("Machine 1 has")
    box.get_by_role("button", name="Ink their mirror image").click()
    assert told.inner_text().startswith("Machine 1 has")
    mirrored, own = map(int, re.findall(r"(\d+) of the (\d+)", counted.inner_text())[0])
    assert mirrored <= 1
    box.get_by_role("button", name="Put it back").click()
    box.get_by_role("button", name="Ink the twelve pixels").click()
    assert told.inner_text().startswith("Machine 2 has")
    assert "gone over to the other machine" in told.inner_text()
    assert f"{own} of the {own} pictures of machine 1 go over" in counted.inner_text()
    box.get_by_role("button", name="Erase the twelve pixels").click()
    over, others = map(int, re.findall(r"(\d+) of the (\d+)", counted.inner_text())[0])
    assert own + others == ITEMS
    assert over > 0.8 * others
    assert not stroke_page.complaints


def test_a_stroke_is_inked_pixel_by_pixel(stroke_page):
    box = stroke_page.locator("[data-live='kanerva_stroke']")
    box.locator(".live-shelf button").nth(0).click()
    red = box.locator(".live-pad").first
    before = red.locator(".live-ink").count()
    red.locator("button").nth(0).focus()
    for key in ("Enter", "ArrowRight", "Space"):
        stroke_page.keyboard.press(key)
    assert red.locator(".live-ink").count() == before + 2
    assert "2 pixels changed" in box.locator(".live-status").inner_text()
    red.locator("button").nth(0).click()
    assert "1 pixel changed" in box.locator(".live-status").inner_text()


# ------------------------------------------------------------------------------------------------- the sprites


def test_sprites_are_drawn_remembered_and_forgotten_as_in_pytorch(sprites_page):
    moved = [[3, 30], [25, 8]]
    found = sprites_page.evaluate(
        """async (moved) => {
          const { tensors, facts } = await Live.load("kanerva_sprites"), net = Live.network({ tensors }, "network");
          const { drawn, tell, answer } = KanervaSpritesFigure, stamps = Arithmetic.rows(tensors.stamps).slice(0, 8);
          const picture = (at) => drawn([stamps.slice(0, 4), stamps.slice(4)], at, facts), image = picture(moved);
          const places = Arithmetic.rows(tensors.positions).slice(0, facts.items);
          const images = places.map(([a, b, c, d]) => picture([[a, b], [c, d]]));
          const episode = tell(net, facts.ridge, images), without = Kanerva.forget(net, episode, 3);
          const asked = answer(net, episode, image), full = answer(net, episode, image, true);
          return plain({ images, image, asked, full, less: answer(net, without, image) });
        }""",
        moved,
    )
    model, chosen = trained(SPRITES), SHOWN[0]
    episodes = tasks.evaluation("dsprites", max(SHOWN) + 1, 15)
    shape, scale, orientation = (
        each[chosen] for each in (episodes.shape, episodes.scale, episodes.orientation)
    )
    image = dsprites.draw(shape, scale, orientation, torch.tensor(moved)).amax(0)
    assert torch.equal(torch.tensor(found["images"]), episodes.images[chosen].flatten(1))
    assert torch.equal(torch.tensor(found["image"]), image.flatten())
    with torch.no_grad():
        memory = model.write(model.encoder(episodes.images[chosen][None])).memory
        code = model.encoder(image[None, None, None])
        for key, state in (("asked", memory), ("less", forget(model, memory, 3))):
            reading = model.read(state, code)
            torch.testing.assert_close(torch.tensor(found[key]["gamma"]), reading.gamma[0, 0], **CLOSE)
            logits = model.decoder(reading.codes).flatten()
            torch.testing.assert_close(torch.tensor(found[key]["logits"]), logits, **CLOSE)
            alone = model.machine_logits(reading)[0, 0].flatten(1)
            torch.testing.assert_close(torch.tensor(found[key]["alone"]), alone, **CLOSE)
        whole = model.read(memory, code)
        alone = model.machine_logits(whole._replace(gamma=torch.ones_like(whole.gamma)))[0, 0].flatten(1)
        torch.testing.assert_close(torch.tensor(found["full"]["alone"]), alone, **CLOSE)


def cost(box) -> int:
    return int(re.search(r"answer costs (\d+) nats", box.locator(".live-status").inner_text())[1])


def test_sprites_are_moved_by_keys_and_by_mouse_and_one_machine_remembers(sprites_page):
    box = sprites_page.locator("[data-live='kanerva_sprites']")
    handle = box.locator(".live-handle").first
    handle.focus()
    place = handle.get_attribute("aria-label")
    for key in ("ArrowRight", "Shift+ArrowDown"):
        sprites_page.keyboard.press(key)
    assert handle.get_attribute("aria-label") != place
    handle.scroll_into_view_if_needed()
    seen = handle.bounding_box()
    x, y = seen["x"] + seen["width"] / 2, seen["y"] + seen["height"] / 2
    sprites_page.mouse.move(x, y)
    sprites_page.mouse.down()
    sprites_page.mouse.move(x + 2000, y, steps=4)
    sprites_page.mouse.up()
    assert "at 31 from the left" in handle.get_attribute("aria-label")
    box.locator(".live-shelf button").nth(2).click()
    costs = []
    for machine in range(4):
        box.get_by_label("Forgotten by").select_option(str(machine))
        costs.append(cost(box))
    box.get_by_label("Forgotten by").select_option("nobody")
    assert costs[3] > 1.5 * cost(box), "machine 4 remembers"
    assert max(costs[:3]) < 1.1 * cost(box)
    for pair in range(len(SHOWN)):
        box.get_by_label("Sprites", exact=True).select_option(str(pair))
        assert cost(box) < 100
    assert not sprites_page.complaints


# -------------------------------------------------------------------------------------------------- the choice


@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("tau", [0.1, 1.0, 5.0])
def test_slopes_of_a_curved_cost_are_those_of_pytorch(choice_page, tau, through):
    found = choice_page.evaluate(
        """async ([tau, through]) => {
          const { tensors, facts } = await Live.load("kanerva_choice"), noise = Arithmetic.rows(tensors.gumbel);
          const all = noise.map((g) => Array.from(g));
          return KanervaChoiceFigure.draws(all, facts.p, facts.costs, tau, through, facts.curve);
        }""",
        [tau, through],
    )
    gumbel = choice().tensors["gumbel"].double()
    logits = double(PROBABILITIES).log().repeat(len(gumbel), 1).requires_grad_()
    gamma = torch.softmax((logits + gumbel) / tau, dim=1)
    said = (straight_through(gamma) if through else gamma) @ double(CURVE["answers"])
    (slopes,) = torch.autograd.grad((CURVE["rate"] * said).exp().sum(), logits)
    torch.testing.assert_close(double(found["mean"]), slopes.mean(dim=0), **CLOSE)
    torch.testing.assert_close(double(found["sd"]), slopes.std(dim=0), **CLOSE)


@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("tau", [0.1, 1.0, 5.0])
def test_choices_and_their_slopes_are_those_of_pytorch(choice_page, tau, through):
    found = choice_page.evaluate(
        """async ([tau, through]) => {
          const { tensors, facts } = await Live.load("kanerva_choice"), noise = Arithmetic.rows(tensors.gumbel);
          const all = noise.map((g) => Array.from(g)), { draws, soft, slope } = KanervaChoiceFigure;
          const each = all.map((g) => slope(soft(facts.p, g, tau), facts.costs, tau));
          return plain({ ...draws(all, facts.p, facts.costs, tau, through), each });
        }""",
        [tau, through],
    )
    gumbel, costs = choice().tensors["gumbel"], torch.tensor(COSTS)
    logits = torch.tensor(PROBABILITIES).log().repeat(len(gumbel), 1).requires_grad_()
    gamma = torch.softmax((logits + gumbel) / tau, dim=1)
    used = straight_through(gamma) if through else gamma
    (slopes,) = torch.autograd.grad((used @ costs).sum(), logits)
    for name, ours in (
        ("used", used.detach()),
        ("each", slopes),
        ("mean", slopes.mean(dim=0)),
        ("sd", slopes.std(dim=0)),
    ):
        torch.testing.assert_close(torch.tensor(found[name], dtype=torch.float32), ours, **CLOSE)


def test_a_temperature_is_chosen_by_keyboard_and_the_choice_made_hard(choice_page):
    box = choice_page.locator("[data-live='kanerva_choice']")
    heat, told = box.get_by_label("Temperature", exact=True), box.locator(".live-status")
    noise = []
    for key, tau in (("End", "5"), ("Home", "0.1")):
        heat.focus()
        choice_page.keyboard.press(key)
        assert heat.get_attribute("aria-valuetext") == f"τ = {tau}"
        noise.append(float(re.search(r"varies by (\d+\.\d+)", told.inner_text())[1]))
        ends = box.locator("svg line").evaluate_all(
            "all => all.flatMap((l) => [l.y1, l.y2].map((y) => y.baseVal.value))"
        )
        assert 0 < min(ends) < max(ends) < 205, "no line is cut, nor meets the names of machines"
    assert noise[0] < 0.2 < 0.5 < noise[1]
    assert box.locator("circle").count() == len(choice().tensors["gumbel"])
    choice_page.keyboard.press("End")
    soft = box.locator("circle").first.get_attribute("cx")
    slope = told.inner_text().partition("The slope")[2]
    box.get_by_label("straight-through").focus()
    choice_page.keyboard.press("Space")
    assert told.inner_text().startswith("The choice is hard, its gradient soft.")
    assert told.inner_text().partition("The slope")[2] == slope, "the gradient stays what it was"
    assert box.locator("circle").first.get_attribute("cx") != soft
    box.get_by_label("Cost", exact=True).select_option("curved")
    curved = told.inner_text().partition("The slope")[2]
    box.get_by_label("straight-through").focus()
    choice_page.keyboard.press("Space")
    assert told.inner_text().partition("The slope")[2] not in (curved, slope), "for a curved cost it changes"
    box.get_by_label("Cost", exact=True).select_option("linear")
    assert told.inner_text().partition("The slope")[2] == slope
    assert not choice_page.complaints


# ------------------------------------------------------------------------------------------------- the product


@pytest.mark.parametrize("times", [1, 10])
@pytest.mark.parametrize(
    ("means", "eta"), [((0.0, 3.0), (1.0, 1.0)), ((-1.5, 2.0), (0.7, 4.0)), ((2, 2), (1, 2))]
)
def test_two_machines_answer_and_learn_as_in_the_library(product_page, means, eta, times):
    found = product_page.evaluate(
        """([R, eta, times]) => {
          const { product, mixture, normal, write } = KanervaProductFigure, x = [-2, 0, 1.3];
          const rules = [false, true].map((shared) => write(R, [1, 1], eta, 3, times, shared));
          const mixed = x.map((v) => mixture(v, R, eta)), first = x.map((v) => normal(v, R[0], eta[0]));
          return { ...product(R, eta), rules, mixed, first };
        }""",
        [means, eta, times],
    )
    R, noise, x = double(means), double(eta), double([-2.0, 0.0, 1.3])
    weights = weights_from_eta(noise[None])
    torch.testing.assert_close(double(found["gamma"]), weights.gamma[0], **EXACT)
    opinions = torch.distributions.Normal(R, noise).log_prob(x[:, None]).exp()
    torch.testing.assert_close(double(found["first"]), opinions[:, 0], **EXACT)
    torch.testing.assert_close(double(found["mixed"]), opinions.mean(dim=1), **EXACT)
    both = torch.distributions.Normal(double(found["mean"]), double(found["sd"])).log_prob(x).exp()
    ratio = opinions.prod(dim=1) / both  # the product is a Gaussian
    torch.testing.assert_close(ratio, ratio[:1].expand(3), **EXACT)
    for rule, ends in zip(("independent", "product"), found["rules"], strict=True):
        state = ProductMemory(1, 2, columns=1, means=R.view(2, 1, 1), dtype=torch.float64).state
        for _ in range(times):
            state, _ = write_item(state, double([[3.0]]), double([[[1.0], [1.0]]]), weights, rule)
        torch.testing.assert_close(double(ends["R"]), state.R.flatten(), **EXACT)
        torch.testing.assert_close(double(ends["V"]), state.V.flatten(), **EXACT)
    if times == 1:
        assert (means[0] == means[1]) == (found["rules"][0]["R"] == pytest.approx(found["rules"][1]["R"]))


def test_an_item_is_written_and_the_rules_agree_where_the_machines_do(product_page):
    box = product_page.locator("[data-live='kanerva_product']")
    told, press = box.locator(".live-status"), lambda name: box.get_by_role("button", name=name).click()
    assert "the product answers 1.50" in told.inner_text()
    assert "Nothing is written" in told.inner_text()
    press("Write the item")
    assert "machines at 1.50 and 3.00, the paper’s rule at 0.75 and 3.75." in told.inner_text()
    first = box.get_by_role("slider", name="The answer of machine 1")
    first.focus()
    for _ in range(6):
        product_page.keyboard.press("Shift+ArrowRight")
    assert first.get_attribute("aria-valuenow") == "3.00"
    assert "The two rules agree." in told.inner_text()
    box.get_by_label("Noise of machine 2").focus()
    product_page.keyboard.press("End")
    assert "Weights 1.00 and 0.00" in told.inner_text()
    press("Put everything back")
    assert "Weights 0.50 and 0.50; the product answers 1.50. Nothing is written" in told.inner_text()
    curve = box.locator("svg[role='group'] path.live-point").nth(1)
    curve.scroll_into_view_if_needed()
    frame = box.locator("svg[role='group']").bounding_box()
    unit = frame["width"] / 380
    x, y = frame["x"] + 272 * unit, frame["y"] + 96 * unit
    product_page.mouse.move(x, y)  # on the curve of machine 2, to the right of its mean
    product_page.mouse.down()
    product_page.mouse.move(x + 360 / 11 * unit, y, steps=4)
    product_page.mouse.up()
    moved = float(box.get_by_role("slider", name="The answer of machine 2").get_attribute("aria-valuenow"))
    assert moved == pytest.approx(4, abs=0.1)
    assert not product_page.complaints
