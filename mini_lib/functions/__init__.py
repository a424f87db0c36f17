"""Segert and Cohen (2023): transformers that see only differences, with a learned attention window."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
