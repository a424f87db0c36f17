"""mini_lib: four cognitive-science papers as small, tested PyTorch networks.

`__init__.pyi` lists the public names, loaded when they are first used; `mini_lib.esbn` and its like have more.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
