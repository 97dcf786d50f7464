# SPDX-License-Identifier: Apache-2.0
# upsweep/__main__.py: `python -m upsweep`: other libraries measured beside upsweep, and what was measured, as a page.
from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
import tempfile
from pathlib import Path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m upsweep", description="What the command upsweep leaves to Python.")
    commands = parser.add_subparsers(required=True)
    _add_bench_peers(commands.add_parser("bench-peers", help="other libraries of Python, verified and timed beside upsweep"))
    report = commands.add_parser(
        "report", help="one page of everything in these results; with those of an H200 and of 32 threads where they have no GPU"
    )
    report.add_argument("results", nargs="+", metavar="RESULTS.json")
    report.add_argument("-o", "--output", default="report.html", metavar="REPORT.html")
    report.set_defaults(run=_report)
    given = parser.parse_args(arguments)
    return given.run(given)


def _add_bench_peers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="scan, reduce, segmented-reduce, … (default: all)")
    parser.add_argument("-o", "--output", required=True, metavar="PEERS.json")
    parser.add_argument("--quick", action="store_true", help="two sizes, and few rounds")
    parser.add_argument("--sizes", type=_sizes, default=(), help="these lengths, such as 2^10,1e6, instead of each study's own")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="where (default: auto, both)")
    parser.add_argument(
        "--max-seconds", type=_seconds, default=5.0, help="skip calls that are estimated to take longer (default: 5)"
    )
    parser.set_defaults(run=_bench_peers)


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


def _bench_peers(given: argparse.Namespace) -> int:
    from upsweep._peers.bench import Refused, Request, measure, summary

    path = Path(given.output)
    request = Request(given.problems, given.sizes, given.device, given.quick, given.max_seconds)
    try:
        found = measure(path, request)
    except Refused as error:
        print(f"upsweep: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"upsweep: {error.filename}: {error.strerror}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print(f"upsweep: stopped; what was measured is in {path}.partial", file=sys.stderr)
        return 130
    print(summary(found, path))
    return 1 if found["failures"] or any(row["status"] == "failed" for row in found["rows"]) else 0


def _report(given: argparse.Namespace) -> int:
    try:
        from upsweep import ladder
        from upsweep._report.page import page
        from upsweep._report.results import ResultsError, load, recorded

        results = [load(path) for path in given.results]
        if all(row.device == "cpu" for each in results for row in each.rows):
            results += recorded()
        html = page(results, list(ladder()))
        write_whole(Path(given.output), html)
    except ModuleNotFoundError as error:
        print(f"upsweep: the report is made with {error.name}: pip install 'upsweep[report]'", file=sys.stderr)
        return 2
    except ResultsError as error:
        print(f"upsweep: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"upsweep: {error.filename or given.output}: {error.strerror}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print(f"upsweep: stopped; {given.output} is as it was", file=sys.stderr)
        return 130
    print(f"{given.output}: {len(html) / 1e6:.1f} MB, open it in a browser")
    return 0


def write_whole(path: Path, html: str) -> None:
    """Under its name once it is whole, and with the rights of any file that is made there. Errors name `path`."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; the name of a file is needed", str(path))
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe
        path.write_text(html, encoding="utf-8")
        return
    target = path.resolve()  # a link stays one
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            try:
                file.write(html)
                file.flush()
                os.chmod(file.name, _rights(target))
                os.replace(file.name, target)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _rights(path: Path) -> int:
    """Those that a file has, or that a new one gets: a temporary file is its owner's alone."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


if __name__ == "__main__":
    sys.exit(main())
