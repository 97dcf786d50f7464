# SPDX-License-Identifier: Apache-2.0
# upsweep_report/__main__.py: `python -m upsweep_report RESULTS.json…`: writes the results of measurements as a page.
from __future__ import annotations

import argparse
import errno
import os
import stat
import sys
import tempfile
from pathlib import Path

from upsweep import ladder

from .findings import boards, introduction
from .page import page
from .results import ResultsError, load, recorded


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m upsweep_report",
        description="Write one page with all of these results. If they have no GPU, results of an H200 and of 32 threads are added.",
    )
    parser.add_argument("results", nargs="+", metavar="RESULTS.json")
    parser.add_argument("-o", "--output", default="report.html", metavar="REPORT.html")
    given = parser.parse_args(arguments)
    try:
        results = [load(path) for path in given.results]
        if all(row.device == "cpu" for each in results for row in each.rows):
            results += recorded()
        ladders = list(ladder())
        html = page(results, ladders)
        write_whole(Path(given.output), html)
    except ModuleNotFoundError as error:
        print(
            f"upsweep-report: pages need {error.name}, which is not installed: pip install {error.name}",
            file=sys.stderr,
        )
        return 2
    except ResultsError as error:
        print(f"upsweep-report: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"upsweep-report: {error.filename or given.output}: {error.strerror}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print(f"upsweep-report: stopped; {given.output} is unchanged", file=sys.stderr)
        return 130
    for sentence in introduction(results, boards(results, ladders)):
        print(sentence)
    print(f"{given.output}: {len(html) / 1e6:.1f} MB, open it in a browser")
    return 0


def write_whole(path: Path, html: str) -> None:
    """Writes a file that gets its name only when it is complete, with the permissions of a regular new file. Errors name `path`."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; the name of a file is needed", str(path))
    if path.exists() and not path.is_file():  # /dev/stdout, a pipe
        path.write_text(html, encoding="utf-8")
        return
    target = path.resolve()  # a link is kept
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
    """The permissions of the file, or of a new one: a temporary file is readable only by its owner."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


if __name__ == "__main__":
    sys.exit(main())
