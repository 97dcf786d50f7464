#!python
# SPDX-License-Identifier: Apache-2.0
# python/command.py: `upsweep` on the PATH: becomes the command written in C++ that the package holds.
import importlib.util
import os
import sys

package = os.path.dirname(importlib.util.find_spec("upsweep").origin)
command = os.path.join(package, "bin", "upsweep")
if importlib.util.find_spec("pyarrow") is None:
    sys.exit("upsweep: the command reads files with pyarrow, which is not installed: pip install 'upsweep[files]'")
os.execv(command, [command, *sys.argv[1:]])
