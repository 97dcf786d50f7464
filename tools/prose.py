#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tools/prose.py: counts what makes our text hard to read, and checks that no folder has more of it than
# tools/prose_counts.json allows.
"""Lints the prose of the repository: Markdown, comments, docstrings, help texts and messages.

python3 tools/prose.py            checks every folder against tools/prose_counts.json
python3 tools/prose.py PATH ...   prints each finding in these files or folders as `file:line: what`
python3 tools/prose.py --table    prints the statistics of every folder
python3 tools/prose.py --update   lowers the counts of tools/prose_counts.json to today's; a count above the goal never rises

For each folder the file has four numbers: the mean number of words in a sentence, the percentage of sentences with more than 25
words, the number of phrases on the ban list, and the number of comment lines with more than 120 columns.
"""

import ast
import collections
import dataclasses
import io
import json
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTS = ROOT / "tools" / "prose_counts.json"
LONG = 25  # words
COLUMNS = 120
GOAL = {"mean": 18, "long_percent": 5, "banned": 0, "wide": 0}  # for each folder; below it, a count may also rise
C_LIKE = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
HASH = {".sh", ".cmake", ".toml", ".yml"}
NOT_OURS = re.compile(
    r"^(bench/results/|docs/results/|tests/fuzz/corpus/|tests/cli/recorded/|LICENSE|python/report/.*\.(json|csv)$)"
)

# A phrase that is hard to read, and what to write instead. `\b` is added on both sides.
PHRASES = {
    r"(so|as) (many|much)": "name the number: 'the first N elements', 'the number of rows'",
    r"comes? to|came to": "use the verb: is, produces, needs",
    r"goes on|go on": "continues, resumes",
    r"(?<!here )(is|are|was) no(?! longer| more| different| faster| slower)": "'is not a', 'must be'",
    r"(?<!nothing )(?<!anything )(?<!something )(?<!everything )(?<!everyone )(?<!someone )(?<!nobody )(?<!who )(?<!what )else(?! if)": "otherwise",
    r"of (one's|your|their|its|our) own": "custom, separate, its",
    r"too(?=[.,;:)])": "'also' before the verb",
    r"alone(?=[.,;:)])": "'only' before the word that it limits",
    r"beside": "compared with; next to",
    r"abreast": "one list per SIMD lane",
    r"loose rows": "unaggregated rows",
    r"at hand": "available; cached",
    r"crews?|seats?|patience": "worker group, worker id, spin limit",
    r"(wraps?|wrapped) around": "wraps (modulo 2^bits)",
    r"first cache|second cache": "L1, L2",
    r"lines? of names": "header row",
    r"one list of everything": "a single long list",
    r"(the|a|its|their|is|are) least(?! squares)|greatest": "minimum, maximum, smallest",
    r"lies|lie": "is, is stored",
    r"stands?(?! for)": "is",
    r"knows": "has, stores, determines",
    r"(?<!third )(?<!comma )(strips?|pieces?|stretch(es)?|packets?)": "tile, block, chunk, batch, partition, shard or work unit",
    r"(colour|behaviour|neighbour|honour|favour|flavour|centre|grey|licence|catalogue|artefact|whilst)\w*": "American spelling",
    r"(optimi|initiali|seriali|normali|vectori|paralleli|synchroni|recogni|organi|summari|generali|minimi|maximi|utili|materiali|speciali)s(e|ed|es|ing|ation|ations)": "American spelling: -ize",
    r"(cancell|labell|modell|travell)(ed|ing)": "American spelling: one l",
}
# How a sentence must not begin.
STARTS = {
    r"Of (?!course)": "begin with the thing that the sentence is about",
    r"What ": "begin with the thing that the sentence is about",
    r"(Those|Such) (that|as|which) ": "begin with the thing that the sentence is about",
    r"None,? ": "begin with the thing that the sentence is about",
    r"The same (?!\w+)": "say the same what",
    r"(\w+ed|Known|Taken|Made|Written|Kept|Built|Held|Done|Shown|Drawn|Chosen|Meant|Lost|Sent|Seen) "
    r"(is|are|was|were|by|in|from|to|at|on|for|with|as|only)\b": "begin with the subject, not with a participle",
}
BANNED = [(re.compile(rf"\b(?:{phrase})(?!\w)", re.IGNORECASE), advice) for phrase, advice in PHRASES.items()]
BAD_STARTS = [(re.compile(start), advice) for start, advice in STARTS.items()]
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|Fig|Sec|No|approx|al|Dr|ca)\.$")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9`(\[\"'*_$<-]|upsweep )")


