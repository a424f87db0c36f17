"""The live figures of function extrapolation: what their scripts are given."""

from mini_lib.files import trained
from mini_lib.functions.tasks import KINDS, LARGEST, SHORTEST, STEPS, evaluation_curves
from mini_lib.reproduction.functions.cells import ROWS
from mini_lib.reproduction.live import Parcel, halves

SMOOTH = 4  # of the first twelve test curves, an RBF curve
# Of 45 test curves, those of chapter 1, then others, mixed.
DRAWN = (0, 30, 15, 31, 16, 1, 32, 2, 17, 33, 18, 3)
SHOWN = 12  # points that the figures begin with; as many as the networks were trained on


def parcel() -> Parcel:
    """The weights of the four trained networks as NETWORK/PARAMETER, and test curves."""
    tensors, networks = {}, {}
    for name in ROWS:
        model = trained(name)
        tensors |= halves(name, model)
        networks[name] = {"axes": model.axes, "heads": model.transformer.blocks[0].heads}
        networks[name] |= {"scale": model.scale, "strict": model.mask == "strict"}
    curves = evaluation_curves(12, SHOWN + STEPS)
    smooth = {"y": curves.y[SMOOTH].tolist(), "truth": curves.truth[SMOOTH].tolist()}
    many = evaluation_curves(45, SHOWN + STEPS)
    problems = [
        {"kind": KINDS[many.kinds[i]], "y": many.y[i, :SHOWN].tolist(), "truth": many.truth[i].tolist()}
        for i in DRAWN
    ]
    limits = {"steps": STEPS, "observed": SHOWN, "shortest": SHORTEST, "largest": LARGEST}
    return Parcel(tensors, {"networks": networks, "smooth": smooth, "problems": problems, **limits})
