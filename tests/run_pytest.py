# SPDX-License-Identifier: Apache-2.0
# tests/run_pytest.py: runs test files with pytest; exit status 77 (skipped) if a module that they need is missing.
import importlib.util
import os
import sys

SKIPPED = 77


def main():
    for module in ("pytest", "numpy"):
        if importlib.util.find_spec(module) is None:
            print(f"skipped: {sys.executable} has no {module}; make setup installs it into .venv")
            return SKIPPED

    sys.dont_write_bytecode = True
    del sys.path[0]  # this folder, whose awkward/ is not Awkward Array
    if "UPSWEEP_COMMAND" in os.environ:
        os.environ["UPSWEEP_COMMAND"] = os.path.abspath(os.environ["UPSWEEP_COMMAND"])

    import pytest

    # Tests marked `long` only run in make test-python, which names them. Folders of tests that passed are deleted,
    # because some contain large files.
    options = ["-q", "-rs", "-m", "not long", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=failed"]
    status = pytest.main([*options, *sys.argv[1:]])
    return SKIPPED if status == pytest.ExitCode.NO_TESTS_COLLECTED else status  # a module is missing


if __name__ == "__main__":  # the processes of a cluster import this file
    sys.exit(main())
