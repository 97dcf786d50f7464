# SPDX-License-Identifier: Apache-2.0
# upsweep/_libraries.py: where the package's shared libraries are, and which Python version its modules were built for.
import platform
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent / "lib"


def library_path(name):
    """Returns the path of lib<name>.so in the package's folder. Raises ImportError if the file does not exist."""
    found = _FOLDER / f"lib{name}.so"
    if not found.exists():
        raise ImportError(
            f"upsweep's library lib{name}.so is not in {_FOLDER}: this build of the package was made without it; "
            "install upsweep again, or link the built library there",
            name=name,
            path=str(found),
        )
    return found


def import_error(error):
    """The error for a failed import of upsweep._core. If upsweep._core was built for another Python, the error names it.

    This function must run on any Python 3.
    """
    built = sorted(file.name.split(".")[1] for file in Path(__file__).parent.glob("_core.*.so"))
    names = {tag: f"CPython {tag[8]}.{tag[9:].partition('-')[0]}" for tag in built if tag.startswith("cpython-")}
    names["abi3"] = "CPython 3.12 and later"
    is_found = error.name != "upsweep._core" or not isinstance(error, ModuleNotFoundError)
    if is_found and not (built == ["abi3"] and sys.version_info < (3, 12)):
        return _numpy_error() or error  # another library is missing; the error names it
    here = f"this is {platform.python_implementation()} {platform.python_version()}"
    if not built:
        return ImportError(
            f"upsweep: there is no compiled module next to {__file__}: build the package, or install upsweep again; {here}"
        )
    made_for = ", ".join(names.get(tag, tag) for tag in built)
    return ImportError(f"upsweep was built for {made_for}, and {here}: install upsweep for this Python", name=error.name)


def _numpy_error():
    """The error for a missing NumPy, which upsweep._core needs; None if NumPy can be imported."""
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        return ImportError(f"upsweep needs NumPy, which cannot be imported ({error}): pip install numpy", name="numpy")
    return None
