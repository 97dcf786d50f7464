# SPDX-License-Identifier: Apache-2.0
# upsweep/__main__.py: `python -m upsweep` runs the commands of the distribution upsweep-report by their old names.
from __future__ import annotations

import importlib
import importlib.util
import sys

MODULES = {"report": "upsweep_report", "bench-peers": "upsweep_report.peers"}


def main(arguments: list[str] | None = None) -> int:
    command, *rest = (sys.argv[1:] if arguments is None else arguments) or [""]
    if command not in MODULES:
        runs = "\n".join(f"  {name:<12} python -m {module}" for name, module in MODULES.items())
        print(f"usage: python -m upsweep COMMAND …, which runs\n{runs}", file=sys.stderr)
        return 0 if command in ("-h", "--help") else 2
    if importlib.util.find_spec("upsweep_report") is None:
        print(
            f"upsweep: '{command}' is a command of upsweep-report, which is not installed: pip install upsweep-report; "
            f"then: python -m {MODULES[command]} …",
            file=sys.stderr,
        )
        return 2
    return importlib.import_module(f"{MODULES[command]}.__main__").main(rest)


if __name__ == "__main__":
    sys.exit(main())
