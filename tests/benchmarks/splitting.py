"""Boundaries and speed of the splitter beside others: ``python -m tests.benchmarks.splitting [--speed MB]``.

A boundary is the place between two pieces. Cutters that know no Markdown leave marks in their pieces, so a
boundary is told by the first character behind it that is neither white space nor a mark of markup.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ragjudge.text.languages import language_code
from ragjudge.text.punkt import parameters
from ragjudge.text.sentences import sentences
from tests.text.golden import Case, cases

_BEFORE_PIECE = re.compile(r"[\s>#*+|`~=•–_\-\ufeff\u200b-\u200f]*")
_REGEX_CUT = re.compile(r"(?<=[.!?])\s+")
Cutter = Callable[[Case], Iterable[tuple[int, int]]]


class Score(NamedTuple):
    """Boundaries counted over some cases."""

    hits: int
    found: int
    wanted: int

    def __add__(self, other: object) -> Score:
        if not isinstance(other, Score):
            return NotImplemented
        return Score(self.hits + other.hits, self.found + other.found, self.wanted + other.wanted)

    @property
    def precision(self) -> float:
        """Right boundaries / boundaries found; 1 when none was found."""
        return self.hits / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Right boundaries / boundaries wanted; 1 when none was wanted."""
        return self.hits / self.wanted if self.wanted else 1.0

    @property
    def f1(self) -> float:
        """2 hits / (found + wanted); 1 when both are empty."""
        return 2 * self.hits / (self.found + self.wanted) if self.found + self.wanted else 1.0


def boundaries(text: str, spans: Iterable[tuple[int, int]]) -> set[int]:
    """Return where pieces begin behind another one."""
    ends = {_behind_markup(text, end) for _, end in spans}
    return ends - {len(text)}


def _behind_markup(text: str, at: int) -> int:
    match = _BEFORE_PIECE.match(text, at)
    return match.end() if match else at


def expected(case: Case) -> list[tuple[int, int]]:
    """Return the offsets of a case's pieces."""
    spans, done = [], 0
    for piece in case.pieces:
        start = case.text.index(piece, done)
        done = start + len(piece)
        spans.append((start, done))
    return spans


def score(case: Case, cutter: Cutter) -> Score:
    """Count a case's boundaries."""
    wanted = boundaries(case.text, expected(case))
    found = boundaries(case.text, cutter(case))
    return Score(len(wanted & found), len(found), len(wanted))


def ours(case: Case) -> Iterator[tuple[int, int]]:
    """Cut with the package's own splitter."""
    return ((span.start, span.end) for span in sentences(case.text, case.language, case.abbreviations))


def punkt(case: Case) -> Iterator[tuple[int, int]]:
    """Cut with NLTK's Punkt and the parameters of the language."""
    return iter(_punkt(case.language).span_tokenize(case.text))


_MODELS: dict[str, Any] = {}


def _punkt(language: str) -> Any:
    if language not in _MODELS:
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

        own: Any = PunktParameters()
        given = parameters(language)
        own.abbrev_types, own.sent_starters = set(given.abbreviations), set(given.starters)
        own.collocations = set(given.collocations)
        own.ortho_context.update(given.ortho)
        _MODELS[language] = PunktSentenceTokenizer(own)
    return _MODELS[language]


def regex(case: Case) -> Iterator[tuple[int, int]]:
    """Cut at white space behind a mark."""
    start = 0
    for match in _REGEX_CUT.finditer(case.text):
        yield start, match.start()
        start = match.end()
    yield start, len(case.text.rstrip())


def pysbd_cutter() -> Cutter | None:
    """Return pysbd's cutter, None when it is not installed; English where it lacks the language."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pysbd: Any = importlib.import_module("pysbd")
            known: Any = importlib.import_module("pysbd.languages").LANGUAGE_CODES
    except ImportError:
        return None
    segmenters: dict[str, Any] = {}

    def cut(case: Case) -> Iterator[tuple[int, int]]:
        code = language_code(case.language)
        code = code if code in known else "en"
        if code not in segmenters:
            segmenters[code] = pysbd.Segmenter(language=code, clean=False, char_span=True)
        for span in segmenters[code].segment(case.text):
            yield span.start, span.start + len(span.sent.rstrip())

    return cut


def measured(cutters: dict[str, Cutter]) -> dict[str, dict[str, Score]]:
    """Return the score of each cutter in each group, the last one being over all."""
    table: dict[str, dict[str, Score]] = {}
    for case in cases():
        for group in (case.group, "all"):
            row = table.setdefault(group, {name: Score(0, 0, 0) for name in cutters})
            for name, cutter in cutters.items():
                row[name] += score(case, cutter)
    table["all"] = table.pop("all")
    return table


def prose(size: int) -> str:
    """Return about ``size`` characters of the golden set's English prose, in paragraphs."""
    lines = [case.text for case in cases() if case.language == "english" and "\n" not in case.text]
    paragraph = "\n\n".join(" ".join(lines[at : at + 6]) for at in range(0, len(lines), 6))
    return (paragraph + "\n\n") * (size // (len(paragraph) + 2) + 1)


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Return the processor time of the shortest of a few runs, which a busy machine does not stretch."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return best


def main(arguments: Sequence[str]) -> None:
    """Print the table of boundaries and the speeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--speed", type=int, default=10, help="megabytes of prose for the longest speed run")
    longest = parser.parse_args(arguments).speed
    cutters: dict[str, Cutter] = {"ragjudge": ours, "Punkt": punkt, "regex": regex}
    if (peer := pysbd_cutter()) is not None:
        cutters["pysbd"] = peer
    table = measured(cutters)
    sizes: dict[str, int] = {}
    for case in cases():
        sizes[case.group] = sizes.get(case.group, 0) + 1
    print(f"| group | cases | {' | '.join(f'{name} P / R / F1' for name in cutters)} |")
    print(f"|---|--:|{'---|' * len(cutters)}")
    for group, row in table.items():
        shown = " | ".join(f"{s.precision:.3f} / {s.recall:.3f} / {s.f1:.3f}" for s in row.values())
        print(f"| {group.replace('_', ' ')} | {sizes.get(group, sum(sizes.values()))} | {shown} |")
    print()
    # Punkt is measured on 1 MB only: recent NLTK releases give up on a text that takes some seconds.
    text = prose(1_000_000)[:1_000_000]
    mine, plain = seconds(_cutting(text)), seconds(_punkt_cutting(text))
    print(f"1 MB: ragjudge {1 / mine:.2f} MB/s, Punkt {1 / plain:.2f} MB/s, ratio {plain / mine:.2f}")
    long = seconds(_cutting(prose(longest * 1_000_000)[: longest * 1_000_000]), 1)
    print(
        f"{longest} MB: ragjudge {longest / long:.2f} MB/s, {long / mine / longest:.2f} times the time per MB"
    )


def _cutting(text: str) -> Callable[[], object]:
    return lambda: sentences(text)


def _punkt_cutting(text: str) -> Callable[[], object]:
    return lambda: list(_punkt("english").span_tokenize(text))


if __name__ == "__main__":
    main(sys.argv[1:])
