"""mini_lib: four cognitive-science papers as small, tested PyTorch networks.

Networks, memories, tasks and training by name; `__init__.pyi` lists them. Each is loaded when it is first used,
since PyTorch takes seconds. A paper's own names are in its package, such as `mini_lib.esbn`.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
