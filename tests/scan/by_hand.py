"""Networks whose attention and dictionary are written by hand."""

from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

from mini_lib.scan.grammar import derive
from mini_lib.scan.syntactic_attention import StreamsTrace, SyntacticAttention
from mini_lib.scan.tasks import ACTION_COUNT, ACTION_IDS, WORD_COUNT, WORD_IDS
from mini_lib.seeding import seeded

WORDS, ACTIONS = list(WORD_IDS), list(ACTION_IDS)
SPOKEN = {"walk": "WALK", "look": "LOOK", "run": "RUN", "jump": "JUMP", "left": "LEFT", "right": "RIGHT"}
SPOKEN |= {"<EOS>": "<EOS>", "and": "RUN", "<SOS>": "<SOS>"}
COMMANDS = [
    "jump",
    "jump left",
    "jump twice and walk",
    "walk around right after jump opposite left",
    "turn left twice",
    "jump and jump",
]


@dataclass
class Looks:
    """A way of looking at a command: the place of the word that every step is on."""

    wrong: dict  # command: {step: place}
    fails_with: str = ""  # a word that makes every step look at the end

    def __call__(self, command: str) -> list[int]:
        places = [1 + step.word for step in derive(command)] + [1 + len(command.split())]
        if self.fails_with in command.split():
            return [places[-1]] * len(places)
        for step, place in self.wrong.get(command, {}).items():
            places[step] = place
        return places


class ByHand(SyntacticAttention):
    """A network whose attention and dictionary are written by hand."""

    def __init__(self, looks: Looks, spoken=SPOKEN):
        super().__init__(syntax=4, semantics=WORD_COUNT)
        self.looks = looks
        says = torch.zeros(ACTION_COUNT, WORD_COUNT)
        for word, action in spoken.items():
            says[ACTION_IDS[action], WORD_IDS[word]] = 20.0
        with torch.no_grad():
            self.meaning.weight.copy_(torch.eye(WORD_COUNT))
            self.action.weight.copy_(says)
            self.action.bias.zero_()

    def trace(self, words, lengths, steps, noise=None):
        attention = torch.zeros(*words.shape[:1], steps, words.shape[1])
        for row, (ids, length) in enumerate(zip(words.tolist(), lengths.tolist(), strict=True)):
            places = self.looks(" ".join(WORDS[i] for i in ids[1 : length - 1]))
            places = (places + [length - 1] * steps)[:steps]
            attention[row] = 0.9 * one_hot(torch.tensor(places), words.shape[1])
            attention[row, :, 0] += 0.1
        meanings = self.meaning(words)
        roles = torch.zeros(*words.shape, 8)
        return StreamsTrace(meanings, roles, attention, self.logits(attention, meanings, roles))


def network(**options):
    """A small network that tells commands apart: with its first weights it says one action throughout."""
    with seeded(0, "test"):
        made = SyntacticAttention(syntax=8, semantics=6, **options)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter *= 4
    return made.eval()
