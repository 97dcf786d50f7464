# SPDX-License-Identifier: Apache-2.0
# tools/awkward_signatures.py: writes python/upsweep/awkward/_signatures.py: the Awkward kernels that upsweep replaces.
"""LIBRARY: libupsweep-awkward.so. Run it after a kernel was added, with the version of awkward-cpp that it was built for, and
with the built package: PYTHONPATH=build/python."""

import ctypes
import importlib.metadata
import sys
from pathlib import Path

import awkward_cpp.cpu_kernels
from upsweep.awkward import _table

PACKAGE = Path(__file__).resolve().parent.parent / "python"

HEAD = """# SPDX-License-Identifier: Apache-2.0
# upsweep/awkward/_signatures.py: the kernels that replace Awkward's, and the versions they were built for.
# Arguments are ctypes' codes, pointers with `*`. tools/awkward_signatures.py writes this file.
"""

# Awkward's versions are at least equally fast: for most lists they only read the first element.
THEIRS = ("awkward_reduce_sum_bool_", "awkward_reduce_prod_bool_")
OURS_OF_THESE = ("awkward_reduce_sum_bool_bool_64", "awkward_reduce_prod_bool_bool_64")


def main():
    library = ctypes.CDLL(sys.argv[1])
    kernels = {kernel.__name__: kernel for kernel in awkward_cpp.cpu_kernels.kernel.values()}
    with open(PACKAGE / "upsweep/awkward/_signatures.py", "w") as file:
        versions = {name: importlib.metadata.version(name) for name in ("awkward", "awkward-cpp")}
        file.write(f'{HEAD}\nAWKWARD = "{versions["awkward"]}"\nAWKWARD_CPP = "{versions["awkward-cpp"]}"\n\nSIGNATURES = {{\n')
        for name in sorted(kernels):
            left = name.startswith(THEIRS) and name not in OURS_OF_THESE
            if hasattr(library, name) and not left:
                file.write(f'    "{name}": "{_table.signature(kernels[name])}",\n')
        file.write("}\n")


if __name__ == "__main__":
    main()
