"""One grid: the mechanisms of four papers, and two more, on the tasks of all of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
