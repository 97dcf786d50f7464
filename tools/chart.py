# SPDX-License-Identifier: Apache-2.0
# tools/chart.py: draws docs/h200.svg, the README's chart, from the measured ladders in bench/results/.
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
# Title, file, type, length, input.
PANELS = [
    ("inclusive sums of 2^28 int32", "h200-scan.json", "int32", 2**28, None),
    ("inclusive sums of 2^28 float64", "h200-scan.json", "float64", 2**28, None),
    ("offsets of 10^8 lists, int64 bounds", "h200-ragged.json", "int64", 10**8, None),
    ("sum of 2^28 float32", "h200-reduce.json", "float32", 2**28, None),
]
WIDTH, LABELS, BAR, ROW, TITLE = 760, 200, 420, 18, 34
STYLE = """
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #57606a }
  .title { font-weight: 600 }
  .step { fill: #8c959f } .library { fill: #d4a72c } .api { fill: #1f883d }
  .limit { stroke: #cf222e; stroke-dasharray: 3 3 }
"""


def rows_of(name, type_name, n, source):
    rows = json.loads((RESULTS / name).read_text())["rows"]
    rows = [row for row in rows if (row["type"], row["n"], row["input"]) == (type_name, n, source)]
    return [row for row in rows if row["status"] == "verified"]


def panel(title, rows, top):
    """The panel's SVG and its height. A bar of full length moves data at the rate of a copy."""
    api = max(rows, key=lambda row: (row["kind"] == "step", row["gbps"]))
    parts = [f'<text class="title" x="0" y="{top + 14}">{title}</text>']
    y = top + TITLE - 10
    for row in rows:
        kind = "api" if row is api else row["kind"]
        length = min(row["fraction_of_copy"], 1.15) * BAR
        parts.append(f'<text x="{LABELS - 8}" y="{y + 13}" text-anchor="end">{row["rung"]}</text>')
        parts.append(f'<rect class="{kind}" x="{LABELS}" y="{y + 2}" width="{length:.1f}" height="{ROW - 5}"/>')
        text = f'{row["median_s"] * 1e3:.3g} ms  {row["fraction_of_copy"]:.2f}'
        end = max(length, BAR) if length > 0.7 * BAR else length  # not across the limit's line
        parts.append(f'<text x="{LABELS + end + 6:.1f}" y="{y + 13}">{text}</text>')
        y += ROW
    limit = LABELS + BAR
    parts.append(f'<line class="limit" x1="{limit}" x2="{limit}" y1="{top + TITLE - 10}" y2="{y}"/>')
    return "\n".join(parts), y - top + 14


def main():
    body, top = [], 0
    for title, *source in PANELS:
        svg, height = panel(title, rows_of(*source), top)
        body.append(svg)
        top += height
    legend = "bars: fraction of the rate of a copy (red line); green: what the API runs; yellow: libraries"
    body.append(f'<text x="0" y="{top + 12}">{legend}</text>')
    chart = "\n".join(body)
    (ROOT / "docs" / "h200.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + 20}" role="img" '
        f'aria-label="rungs on an H200, measured">\n<style>{STYLE}</style>\n{chart}\n</svg>\n'
    )


if __name__ == "__main__":
    main()
