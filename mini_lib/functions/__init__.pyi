from .baselines import PREDICTORS as PREDICTORS
from .bounds import (
    optimal_error as optimal_error,
    optimal_spread as optimal_spread,
    score as score,
)
from .extrapolation import Extrapolation as Extrapolation, extrapolate as extrapolate
from .runs import (
    Settings as Settings,
    build as build,
    evaluate as evaluate,
    paper_settings as paper_settings,
    tutorial_settings as tutorial_settings,
)
from .tasks import (
    Curves as Curves,
    as_curve as as_curve,
    evaluation_curves as evaluation_curves,
    sample_curves as sample_curves,
)
from .transformer import (
    FunctionTrace as FunctionTrace,
    OneDTransformer as OneDTransformer,
    RelationalTransformer as RelationalTransformer,
    summarize as summarize,
)
from .window import Window as Window
