"""The exercises of the SCAN chapters: what a right answer has to do."""

from functools import cache

import torch

from mini_lib.reproduction.exercises import Exercises, require
from mini_lib.scan import analysis
from mini_lib.scan.evaluation import accuracy
from mini_lib.scan.tasks import EOS, SOS, WORD_IDS, encode, get_split
from mini_lib.weights import trained

EXERCISES = Exercises()


@cache
def new_commands() -> list[str]:
    """Some commands with jump, a few hundred."""
    return list(get_split("add_jump").test[::16])


def chosen(commands: list[str], which: torch.Tensor) -> list[str]:
    """The commands for which it holds."""
    return [command for command, holds in zip(commands, which.tolist(), strict=True) if holds]


@EXERCISES.add("scan 4.1", lambda network, commands: 0.94, lambda network, commands: 1.0)
def old_friends(answer) -> None:
    """The mean cosine between the roles of look and of other known verbs."""
    network, commands = trained("syntactic_attention_wrong_looks")[0], new_commands()[:60]
    value = answer(network, list(commands))
    require(isinstance(value, float), "return one number, a float.")
    roles = analysis.role_similarity(network, list(commands))
    of_jump = sum(sum(row.values()) / len(row) for row in roles.values()) / len(roles)
    require(abs(value - of_jump) > 0.01, "that is how close *jump* is; put *look* in its place.")
    similar = analysis.role_similarity(
        network, [command.replace("jump", "look") for command in commands], "look", ("walk", "run")
    )
    expected = sum(sum(row.values()) / len(row) for row in similar.values()) / len(similar)
    require(
        abs(value - expected) < 5e-4,
        f"{value:.3f} is not the mean cosine of *look* with *walk* and *run*.",
    )


@EXERCISES.add("scan 4.2", lambda network, commands: [], lambda network, commands: list(commands))
def lucky(answer) -> None:
    """Right answers with a wrong look."""
    network, commands = trained("syntactic_attention")[0], new_commands()
    given = list(answer(network, list(commands)))
    steps = analysis.follow(network, commands)
    elsewhere = (steps.looked != steps.own) & steps.there & ~steps.of(EOS)
    expected = chosen(commands, steps.right & elsewhere.any(dim=1))
    extra, missing = [c for c in given if c not in expected], [c for c in expected if c not in given]
    require(not extra, f"“{(extra or [''])[0]}” has no such look, or is not answered right.")
    require(not missing, f"“{(missing or [''])[0]}” is answered right with a look elsewhere.")
    require(given == expected, "keep the commands in their order.")


@EXERCISES.add("scan 4.3", lambda network, commands: [], lambda network, commands: list(commands))
def harmed(answer) -> None:
    """What a network needs the meaning of <SOS> for."""
    network, _ = trained("syntactic_attention_wrong_meaning")
    commands = ["jump", *[c for c in get_split("add_jump").train if c != "jump"][:150]]
    given = list(answer(network, list(commands)))
    start = WORD_IDS[SOS]
    require(network.meaning.weight[start].any(), "change a copy of the network (copy.deepcopy), not itself.")
    before = analysis.follow(network, commands).right
    with torch.no_grad():
        network.meaning.weight[start].zero_()
    expected = chosen(commands, before & ~analysis.follow(network, commands).right)
    require(given == expected, f"{len(expected)} of these commands are harmed, you have {len(given)}.")


@EXERCISES.add("scan 4.4", lambda network: network)
def mend(answer) -> None:
    """A meaning for jump, made without that of <SOS>."""
    network, _ = trained("syntactic_attention_wrong_meaning")
    original = {name: value.clone() for name, value in network.state_dict().items()}
    mended = answer(network)
    jump = WORD_IDS["jump"]
    for name, value in mended.state_dict().items():
        same = (value == original[name]).reshape(len(value), -1).all(dim=1)
        if name == "meaning.weight":
            same[jump] = True
        require(same.all(), f"{name} has changed elsewhere; only the meaning of *jump* may.")
    meanings = original["meaning.weight"]
    require(
        not torch.allclose(mended.meaning.weight[jump], meanings[WORD_IDS[SOS]]),
        "that is the meaning of <SOS>; find one without it.",
    )
    right = accuracy(mended, encode(new_commands()))
    require(right > 90, f"it answers {right:.0f} % of the new commands.")


@EXERCISES.add("scan 4.5", lambda network, commands: commands[0], lambda network, commands: "jump")
def least(answer) -> None:
    """The shortest command that a network gets wrong."""
    network, commands = trained("syntactic_attention_wrong_looks")[0], new_commands()
    given = answer(network, list(commands))
    wrong = chosen(commands, ~analysis.follow(network, commands).right)
    require(given in wrong, f"“{given}” is answered right, or is none of the commands.")
    expected = min(wrong, key=lambda command: (len(command.split()), command))
    require(given == expected, f"“{given}” goes wrong, but there is a shorter or an earlier one.")
