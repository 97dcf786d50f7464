# SPDX-License-Identifier: Apache-2.0
# python/report/cards.py: extracts the cards of all rungs and excerpts of their code from src, as JSON for the report.
"""Run by the build with the arguments SRC OUT.json."""

import json
import re
import sys
from pathlib import Path

PARAGRAPHS = ("Idea", "Cost", "Needs", "Limit", "From")
MOST_LINES = 70


def card_of(text: str, rung: str) -> dict[str, str]:
    """The paragraphs of the comment that begins with the rung's name, or otherwise of the comment at the head of its file."""
    lines = text.splitlines()
    own = (i for i, line in enumerate(lines) if line.startswith(f"// {rung}: "))
    card: dict[str, str] = {}
    current = None
    for line in lines[next(own, 2) :]:
        if not line.startswith("//"):
            break
        words = line[2:].strip()
        first, _, rest = words.partition(" ")
        if first in PARAGRAPHS and line.startswith(f"// {first} "):
            current = first
            card[current] = rest.strip()
        elif current and words:
            card[current] += f" {words}"
    return card


def excerpt_of(text: str) -> str:
    """The code between the headers and the rung's definition."""
    lines = [line for line in text.splitlines() if "// [guide: " not in line]  # markers of the guide's excerpts
    begin = max((i for i, line in enumerate(lines) if line.startswith("#include")), default=0) + 1
    end = next((i for i, line in enumerate(lines) if re.match(r"extern const(expr)? Rung \w+ ?[{=]", line)), len(lines))
    kept = [line for line in lines[begin:end] if not re.match(r"(namespace|}  // namespace|#if UPSWEEP_HAS_CUDA|#endif)", line)]
    code = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")
    shown = code.splitlines()
    return "\n".join([*shown[:MOST_LINES], "…"] if len(shown) > MOST_LINES else shown)


def main() -> None:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    cards: dict[str, dict[str, dict[str, str]]] = {}
    for path in sorted(source.glob("problems/**/c*_*.c*")):
        if path.suffix not in (".cpp", ".cu"):
            continue
        text = path.read_text(encoding="utf-8")
        for backend, idea in re.findall(r"^extern const(?:expr)? Rung (cpu|cuda)_(\w+)[{ ]", text, re.MULTILINE):
            rung = f"{backend}.{idea}"
            card = card_of(text, rung)
            missing = [paragraph for paragraph in PARAGRAPHS if not card.get(paragraph)]
            if missing:
                sys.exit(
                    f"{path}: the card of {rung} lacks {', '.join(missing)}; a card is a comment that begins with the rung's name, or the file's own"
                )
            cards.setdefault(path.parent.name.replace("_", "-"), {})[rung] = {
                **card,
                "file": f"src/{path.relative_to(source)}",
                "code": excerpt_of(text),
            }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(cards, ensure_ascii=False, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main()
