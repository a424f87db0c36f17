"""The memory in the page: its numbers next to the library's, and its figures driven as a reader drives them."""

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
from mini_lib.reproduction.kanerva import live as facts

from .reader import calculate, choose, close, drag, numbers, press, said

pytestmark = pytest.mark.browser
EXACT = 1e-5  # both count in double precision, from means that instruction sets round differently


def double(numbers) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def test_a_memory_is_written_read_and_asked_again_as_in_the_library(live):
    script = """async () => {
      const parcel = await Live.load("kanerva"), eta = Kanerva.weightsOf([parcel.facts.eta]);
      const { memories, settle, missed } = KanervaFigure;
      return memories(parcel).map((kind) => {
        const codes = kind.digits.map(kind.encode), taught = [];
        let { memory } = kind.begin();
        for (const z of codes.slice(0, 30)) {
          const step = Kanerva.write(memory, z, eta);
          memory = step.memory;
          taught.push(step.nats);
        }
        const hidden = kind.mean.map((_, i) => i >= 32), [image] = kind.digits.slice(3), { R, V } = memory;
        const ask = (between) => settle(kind, { memory }, image, hidden, 12, between);
        return {
          R, V, taught, spread: Kanerva.spread(memory), settled: ["plain", "round", "keep"].map(ask),
          answers: codes.map((z) => Kanerva.read(memory, z, [1]).code),
          errors: kind.digits.map((image) => missed(kind, { memory }, image)),
        };
      });
    }"""
    found = calculate(live("kanerva"), script)
    parcel = facts.memory()
    mean, scale = double(parcel.facts["mean"]), parcel.facts["scale"]
    codes = (parcel.tensors["digits/8"].double() - mean) / scale
    top = torch.arange(len(mean)) < 32
    for columns, page in zip(facts.COLUMNS, found, strict=True):
        ours = ProductMemory(len(mean), columns=columns, dtype=torch.float64)
        close(page["taught"], ours.write(codes[:30], facts.ETA), EXACT)
        R, V, _ = ours.state
        close(page["R"], R[0].flatten(1), EXACT)
        close(page["V"], V[0].flatten(1), EXACT)
        close(page["spread"], V[0, 0].diagonal().mean(), EXACT)
        read = ours.read(codes).codes
        close(page["answers"], read, EXACT)
        close(page["errors"], (read - codes).square().sum(-1) / codes.square().sum(-1), EXACT)
        for between, answers in zip(("plain", "round", "keep"), page["settled"], strict=True):
            query = codes[3] * top
            for answer in answers:
                code = ours.read(query[None]).codes[0]
                close(answer, code * scale + mean, EXACT)
                rounded = ((code * scale + mean > 0.5).double() - mean) / scale
                query = {"plain": code, "round": rounded, "keep": torch.where(top, codes[3], code)}[between]


def test_digits_that_were_written_are_completed_and_others_are_drawn_and_hidden(live):
    box = live("kanerva")
    shelf, cells = box.locator(".live-shelf button"), box.locator(".live-pad button")
    error = lambda: numbers(r"(?:digit|part): (?:less than )?(\d+\.?\d*)", said(box))[0]  # noqa: E731
    assert said(box).startswith("Nothing is written yet.")
    before = error()
    for n in range(5):
        shelf.nth(n).press("Enter")
        press(box, "Write it")
    assert said(box).startswith("5 digits written, this one as number 5.")
    assert error() < 0.1 * before
    press(box, "Hide lower half")
    assert error() < 0.3
    shelf.nth(20).press("Enter")
    press(box, "Hide lower half")
    assert said(box).startswith("5 digits written, this one not.")
    assert error() > 0.7
    press(box, "Clear")
    cells.nth(0).focus()
    for key in ("Enter", "ArrowRight", "Space", "ArrowDown", "ArrowUp", "ArrowUp"):
        box.page.keyboard.press(key)
    assert box.page.evaluate("document.activeElement.ariaLabel") == "row 1, column 2: ink"
    wide = cells.nth(16).bounding_box()["width"]
    out = ((7 * wide, 0), (8 * wide, 0), (8 * wide, 3 * wide), (7 * wide, 3 * wide))
    drag(box, cells.nth(16), *out, steps=1)  # quick, and out at the right, and in again three rows below
    inked = cells.evaluate_all("all => all.flatMap((e, i) => (e.matches('.live-ink') ? i : []))")
    assert inked == [0, 1, *range(16, 24), 47]
    choose(box, "Pen", "hide")
    cells.nth(16).click()
    assert cells.nth(16).get_attribute("aria-label") == "row 3, column 1: ink, hidden"
    press(box, "Write it")
    assert shelf.count() == facts.ITEMS + 1