@dataclasses.dataclass
class Text:
    """A paragraph, a list item, a comment, a docstring's paragraph or a string."""

    line: int
    words: str
    is_prose: bool = True  # its sentences are counted; otherwise only the ban list applies


@dataclasses.dataclass
class Counts:
    sentences: int = 0
    words: int = 0
    long: int = 0
    banned: int = 0
    wide: int = 0

    def add(self, other: "Counts") -> None:
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    def numbers(self) -> dict[str, float]:
        """The four numbers that tools/prose_counts.json keeps."""
        sentences = max(self.sentences, 1)
        return {
            "mean": round(self.words / sentences, 1),
            "long_percent": round(100 * self.long / sentences, 1),
            "banned": self.banned,
            "wide": self.wide,
        }


# ---- from a file to its texts


def paragraphs(lines: list[tuple[int, str]]) -> list[Text]:
    """The paragraphs and list items of lines that contain prose, as (line number, text)."""
    texts: list[Text] = []
    current: list[str] = []
    start = 0
    fence = False

    def end() -> None:
        nonlocal current
        if current:
            texts.append(Text(start, " ".join(current)))
        current = []

    for number, raw in lines:
        line = raw.strip()
        if re.match(r"(```|~~~)", line) or re.match(r"[@\\](end)?(code|verbatim|dot)", line):
            fence = not fence
            end()
            continue
        if fence:
            continue
        if not line or re.fullmatch(r"[-=~^*#/ ]+", line) or re.match(r"(:::|SPDX|NOLINT|clang-format|shellcheck|\.\. )", line):
            end()
            continue
        if line.startswith("|"):
            end()
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            texts += [Text(number, cell, False) for cell in cells if re.search(r"[a-z]{2}", cell)]
            continue
        if line.startswith("#"):
            end()
            texts.append(Text(number, line.lstrip("# "), False))
            continue
        if re.match(r"[\w*., ]+ : \S", line):  # `name : type` of a NumPy docstring
            end()
            texts.append(Text(number, line, False))
            continue
        item = re.match(r"([-*+]|\d+[.)]) +", line)
        tag = re.match(r"[@\\](brief|param(\[\w+\])?|tparam|return|returns|throws|note|pre|post|details|ingroup|file)\s*", line)
        card = re.match(r"[A-Z][a-z]+( [a-z]+)?(:( |$)|  +)|-{3,} *", line)  # `Idea   text`, `---- text`
        if item or tag or card:
            end()
            line = line[(item or tag or card).end() :]
        if not line:
            continue
        if not current:
            start = number
        current.append(line)
    end()
    return texts


def of_markdown(source: str) -> tuple[list[Text], int]:
    source = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), source, flags=re.DOTALL)
    return paragraphs(list(enumerate(source.splitlines(), 1))), 0


C_TOKEN = re.compile(
    r"(?<=[0-9A-Fa-f])'(?=[0-9A-Fa-f])|"  # separates digits
    r'//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?P<string>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL,
)


