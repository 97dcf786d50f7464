# SPDX-License-Identifier: Apache-2.0
# tools/docs_check.py: checks HTML: links of the guide, no loads from the network, a complete reference, outputs of
# notebooks.
"""Sphinx reports wrong links in Markdown. This program reads the generated pages, including what the theme adds."""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import upsweep
import upsweep.awkward
import upsweep.dask


class Page(HTMLParser):
    """The links of a page, and the anchors that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a":
            self.links.add(values.get("href", "#"))
        else:
            self.loaded.update(values[name] for name in ("href", "src") if name in values)


def what_is_wrong(pages: dict[Path, Page], page: Path, link: str) -> str | None:
    url = urlsplit(link)
    if url.netloc or url.scheme:
        return "is loaded from the network" if link in pages[page].loaded and url.scheme != "data" else None
    target = (page.parent / unquote(url.path)).resolve() if url.path else page
    if not target.is_file():
        return "is not a file"
    if url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors:
        return "is not an anchor on its page"
    return None


def bad_links(pages: dict[Path, Page], root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}: {link} {wrong}"
        for path, page in pages.items()
        for link in sorted(page.links | page.loaded)
        if (wrong := what_is_wrong(pages, path, link))
    ]


def left_out(pages: dict[Path, Page]) -> list[str]:
    """Headers and functions that are missing in the reference."""
    sources = "".join(path.read_text(encoding="utf-8") for path in Path("docs/api").glob("*.md"))
    headers = [path.name for path in Path("include/upsweep").glob("*.*") if f"include/upsweep/{path.name}\n" not in sources]
    anchors = set().union(*(page.anchors for page in pages.values()))
    names = [f"{module.__name__}.{name}" for module in (upsweep, upsweep.awkward, upsweep.dask) for name in module.__all__ if name[0] != "_"]
    return [f"docs/api has no {name}" for name in sorted(headers) + [name for name in names if name not in anchors]]


def without_outputs(root: Path) -> list[str]:
    """Notebooks whose pages do not show all texts, tables and images that the notebooks store."""
    wrong = []
    for path in Path("docs").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        stored = sum(len(cell.get("outputs", [])) for cell in cells)
        page = (root / path.with_suffix(".html")).read_text(encoding="utf-8")
        shown = page.count('<div class="output ') + page.count("<img ")
        if shown != stored or not stored:
            wrong.append(f"{path} stores {stored} outputs, its page shows {shown}")
    return wrong


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    problems = bad_links(pages, root) + left_out(pages) + without_outputs(root)
    for problem in problems:
        print(f"docs: {problem}", file=sys.stderr)
    links = sum(len(page.links | page.loaded) for page in pages.values())
    print(f"docs: {len(pages)} pages, {links} links, {len(problems)} problems")
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