@torch.no_grad()
def test_machines_of_both_networks_answer_and_forget_as_in_pytorch(live):
    script = """async (names) => {
      const parcel = await Live.load("kanerva_binding"), items = Arithmetic.rows(parcel.tensors.triplets);
      const { query, tell, answer } = KanervaParts, { greenCost, greenCosts } = KanervaBindingFigure;
      return names.map((name) => {
        const net = Live.network(parcel, name), { episodes, gammas } = tell(net, parcel.facts.ridge, items);
        const ask = (red, blue, written = items.length) => {
          const found = answer(net, episodes[written], query(items[red], items[blue]));
          return { ...found, green: greenCost(found.logits, items[red]) };
        };
        const forgotten = [0, 1].map((i) => greenCosts(net, Kanerva.forget(net, episodes.at(-1), i), items));
        const same = items.map((_, i) => ask(i, i));
        return { forgotten, gammas, same, mixed: ask(3, 9), early: ask(2, 2, 7) };
      });
    }"""
    found = calculate(live("kanerva_binding"), script, [name for name, *_ in facts.BINDING])
    for page, (_, _, network) in zip(found, facts.BINDING, strict=True):
        model = trained(network)
        images = tasks.evaluation("rgb", 1, facts.ITEMS, source=model.about["settings"]["source"]).images
        trace = model.trace(images, hide(images))
        same = {key: [each[key] for each in page["same"]] for key in ("gamma", "logits", "alone", "green")}
        close(page["gammas"], trace.written.gamma[0])
        close(same["gamma"], trace.reading.gamma[0])
        close(same["logits"], trace.logits[0].flatten(1))
        close(same["alone"], model.machine_logits(trace.reading)[0].flatten(2))
        close(same["green"], nats(trace.logits[:, :, 1:2], images[:, :, 1:2])[0])
        for machine, costs in enumerate(page["forgotten"]):
            reading = model.read(forget(model, trace.memory, machine), trace.queries)
            close(costs, nats(model.decoder(reading.codes)[:, :, 1:2], images[:, :, 1:2])[0])
        mixed = torch.stack([images[:, 3, 0], 0 * images[:, 3, 0], images[:, 9, 2]], dim=1)
        asked = model.read(trace.memory, model.encoder(mixed[:, None]))
        early = model.read(model.write(trace.codes[:, :7]).memory, trace.queries[:, 2:3])
        for key, reading in (("mixed", asked), ("early", early)):
            close(page[key]["gamma"], reading.gamma[0, 0])
            close(page[key]["logits"], model.decoder(reading.codes).flatten())


def test_the_red_digit_decides_which_machine_answers_and_a_machine_forgets_its_own_items(live):
    box = live("kanerva_binding")
    machine = lambda: numbers(r"\b1: (\d+)\s%", box.inner_text())[1]  # noqa: E731
    assert box.locator(".live-shelf [aria-pressed='true']").inner_text() == "14", "the text starts there"
    asked = machine()
    costs = numbers(r"(\d+) nats", " ".join(box.locator(".live-status").all_inner_texts()))
    assert costs[1] < costs[0] < fixed_loss("distorted")
    choose(box, "Blue digit of", "10")  # item 11 belongs to the other machine
    assert max(asked, 100 - asked) > 90 > 10 > abs(asked - machine())
    choose(box, "Forgotten by", "1")
    first, second = re.search(r"items of machine 1: (\d+), of machine 2: (\d+)", box.inner_text()).groups()
    assert int(second) > 4 * int(first), "what machine 2 has forgotten are its own items"
    box.get_by_label("Items written").press("Home")
    assert "(not written)" in box.inner_text()


