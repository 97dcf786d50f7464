# SPDX-License-Identifier: Apache-2.0
# upsweep/_libraries.py: where the package's shared libraries lie.
from pathlib import Path

_FOLDER = Path(__file__).parent / "lib"


def library_path(name):
    """The path of lib<name>.so beside the package. Raises ImportError where it is not there."""
    found = _FOLDER / f"lib{name}.so"
    if not found.exists():
        raise ImportError(
            f"upsweep's library lib{name}.so is not in {_FOLDER}: this build of the package was made without it; "
            "install upsweep again, or link the built library there",
            name=name,
            path=str(found),
        )
    return found
