"""The live figure of function extrapolation: what its scripts are given."""

from mini_lib.files import trained
from mini_lib.functions.tasks import AMPLITUDES, LARGEST, LENGTH_SCALE, NOISE, PERIODS, SHORTEST, SLOPE, STEPS
from mini_lib.functions.transformer import MODELS
from mini_lib.reproduction.functions import figures
from mini_lib.reproduction.live import Parcel, halves


def parcel() -> Parcel:
    """The weights of the four trained networks as NETWORK/PARAMETER, and what they were trained on."""
    tensors, networks = {}, []
    for name in MODELS:
        model = trained(name)
        tensors |= halves(name, model)
        heads = model.transformer.blocks[0].heads
        shape = {"axes": model.axes, "heads": heads, "scale": model.scale, "strict": model.mask == "strict"}
        look = {"title": figures.label(name), "colour": figures.shade(name)}
        networks.append({"name": name, "observed": model.about["settings"]["observed"], **look, **shape})
    curves = {"noise": NOISE, "slope": SLOPE, "length": LENGTH_SCALE}
    ranges = {"periods": PERIODS, "amplitudes": AMPLITUDES}
    limits = {"steps": STEPS, "shortest": SHORTEST, "largest": LARGEST}
    return Parcel(tensors, {"networks": networks, "curves": curves | ranges, **limits})
