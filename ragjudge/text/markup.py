"""The marks that make lines of Markdown and HTML what they are, as patterns over single lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]*(?:\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]|\Z)")
QUOTE = re.compile(r"(?:[ \t]{0,3}>(?![\d=])[ \t]?)+")
HEADING = re.compile(r"[ \t]{0,3}#{1,6}(?=[ \t]|$)")
LABEL = re.compile(r"[ \t]*(?:\*\*|__)?[^\W\d_a-z][^:.!?\n]{0,40}(?:\*\*|__)?:(?:\*\*|__)?[ \t]+\S")
REFERENCE = re.compile(r"[ \t]*\[\^?\w{1,20}\]:?[ \t]+\S")
ENDS_SENTENCE = re.compile(r"[.!?:。！？][\"'”’)\]*_]{0,4}$")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_BULLET = re.compile(r"[ \t]*(?:[-*+–·](?=[ \t]|$)|[•‣◦▪●])[ \t]*")
_NUMBER = re.compile(
    r"[ \t]*(?:(?P<value>\d{1,3}|[a-z]|[ivx]{2,4})(?P<mark>[.)])(?=[ \t]|$)"
    r"|\((?P<inner>\d{1,3}|[a-z]|[ivx]{2,4})\)(?=[ \t]|$)"
    r"|(?P<glued>\d{1,2})[.)](?=[A-Z][a-z]))[ \t]*"
)
_SHORT_MARK = re.compile(r"\w{1,4}[.)]")
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_BOLD_LINE = re.compile(r"[ \t]*(\*\*|__)(?=\S)[^*_]{1,80}(?<=[^\s.!?。！？:,;])\1[ \t]*")
_SETEXT = "-*_="
_BLOCK_TAG = re.compile(
    r"</?(?P<name>p|div|br|hr|li|ul|ol|tr|table|thead|tbody|h[1-6]|blockquote|section|article|details|summary|"
    r"dl|dt|dd|main|header|footer|figure|figcaption|center|body|html)(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_ENTITY_SPACE = re.compile("&(?:nbsp|ensp|emsp|thinsp|#160);")


def opening_fence(line: str) -> str:
    """Return the run of backticks or tildes that opens a code block, empty when the line opens none."""
    match = _FENCE.match(line)
    if match is None or (match[1][0] == "`" and "`" in line[match.end() :]):
        return ""
    return match[1]


def is_separator(line: str) -> bool:
    """Tell whether a line is the rule below a table's header."""
    return "|" in line and "-" in line and not line.strip("|-: \t")


def is_bold_line(line: str) -> bool:
    """Tell whether a whole line is bold and no sentence: a heading by other means."""
    return _BOLD_LINE.fullmatch(line) is not None and len(line.split()) <= 8


def rule_mark(line: str) -> str:
    """Return the sign a rule or an underline consists of, empty when the line is neither."""
    marks = "".join(line.split())
    return marks[0] if len(marks) >= 3 and marks[0] in _SETEXT and not marks.strip(marks[0]) else ""


def item_mark(line: str, last_line: str | None) -> int:
    """Return the length of the list mark in front of a line, 0 when there is none.

    Args:
        line: The line.
        last_line: The line before it when that is running prose, which a wrapped line may go on.
    """
    if match := _BULLET.match(line):
        # A wrapped line may begin with a dash or a plus sign.
        if last_line is not None and line.lstrip()[0] in "+–·":
            return 0
    elif match := _NUMBER.match(line):
        value = match["value"] or match["inner"] or match["glued"]
        # A wrapped line may begin with the figure that ends its sentence.
        if last_line is not None and value not in {"1", "a", "i"} and not last_line.endswith(":"):
            return 0
    if match is None:
        return 0
    task = _TASK.match(line, match.end())
    return task.end() if task else match.end()


def is_plain(line: str) -> bool:
    """Tell quickly that a line begins with a word and bears no mark of Markdown or HTML."""
    return line[:1].isalpha() and "|" not in line and "<" not in line and not _SHORT_MARK.match(line)


def item_number(line: str) -> int:
    """Return the figure of the list mark in front of a line, 0 when there is none."""
    match = _NUMBER.match(line)
    figure = match and (match["value"] or match["inner"] or match["glued"])
    return int(figure) if figure and figure.isdecimal() else 0


def indent_of(line: str) -> int:
    """Return how far a line is indented, in columns."""
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def blanked(text: str) -> str:
    """Return a text of the same length with HTML comments and entities of space as spaces."""
    if "&" in text:
        text = _ENTITY_SPACE.sub(lambda match: " " * len(match.group()), text)
    parts: list[str] = []
    done = 0
    while (at := text.find("<!--", done)) >= 0 and (end := text.find("-->", at + 4)) >= 0:
        # Lines stay lines: a comment in a paragraph does not tear it apart.
        parts += (text[done:at], re.sub(r"[^\n\r]", " ", text[at : end + 3]))
        done = end + 3
    return "".join(parts) + text[done:] if parts else text


def tagged_parts(line: str) -> Iterator[tuple[str, int, int]]:
    """Cut a line at the HTML tags that begin or end a block.

    Yields:
        The name of the tag in front of the part (empty for the first), and where the part begins and ends.
    """
    name, done = "", 0
    for match in _BLOCK_TAG.finditer(line):
        yield name, done, match.start()
        name = "" if match.group()[1] == "/" else match["name"].lower()
        done = match.end()
    yield name, done, len(line)
