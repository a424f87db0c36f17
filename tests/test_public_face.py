"""What `import mini_lib` offers: at once, by name, each with an example that runs (as a doctest)."""

import importlib
import inspect
import subprocess
import sys

import pytest
from torch import nn

import mini_lib

PACKAGES = ("esbn", "scan", "functions", "kanerva", "grid")


@pytest.mark.parametrize("name", mini_lib.__all__)
def test_every_name_is_there_with_an_example(name: str):
    offered = getattr(mini_lib, name)
    assert name in dir(mini_lib)
    # An example of the file will do where several networks are called alike; a package's names have their own.
    no_examples = (*PACKAGES, "TRAINED", "UsageError")
    assert name in no_examples or ">>>" in inspect.getsource(sys.modules[offered.__module__])


@pytest.mark.parametrize("package", PACKAGES)
def test_every_network_of_a_paper_has_an_example(package: str):
    models = importlib.import_module(f"mini_lib.{package}")
    public = {name: getattr(models, name) for name in models.__all__}
    networks = {
        name: kind for name, kind in public.items() if inspect.isclass(kind) and issubclass(kind, nn.Module)
    }
    bare = [
        name
        for name, kind in networks.items()
        if ">>>" not in inspect.getsource(sys.modules[kind.__module__])
    ]
    assert not bare
    assert len(networks) > 1


def test_nothing_heavy_is_loaded_until_it_is_asked_for():
    code = "import sys, mini_lib; assert 'torch' not in sys.modules; mini_lib.ESBN; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_not_there_is_answered_with_the_nearest():
    code = "import mini_lib; mini_lib.esbn; mini_lib.ESBM"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert "AttributeError: No mini_lib attribute ESBM. Did you mean: 'ESBN'?" in answer
