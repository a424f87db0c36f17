"""Product Kanerva Machines: Factorized Bayesian Memory (Marblestone, Wu and Wayne 2020; arXiv 2002.02385)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