@torch.no_grad()
def test_twelve_pixels_move_every_item_as_in_pytorch_and_their_mirror_image_none(live):
    box = live("kanerva_stroke")
    script = """async () => {
      const { tensors, facts } = await Live.load("kanerva_binding"), net = Live.network({ tensors }, "balanced");
      const { gammasOf, put } = KanervaStrokeFigure, items = Arithmetic.rows(tensors.triplets);
      return [0, 1].map((ink) => gammasOf(net, facts.ridge, items, (red) => put(red, facts.stroke, ink)));
    }"""
    found = calculate(box, script)
    model, places = trained("kanerva_binding_balanced"), facts.stroke()
    assert places.sum() == 12, "the chapter speaks of twelve pixels"
    images = tasks.evaluation("rgb", 1, facts.ITEMS, source=model.about["settings"]["source"]).images
    own = (model.write(model.encoder(images)).gamma[0, :, 0] > 0.5).sum().item()
    for ink, gammas in enumerate(found):
        images[:, :, 0, places] = ink
        close(gammas, model.write(model.encoder(images)).gamma[0])
    counted = box.locator("p[role='status']:not(.live-status)")
    press(box, "Ink their mirror image")
    assert said(box).startswith("Machine 1 has")
    assert re.search(rf"[01] of the {own} pictures of machine 1", counted.inner_text())
    press(box, "Put it back")
    press(box, "Ink the twelve pixels")
    assert said(box).startswith("Machine 2 has")
    assert f"{own} of the {own} pictures of machine 1 go over" in counted.inner_text()
    press(box, "Put it back")
    box.locator(".live-pad button").first.press("Enter")
    assert "1 pixel changed" in said(box)


@torch.no_grad()
def test_sprites_are_drawn_remembered_and_forgotten_as_in_pytorch(live):
    moved, chosen = [[3, 30], [25, 8]], facts.SHOWN[0]
    script = """async (moved) => {
      const { tensors, facts } = await Live.load("kanerva_sprites"), net = Live.network({ tensors }, "network");
      const { drawn, tell, answer } = KanervaSpritesFigure, stamps = Arithmetic.rows(tensors.stamps).slice(0, 8);
      const picture = (at) => drawn([stamps.slice(0, 4), stamps.slice(4)], at, facts), image = picture(moved);
      const places = Arithmetic.rows(tensors.positions).slice(0, facts.items);
      const images = places.map(([a, b, c, d]) => picture([[a, b], [c, d]]));
      const episode = tell(net, facts.ridge, images), without = Kanerva.forget(net, episode, 3);
      const [asked, less] = [episode, without].map((each) => answer(net, each, image));
      return { images, image, asked, less, full: answer(net, episode, image, true) };
    }"""
    found = calculate(live("kanerva_sprites"), script, moved)
    model = trained(facts.SPRITES)
    episodes = tasks.evaluation("dsprites", max(facts.SHOWN) + 1, 15)
    looks = (each[chosen] for each in (episodes.shape, episodes.scale, episodes.orientation))
    image = dsprites.draw(*looks, torch.tensor(moved)).amax(0)
    assert torch.equal(torch.tensor(found["images"]), episodes.images[chosen].flatten(1))
    assert torch.equal(torch.tensor(found["image"]), image.flatten())
    memory = model.write(model.encoder(episodes.images[chosen][None])).memory
    code = model.encoder(image[None, None, None])
    for key, state in (("asked", memory), ("less", forget(model, memory, 3))):
        reading = model.read(state, code)
        close(found[key]["gamma"], reading.gamma[0, 0])
        close(found[key]["logits"], model.decoder(reading.codes).flatten())
        close(found[key]["alone"], model.machine_logits(reading)[0, 0].flatten(1))
    whole = model.read(memory, code)
    whole = whole._replace(gamma=torch.ones_like(whole.gamma))
    close(found["full"]["alone"], model.machine_logits(whole)[0, 0].flatten(1))


def test_sprites_are_moved_by_keys_and_by_mouse_as_far_as_they_can_go(live):
    box = live("kanerva_sprites")
    handle = box.locator(".live-handle").first
    place = handle.get_attribute("aria-label")
    handle.press("Shift+ArrowDown")
    assert handle.get_attribute("aria-label") != place
    drag(box, handle, (2000, 0))
    assert "at 31 from the left" in handle.get_attribute("aria-label")
    whole = numbers(r"answer costs (\d+) nats", said(box))
    choose(box, "Forgotten by", "3")
    assert said(box).startswith("Machine 4 has forgotten.")
    assert numbers(r"nobody forgets, (\d+)", said(box)) == whole


