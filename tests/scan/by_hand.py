"""A network whose attention and dictionary are written by hand."""

import torch
from torch.nn.functional import one_hot

from mini_lib.scan.grammar import derive
from mini_lib.scan.syntactic_attention import StreamsTrace, SyntacticAttention
from mini_lib.scan.tasks import ACTION_IDS, WORD_IDS

WORDS, ACTIONS = list(WORD_IDS), list(ACTION_IDS)
MEANINGS = {word: word.upper() for word in "walk look run jump dax left right <SOS> <EOS>".split()}
COMMANDS = [
    "jump",
    "jump left",
    "jump twice and walk",
    "walk around right after jump opposite left",
    "turn left twice",
    "jump and jump",
]


class ByHand(SyntacticAttention):
    """Follows the grammar; all attention is on the end where a command has the word `lost`."""

    def __init__(self, meanings=MEANINGS, lost=""):
        super().__init__(len(WORDS), len(ACTIONS), syntax=4, semantics=len(WORDS) + 1)
        self.lost = lost
        weight = torch.zeros(self.action.weight.shape)
        for word, action in meanings.items():
            weight[ACTION_IDS[action], WORD_IDS[word]] = 20.0
        with torch.no_grad():
            self.meaning.weight.copy_(torch.eye(*self.meaning.weight.shape))
            self.action.weight.copy_(weight)
            self.action.bias.zero_()

    def places(self, words):
        """The position that each step attends to."""
        if self.lost in words:
            return []
        return [1 + step.word for step in derive(" ".join(words))]

    def trace(self, words, lengths, steps, noise=None):
        attention = torch.zeros(len(words), steps, words.shape[1])
        for row, (ids, length) in enumerate(zip(words.tolist(), lengths.tolist(), strict=True)):
            places = self.places([WORDS[i] for i in ids[1 : length - 1]])
            places = (places + [length - 1] * steps)[:steps]
            attention[row] = 0.9 * one_hot(torch.tensor(places), words.shape[1])
            attention[row, :, 0] += 0.1
        meanings, roles = self.meaning(words), torch.zeros(*words.shape, 8)
        return StreamsTrace(meanings, roles, attention, self.logits(attention, meanings, roles))
