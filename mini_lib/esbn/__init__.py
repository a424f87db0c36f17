"""Emergent Symbols through Binding in External Memory (Webb, Sinha and Cohen, ICLR 2021)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
