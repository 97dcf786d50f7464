# SPDX-License-Identifier: Apache-2.0
# upsweep_report/peers/__main__.py: `python -m upsweep_report.peers`: measures other libraries and upsweep.
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .bench import Refused, Request, measure, summary


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m upsweep_report.peers", description="Verify and time other Python libraries next to upsweep."
    )
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="scan, segmented-reduce, … (default: all)")
    parser.add_argument("-o", "--output", required=True, metavar="PEERS.json")
    parser.add_argument("--quick", action="store_true", help="run two sizes and few rounds")
    parser.add_argument("--sizes", type=_sizes, default=(), help="use these lengths, such as 2^10,1e6, in every study")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="run on this device (default: auto, both)"
    )
    parser.add_argument(
        "--max-seconds", type=_seconds, default=5.0, help="skip calls that are estimated to take longer (default: 5)"
    )
    given = parser.parse_args(arguments)
    path = Path(given.output)
    request = Request(given.problems, given.sizes, given.device, given.quick, given.max_seconds)
    try:
        found = measure(path, request)
    except Refused as error:
        print(f"upsweep-report: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"upsweep-report: {error.filename}: {error.strerror}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print(f"upsweep-report: stopped; the measurements are in {path}.partial", file=sys.stderr)
        return 130
    print(summary(found, path))
    return 1 if found["failures"] or any(row["status"] == "failed" for row in found["rows"]) else 0


def _sizes(text: str) -> tuple[int, ...]:
    try:
        sizes = [2.0 ** float(word[2:]) if word.startswith("2^") else float(word) for word in text.split(",")]
    except (ValueError, OverflowError):
        sizes = []
    if not sizes or any(not 1 <= size <= 2**40 or size != int(size) for size in sizes):
        raise argparse.ArgumentTypeError(f"lengths such as 2^10,1e6 are needed, not '{text}'")
    return tuple(int(size) for size in sizes)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f"0 or more is needed, not '{text}'")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
