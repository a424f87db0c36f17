"""What the exercises compare answers with."""

import pytest
import torch
from scan.by_hand import network
from torch.nn.functional import cosine_similarity

from mini_lib.reproduction.scan.exercises import role_similarity
from mini_lib.scan.tasks import encode


def role(model, command, place):
    words, lengths, actions = encode([command]).tensors
    with torch.no_grad():
        return model.trace(words, lengths, actions.shape[1]).roles[0, 1 + place]


def test_roles_are_compared_in_the_same_place_of_the_same_sentence():
    model = network()
    commands = ["jump left after jump twice", "walk and jump left", "look"]
    found = role_similarity(model, commands, "jump", ("run",))
    left = [
        cosine_similarity(role(model, commands[0], 0), role(model, "run left after jump twice", 0), dim=0),
        cosine_similarity(role(model, commands[1], 2), role(model, "walk and run left", 2), dim=0),
    ]
    twice = cosine_similarity(role(model, commands[0], 3), role(model, "jump left after run twice", 3), dim=0)
    assert list(found) == ["U D", "U twice"]
    assert found["U D"]["run"] == pytest.approx(float(sum(left)) / 2, abs=1e-5)
    assert found["U twice"]["run"] == pytest.approx(float(twice), abs=1e-5)
    assert role_similarity(model, commands, "jump", ("jump",))["U D"]["jump"] == pytest.approx(1)
