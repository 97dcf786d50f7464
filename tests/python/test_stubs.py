# SPDX-License-Identifier: Apache-2.0
# tests/python/test_stubs.py: the information that type checkers, editors and help() use: stubs that match the native
# modules, py.typed, signatures and docstrings.
import ast
import doctest
import inspect
import pathlib

import pytest
import upsweep
from upsweep import _core

FOLDER = pathlib.Path(upsweep.__file__).parent
FUNCTIONS = [getattr(upsweep, name) for name in upsweep.__all__ if name != "__version__"]


def stub():
    """Returns functions and classes by their names, and constants."""
    nodes = ast.parse((FOLDER / "_core.pyi").read_text()).body
    return {
        getattr(node, "name", None) or node.target.id: node
        for node in nodes
        if hasattr(node, "name") or isinstance(node, ast.AnnAssign)
    }


def test_the_package_is_typed():
    assert (FOLDER / "py.typed").is_file()


def test_the_stub_has_every_name_of_the_native_module():
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert public == {name for name in stub() if not name.startswith("_")}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_functions_say_what_they_do(function):
    assert inspect.getdoc(function).splitlines()[0].endswith(".")
    signature = inspect.signature(function)
    assert inspect.isclass(function) or signature.return_annotation is not inspect.Signature.empty
    assert all(each.annotation is not inspect.Parameter.empty for each in signature.parameters.values())


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_examples(function):
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(function), {"upsweep": upsweep}, function.__name__, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert examples.examples
    assert runner.run(examples).failed == 0
