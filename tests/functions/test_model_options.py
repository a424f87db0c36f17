"""Every option of a network changes what it should; options and prefixes that cannot be are refused."""

import inspect
import math

import pytest

from functions.helpers import every_model, make, observations
from mini_lib.errors import UsageError
from mini_lib.functions.models import MODELS, OPTIONS, OneDTransformer, build_network

# -------------------------------------------------------------------------------------------- what options change


def test_options_change_the_number_of_parameters_as_they_should():
    def count(**options):
        network = build_network("one_d_window", dim=8, layers=3, heads=2, **options)
        return sum(p.numel() for p in network.parameters())

    plain = count()
    assert [count(own_windows=own) - plain for own in (False, True)] == [0, 10]


@every_model
def test_every_option_matters(name):
    plain, y = make(name), observations(2, 5)
    matters = {"mask": "strict", "scale": 0.5}
    if plain.window is not None:
        matters |= {"gate": "post", "length": 3.0}
    for option, value in matters.items():
        assert (make(name, **{option: value})(y) - plain(y)).abs().max() > 1e-4, option


# ------------------------------------------------------------------------------------------------------ wrong use


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "dim has to be a whole number from 1, got 0"),
        ({"layers": 0}, "layers has to be a whole number from 1, got 0"),
        ({"heads": 0}, "heads has to be a whole number from 1, got 0"),
        ({"heads": 3}, "heads has to divide dim; 3 heads do not divide 8 features"),
        ({"mask": "casual"}, "unknown mask 'casual'; did you mean 'causal'.*known: causal, strict, none"),
        ({"gate": "pots"}, "unknown gate 'pots'; did you mean 'post'"),
        ({"scale": 0.0}, "scale has to be above 0, got 0.0"),
        ({"scale": -1.0}, "scale has to be above 0, got -1.0"),
        ({"scale": math.inf}, "scale has to be above 0, got inf"),
        ({"scale": math.nan}, "scale has to be above 0, got nan"),
        ({"length": 0.0}, "a window's length has to be above 0, got 0.0"),
        ({"window_rate": -1.0}, "a window's rate has to be above 0, got -1.0"),
        ({"widow_rate": 2.0}, "unknown option of relational_window 'widow_rate'; did you mean 'window_rate'"),
        ({"window": False}, "unknown option of relational_window 'window'"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        build_network("relational_window", **({"dim": 8, "layers": 1, "heads": 2} | options))


def test_networks_that_are_not_there_are_refused():
    with pytest.raises(
        UsageError, match="unknown model 'relational_windw'; did you mean 'relational_window'"
    ):
        build_network("relational_windw")
    assert list(MODELS) == ["one_d", "one_d_window", "relational", "relational_window"]
    assert "window" not in OPTIONS
    assert {"dim", "layers", "heads", "length", "window_rate", "mask", "gate", "own_windows"} <= set(OPTIONS)


@every_model
def test_prefixes_need_a_mask(name):
    with pytest.raises(
        UsageError, match="with mask='none' every token sees every other; prefixes need a causal mask"
    ):
        make(name, "no mask")(observations(), prefixes=True)


def test_the_shortest_prefix_has_two_observations():
    assert make("one_d")(observations()[:, :2], prefixes=True).shape[1] == 1
    with pytest.raises(UsageError, match="the shortest prefix has 2 observations; got 1 in all"):
        make("one_d")(observations()[:, :1], prefixes=True)


def test_a_network_without_a_window_takes_no_option_of_one():
    with pytest.raises(UsageError, match="unknown option of relational 'length'"):
        build_network("relational", length=3.0)
    assert build_network(
        "relational_window", length=3.0, dim=8, layers=1
    ).window.length.item() == pytest.approx(3)


def test_own_windows_are_wanted_or_not():
    """Types are checked in tests alone, so that a word would mean yes elsewhere."""
    init = inspect.unwrap(OneDTransformer.__init__)
    with pytest.raises(UsageError, match="own_windows has to be True or False, got 'layer'"):
        init(OneDTransformer.__new__(OneDTransformer), dim=8, window=True, own_windows="layer")