def of_c(source: str) -> tuple[list[Text], int]:
    texts: list[Text] = []
    comment: list[tuple[int, str]] = []
    strings: list[str] = []
    string_line = string_end = 0
    previous = -2
    own_line = False

    def end_comment() -> None:
        nonlocal comment
        texts.extend(paragraphs(comment))
        comment = []

    def end_strings() -> None:
        nonlocal strings
        if strings and len(re.findall(r"[A-Za-z]{2,}", "".join(strings))) > 2:
            texts.append(Text(string_line, "".join(strings), False))
        strings = []

    for token in C_TOKEN.finditer(source):
        number = source.count("\n", 0, token.start()) + 1
        before = source[source.rfind("\n", 0, token.start()) + 1 : token.start()]
        if token["line"] is not None or token["block"] is not None:
            end_strings()
            text = token["line"] if token["line"] is not None else token["block"]
            alone = not before.strip()
            if not alone or number != previous + 1 or not own_line or token["block"] is not None:
                end_comment()
            own_line, previous = alone, number
            if token["block"] is not None:
                comment += [(number + i, re.sub(r"^\s*\*+ ?", "", line)) for i, line in enumerate(text.split("\n"))]
                end_comment()
                continue
            text = re.sub(r"^[/!]?<? ?", "", text)
            if number == 2 or number == 3:  # `path: sentence`
                text = re.sub(r"^\S+\.\w+: ", "", text)
            comment.append((number, text))
        elif token["string"] is not None and not before.lstrip().startswith("#"):
            end_comment()
            if strings and source[string_end : token.start()].strip():
                end_strings()
            if not strings:
                string_line = number
            strings.append(token["string"])
            string_end = token.end()
    end_comment()
    end_strings()
    wide = sum(1 for line in source.splitlines() if len(line) > COLUMNS and re.search(r"//|^ ?\*|^\s+\*", line))
    return texts, wide


def of_hash(source: str) -> tuple[list[Text], int]:
    lines: list[tuple[int, str]] = []
    texts: list[Text] = []
    wide = 0
    for number, line in enumerate(source.splitlines(), 1):
        comment = re.match(r"\s*#+(?!!) ?(.*)", line)
        if comment:
            wide += len(line) > COLUMNS
            text = re.sub(r"^\S+: ", "", comment[1]) if number in (2, 3) else comment[1]
            lines.append((number, text))
        elif lines:
            texts += paragraphs(lines)
            lines = []
        trailing = re.match(r"[^#\"']*\s#+ (.*)", line) if not comment else None
        if trailing:
            texts += paragraphs([(number, trailing[1])])
    return texts + paragraphs(lines), wide


def of_python(source: str) -> tuple[list[Text], int]:
    texts: list[Text] = []
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                docstrings.add(first.value.lineno)
                lines = first.value.value.splitlines()
                base = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
                # An indented block in a docstring is code, but not under an entry of a numpydoc section.
                texts += paragraphs(
                    [
                        (first.value.lineno + i, "" if line.lstrip().startswith((">>>", "...")) else line[base if i else 0 :])
                        for i, line in enumerate(lines)
                    ]
                )
    for node in ast.walk(ast.parse(source)):
        is_string = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.lineno not in docstrings
        if is_string and " " in node.value and len(re.findall(r"[A-Za-z]{2,}", node.value)) > 2:
            texts.append(Text(node.lineno, node.value, False))
    comment: list[tuple[int, str]] = []
    wide = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        wide += len(token.line.rstrip()) > COLUMNS
        text = token.string.lstrip("#! ")
        if token.start[0] in (2, 3):
            text = re.sub(r"^\S+: ", "", text)
        if comment and token.start[0] != comment[-1][0] + 1:
            texts += paragraphs(comment)
            comment = []
        comment.append((token.start[0], text))
    return texts + paragraphs(comment), wide


def texts_of(path: pathlib.Path) -> tuple[list[Text], int]:
    source = path.read_text()
    if path.suffix == ".md":
        return of_markdown(source)
    if path.suffix in C_LIKE:
        return of_c(source)
    if path.suffix == ".py":
        return of_python(source)
    return of_hash(source)


# ---- from texts to findings


