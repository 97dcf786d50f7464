#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tools/report_picture.py: makes docs/report.png, which the README shows: the first screen of a report of an H200.
"""python3 tools/report_picture.py makes the report of what was recorded on an H200 and writes its picture with headless
Chromium. Below the first screen it shows a drawing. Run it with the Python of .venv after `make build`, if findings, the
page or the recorded results have changed. Look at the picture before you commit it."""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = ROOT / "python" / "report" / "upsweep_report" / "recorded"
SIZE = (1240, 1094)

# Moves the drawing to the first screen, at a step in its middle, and removes what follows.
SCRIPT = """
<style>html { overflow: hidden }</style>
<script>addEventListener("load", () => setTimeout(() => {
  const drawing = document.querySelector('.drawing[data-problem="scan"][data-rung="cuda.blelloch"]');
  const rung = drawing.closest("details.rung");
  for (const child of [...rung.children]) if (child.tagName !== "SUMMARY" && child !== drawing) child.remove();
  rung.open = true;
  const main = document.querySelector("main");
  main.replaceChildren(document.getElementById("here"), rung);
  const slider = drawing.querySelector("input");
  slider.value = 3;
  slider.dispatchEvent(new Event("input"));
}, 500));</script></body>"""


def of_the_gpu(path: pathlib.Path) -> dict:
    """Returns the results without those of the host's processor."""
    results = json.loads(gzip.decompress(path.read_bytes()))
    for field in ("rows", "groups"):
        results[field] = [each for each in results[field] if each["device"] != "cpu"]
    return results


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.html")
        files = []
        for path in sorted(RECORDED.glob("h200_*.json.gz")):
            files.append(pathlib.Path(folder, path.stem))
            files[-1].write_text(json.dumps(of_the_gpu(path)))
        subprocess.run([sys.executable, "-m", "upsweep_report", *files, "-o", report], check=True)
        report.write_text(report.read_text().replace("</body>", SCRIPT))
        picture = ROOT / "docs" / "report.png"
        browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        how = [f"--user-data-dir={folder}/chromium", "--virtual-time-budget=10000", f"--window-size={SIZE[0]},{SIZE[1]}"]
        subprocess.run([*browser, *how, f"--screenshot={picture}", report.as_uri()], check=True, stderr=subprocess.DEVNULL)
    Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)  # a third
    print(f"{picture.relative_to(ROOT)}: look at it before you commit it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