def test_choices_and_their_slopes_are_those_of_pytorch(live):
    box = live("kanerva_choice")
    ways = [(tau, through) for tau in (0.1, 1.0, 5.0) for through in (False, True)]
    script = """async (ways) => {
      const { tensors, facts: { p, costs, curve } } = await Live.load("kanerva_choice");
      const noise = Arithmetic.rows(tensors.gumbel).map((g) => Array.from(g)), { draws } = KanervaChoiceFigure;
      return ways.map((way) => [null, curve].map((each) => draws(noise, p, costs, ...way, each)));
    }"""
    found = calculate(box, script, ways)
    gumbel, costs = facts.choice().tensors["gumbel"].double(), double(facts.COSTS)
    answers, rate = double(facts.CURVE["answers"]), facts.CURVE["rate"]
    for (tau, through), pages in zip(ways, found, strict=True):
        rules = (lambda w: w @ costs, lambda w: (rate * (w @ answers)).exp())
        for page, cost in zip(pages, rules, strict=True):
            logits = double(facts.PROBABILITIES).log().repeat(len(gumbel), 1).requires_grad_()
            gamma = torch.softmax((logits + gumbel) / tau, dim=1)
            used = straight_through(gamma) if through else gamma
            (slopes,) = torch.autograd.grad(cost(used).sum(), logits)
            close(page["used"], used.detach(), EXACT)
            close(page["mean"], slopes.mean(dim=0), EXACT)
            close(page["sd"], slopes.std(dim=0), EXACT)
    # A hard choice leaves the slope of a linear cost what it was, and changes that of a curved one.
    for cost in ("linear", "curved"):
        choose(box, "Cost", cost)
        slopes = []
        for _ in range(2):
            slopes.append(said(box).partition("The slope")[2])
            box.get_by_label("straight-through").press("Space")
        assert (slopes[0] == slopes[1]) == (cost == "linear")


def test_two_machines_answer_and_learn_as_in_the_library(live):
    cases = [((0, 3), (1, 1)), ((-1.5, 2), (0.7, 4)), ((2, 2), (1, 2))]
    cases = [(*case, times) for case in cases for times in (1, 10)]
    script = """(cases) => cases.map(([R, eta, times]) => {
      const { product, mixture, normal, write } = KanervaProductFigure, x = [-2, 0, 1.3];
      const rules = [false, true].map((shared) => write(R, [1, 1], eta, 3, times, shared));
      const mixed = x.map((v) => mixture(v, R, eta)), first = x.map((v) => normal(v, R[0], eta[0]));
      return { ...product(R, eta), rules, mixed, first };
    })"""
    pages = calculate(live("kanerva_product"), script, cases)
    x = double([-2.0, 0.0, 1.3])
    for (means, eta, times), found in zip(cases, pages, strict=True):
        R, noise = double(means), double(eta)
        weights = weights_from_eta(noise[None])
        close(found["gamma"], weights.gamma[0], EXACT)
        opinions = torch.distributions.Normal(R, noise).log_prob(x[:, None]).exp()
        close(found["first"], opinions[:, 0], EXACT)
        close(found["mixed"], opinions.mean(dim=1), EXACT)
        both = torch.distributions.Normal(double(found["mean"]), double(found["sd"])).log_prob(x).exp()
        ratio = opinions.prod(dim=1) / both  # the product is a Gaussian
        torch.testing.assert_close(ratio, ratio[:1].expand(3))
        for rule, ends in zip(("independent", "product"), found["rules"], strict=True):
            state = ProductMemory(1, 2, columns=1, means=R.view(2, 1, 1), dtype=torch.float64).state
            for _ in range(times):
                state, _ = write_item(state, double([[3.0]]), double([[[1.0], [1.0]]]), weights, rule)
            close(ends["R"], state.R.flatten(), EXACT)
            close(ends["V"], state.V.flatten(), EXACT)


def test_an_item_is_written_by_both_rules_and_an_answer_is_moved_by_keys_and_by_mouse(live):
    box = live("kanerva_product")
    press(box, "Write the item")
    assert "machines at 1.50 and 3.00, the paper’s rule at 0.75 and 3.75." in said(box)
    first, second = (box.get_by_role("slider", name=f"The answer of machine {n}") for n in (1, 2))
    for _ in range(6):
        first.press("Shift+ArrowRight")
    assert first.get_attribute("aria-valuenow") == "3.00"
    assert "The two rules agree." in said(box)
    drag(box, second, (box.locator("svg[role='group']").bounding_box()["width"] / 380 * 360 / 11, 0))
    assert float(second.get_attribute("aria-valuenow")) == pytest.approx(4, abs=0.1)
    press(box, "Put everything back")
    assert "Weights 0.50 and 0.50; the product answers 1.50. Nothing is written" in said(box)
