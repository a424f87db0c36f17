"""mini_lib: four cognitive-science papers as small, tested PyTorch networks."""

__version__ = "0.1.0"
