#!python
# SPDX-License-Identifier: Apache-2.0
# python/command.py: `upsweep` on the PATH: executes the C++ command that the package contains.
import importlib.util
import os
import sys

package = os.path.dirname(importlib.util.find_spec("upsweep").origin)
command = os.path.join(package, "bin", "upsweep")
library = "@UPSWEEP_ARROW_LIBRARY@"  # of the pyarrow that the command was built with; empty: built without Arrow
if library and not os.path.exists(os.path.join(os.path.dirname(package), "pyarrow", library)):
    why = (
        "which is not installed"
        if importlib.util.find_spec("pyarrow") is None
        else f"and the installed pyarrow has no {library} next to upsweep"
    )
    sys.exit(f"upsweep: the command reads files with the Arrow C++ of pyarrow, {why}: pip install 'upsweep[files]'")
os.execv(command, [command, *sys.argv[1:]])
