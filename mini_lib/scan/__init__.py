"""Syntactic Attention (Russin, Jo, O'Reilly and Bengio 2020), the networks it is compared with, and SCAN."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