def plain(text: str) -> str:
    """Without code, quotations and the addresses of links."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\{\w+\}`[^`]*`|``[^`]*``|`[^`]*`", "`x`", text)
    return re.sub(r"[*_]{1,2}(\S[^*_]*)[*_]{1,2}", r"\1", text)


def unquoted(text: str) -> str:
    return re.sub(r"\"[^\"]*\"|“[^”]*”", '"x"', text)


def sentences_of(text: str) -> list[str]:
    found: list[str] = []
    for sentence in SENTENCE_END.split(plain(text)):
        if found and ABBREVIATION.search(found[-1]):
            found[-1] += " " + sentence
        else:
            found.append(sentence)
    return found


def check(path: pathlib.Path) -> tuple[Counts, list[str]]:
    """The counts of a file, and each finding as `file:line: what`."""
    name = path.relative_to(ROOT).as_posix()
    texts, wide = texts_of(path)
    counts = Counts(wide=wide)
    findings: list[str] = []
    for text in texts:
        for sentence in sentences_of(text.words):
            words = sum(1 for word in sentence.split() if re.search(r"\w", word))
            if text.is_prose and words > 2:
                counts.sentences += 1
                counts.words += words
                if words > LONG:
                    counts.long += 1
                    findings.append(f"{name}:{text.line}: {words} words: {sentence[:90]}")
            for start, advice in BAD_STARTS:
                if words > 2 and start.match(sentence) and not sentence.rstrip().endswith("?"):
                    counts.banned += 1
                    findings.append(f"{name}:{text.line}: '{sentence[:40]}': {advice}")
            for phrase, advice in BANNED:
                for match in phrase.finditer(unquoted(sentence)):
                    if match[0].isupper():  # SQL
                        continue
                    counts.banned += 1
                    findings.append(f"{name}:{text.line}: '{match[0]}': {advice}")
    if wide:
        findings.append(f"{name}:1: {wide} comment lines of more than {COLUMNS} columns")
    return counts, findings


def files(paths: list[str]) -> list[pathlib.Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *paths],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    kept = [
        ROOT / name
        for name in sorted(set(listed))
        if not NOT_OURS.match(name)
        and (
            pathlib.Path(name).suffix in C_LIKE | HASH | {".md", ".py"}
            or name.endswith(("CMakeLists.txt", "Makefile", ".ci/run"))
        )
    ]
    return [path for path in kept if path.is_file()]


def folder_of(path: pathlib.Path) -> str:
    """The folder that a file counts for: its first two levels."""
    return "/".join(path.relative_to(ROOT).parts[:-1][:2]) or "."


def by_folder() -> dict[str, Counts]:
    folders: dict[str, Counts] = collections.defaultdict(Counts)
    for path in files([]):
        folders[folder_of(path)].add(check(path)[0])
    return dict(sorted(folders.items()))


def main(arguments: list[str]) -> int:
    if arguments and not arguments[0].startswith("--"):
        found = files(arguments)
        if not found:
            sys.exit(f"prose: no file of text or code in {' '.join(arguments)}")
        for path in found:
            for finding in check(path)[1]:
                print(finding)
        return 0
    if arguments not in ([], ["--table"], ["--update"]):
        sys.exit("usage: prose.py [PATH... | --table | --update]")
    folders = by_folder()
    if arguments == ["--table"]:
        print(f"{'folder':<28} {'sentences':>9} {'mean':>6} {'>25 %':>6} {'banned':>7} {'wide':>6}")
        total = Counts()
        for counts in folders.values():
            total.add(counts)
        for folder, counts in [*folders.items(), ("all", total)]:
            numbers = counts.numbers()
            print(
                f"{folder:<28} {counts.sentences:>9} {numbers['mean']:>6} {numbers['long_percent']:>6} "
                f"{numbers['banned']:>7} {numbers['wide']:>6}"
            )
        return 0
    allowed = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    now = {folder: counts.numbers() for folder, counts in folders.items()}
    rose = [
        f"{folder}: {name} is {number}, more than {limit}; python3 tools/prose.py {folder} shows where"
        for folder, numbers in now.items()
        for name, number in numbers.items()
        if number > (limit := max(allowed.get(folder, GOAL)[name], GOAL[name]))
    ]
    if arguments == ["--update"]:
        lowered = {
            folder: {name: min(number, allowed.get(folder, numbers)[name]) for name, number in numbers.items()}
            for folder, numbers in now.items()
        }
        COUNTS.write_text(json.dumps(lowered, indent=1) + "\n")
    for line in rose:
        print(line, file=sys.stderr)
    return 1 if rose else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
