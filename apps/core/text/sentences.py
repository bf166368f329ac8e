"""Cut text where a sentence ends, and find what in it is not its writer's: quotations, code, blocks of clients. Pure.

All of this is linear in the text's length. One regular expression would look for the end of a quotation from each mark
that may open one, and for a text of nothing but such marks take quadratic time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# Start and end of a piece of a text.
Span = tuple[int, int]

_CLOSING_MARKS = "”’\"'」』）)】》"
_END = re.compile(
    rf"[。！？…]+[!?{_CLOSING_MARKS}]*[^\S\n]*"
    rf"|(?<![!?])[!?]++[{_CLOSING_MARKS}]*+(?:[^\S\n]+|(?=\n|$|[\u3400-\u9fff]))"
    rf"|(?<!\.)(?P<stop>\.++)[{_CLOSING_MARKS}]*+(?:[^\S\n]+|(?=\n|$))"
    r"|\n\s*"
)
_CLAUSE_END = re.compile(r"[，；、：]|[,;:](?=\s)|(?<=\s)[-–—]+(?=\s)")
_LAST_WORD = re.compile(r"[^\s(（]*$")
_ABBREVIATION = re.compile(
    r"(?:.*[\u3400-\u9fff](?=[A-Za-z]{2}))?"
    r"(?:[A-Za-z]|[A-Za-z](?:\.[A-Za-z])+|Mrs?|Ms|Dr|Prof|Nos?|Art|Arts|Sec|Secs|Abs|Nr|vs|ca|cf|al|approx|Inc|Ltd|Co|Corp"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|St|Ch|Fig|Eq|pp|para|paras|Supp|Ct|Ed|Reg|Regs|Rev|Stat)"
)
_LONGEST_ABBREVIATION = 12


def split_sentences(text: str, *, keep: Sequence[Span] = ()) -> list[str]:
    """The sentences of `text`, each with the blanks after it: joined they are `text` again.

    A line ends a sentence. Nothing inside one of the spans `keep` (in order, none over another) does, nor a full stop
    after an abbreviation.
    """
    stops = [stop for _start, stop in keep]
    sentences: list[str] = []
    begin = 0
    for end in _ends(text):
        next_kept = bisect_right(stops, end)
        inside = next_kept < len(keep) and keep[next_kept][0] < end
        if end > begin and not inside:
            sentences.append(text[begin:end])
            begin = end
    if begin < len(text):
        sentences.append(text[begin:])
    return sentences


def _ends(text: str) -> Iterable[int]:
    for found in _END.finditer(text):
        if found["stop"] is not None and found.end() < len(text):
            before = text[max(0, found.start() - _LONGEST_ABBREVIATION) : found.start()]
            word = _LAST_WORD.search(before)
            if word and _ABBREVIATION.fullmatch(word.group()):
                continue
        yield found.end()


def cut_at_sentence(text: str, limit: int, *, keep: Sequence[Span] = ()) -> str:
    """`text` if it has at most `limit` characters, else as many of its first sentences as do.

    A first sentence that is too long by itself is cut where a clause or a word ends, with "…" in place of the rest.
    Nothing is cut inside one of the spans `keep`; where one begins the text, "" may be all that is left.
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    whole = ""
    for sentence in split_sentences(text, keep=keep):
        if len((whole + sentence).rstrip()) > limit:
            break
        whole += sentence
    return whole.rstrip() or _cut_inside(text, limit - 1, keep=keep)


def _cut_inside(sentence: str, limit: int, *, keep: Sequence[Span]) -> str:
    """The beginning of a sentence, at most `limit` characters, and "…": to a clause's end if that is half of it."""
    clauses = [found.start() for found in _CLAUSE_END.finditer(sentence, 0, max(limit, 0) + 1)]
    words = [end for end in range(1, limit + 1) if not (_is_latin(sentence[end - 1]) and _is_latin(sentence[end]))]
    for ends in ([end for end in clauses if limit // 2 < end <= limit], words, range(1, limit + 1)):
        for end in sorted(ends, reverse=True):
            if not any(start < end < stop for start, stop in keep) and (begun := sentence[:end].rstrip()):
                return begun + "…"
    return ""


def _is_latin(character: str) -> bool:
    return character.isascii() and not character.isspace()


@dataclass(frozen=True, slots=True)
class Marks:
    """Ways to quote. `opening`: marks that may open a quotation, each kind a named group; `closing`: what may end it.

    A quotation of a kind in `within_lines` ends on its line, or is none.
    """

    opening: re.Pattern[str]
    closing: Mapping[str, re.Pattern[str]]
    within_lines: frozenset[str] = field(default=frozenset())


_PAIRS = "(?P<curly>“)|(?P<low>„)|(?P<angle>«)|(?P<corner>「)|(?P<double_corner>『)"
_CLOSING = {
    "curly": re.compile("”"),
    "low": re.compile("[“”]"),
    "angle": re.compile("»"),
    "corner": re.compile("」"),
    "double_corner": re.compile("』"),
    "straight": re.compile('"'),
}
_STRAIGHT = r"(?P<straight>(?<!\w)\"(?=\S))"

# `opening` asks for a character that may begin a quotation before it asks for the kind: ten times as fast without one.

# Quotations in what somebody sends: also code, titles, and the paragraph that follows a ">" at the beginning of a line.
WRITTEN = Marks(
    opening=re.compile(
        rf"(?=[`~“„«「『《\"‘'>]|^[^\S\n])(?:(?P<fence>```|~~~)|(?P<code>`)|{_PAIRS}|(?P<title>《)|{_STRAIGHT}"
        r"|(?P<single_curly>(?<!\w)‘)|(?P<single>(?<!\w)'(?=\S))|(?P<cited>^[^\S\n]*>)"
        r"|(?P<indented>^(?:[ ]{4}|\t)))",
        re.MULTILINE,
    ),
    # A quotation that is never closed goes on to the end.
    closing={kind: re.compile(rf"{closing.pattern}|\Z") for kind, closing in _CLOSING.items()}
    | {
        "fence": re.compile(r"```|~~~|\Z"),
        "code": re.compile(r"[`\n]"),
        "title": re.compile("》"),
        "indented": re.compile(r"\n|\Z"),
        # An apostrophe inside of a word closes nothing.
        "single_curly": re.compile(r"(?<!\w)’|’(?!\w)"),
        "single": re.compile(r"(?<!\w)'|'(?!\w)|\n"),
        "cited": re.compile(r"\n[^\S\n]*\n|\Z"),
    },
    within_lines=frozenset({"code", "single"}),
)

# Quotations in what somebody says: quotation marks alone.
SPOKEN = Marks(
    opening=re.compile(rf"(?=[“„«「『\"'‘])(?:{_PAIRS}|{_STRAIGHT}|(?P<single>(?<!\w)['‘](?=\S)))"),
    closing=_CLOSING | {"single": re.compile(r"(?<!\w)['’]|['’](?!\w)|\n")},
    within_lines=frozenset({"single"}),
)


def find_quotations(text: str, marks: Marks) -> list[Span]:
    """Return where `text` quotes, the marks included: in order, none over another."""
    found: list[Span] = []
    ends: dict[str, re.Match[str] | None] = {}
    opened = marks.opening.search(text)
    while opened is not None:
        kind, at = str(opened.lastgroup), opened.end()
        end = ends.get(kind)
        if kind not in ends or (end is not None and end.start() < at):
            end = ends[kind] = marks.closing[kind].search(text, at)
        if end is not None and _closes(kind, opened, end, text=text, marks=marks):
            found.append((opened.start(), end.end()))
            at = end.end()
        opened = marks.opening.search(text, at)
    return found


_TAG = re.compile(
    r"<!--|-->|[<\[](?P<end>/?)(?P<name>[^\W\d_][\w.-]{0,60})(?:[\s=][^<>\[\]\n]{0,200})?/?[>\]]", re.IGNORECASE
)


def find_foreign(text: str) -> list[Span]:
    """Return what in a message is not its writer's: quotations, code, and what stands between a tag and its end."""
    found = list[Span]()
    for start, stop in sorted([*find_quotations(text, WRITTEN), *_find_tagged(text)]):
        if found and start < found[-1][1]:
            start, stop = found[-1][0], max(stop, found[-1][1])
            found.pop()
        found.append((start, stop))
    return found


def _find_tagged(text: str) -> list[Span]:
    """From each tag to the last end of its name, so that no tag inside ends it; one that begins a line, to the end."""
    tags = list(_TAG.finditer(text))
    ends = {_name(tag): tag.end() for tag in tags if tag["end"] or tag.group() == "-->"}
    found, at = list[Span](), 0
    for tag in tags:
        begins_line = tag.start() == 0 or text[tag.start() - 1] == "\n"
        end = ends.get(_name(tag), len(text) if begins_line else 0)
        if tag.start() >= at and not tag["end"] and end > tag.start():
            found.append((tag.start(), end))
            at = end
    return found


def _name(tag: re.Match[str]) -> str:
    return (tag["name"] or "comment").lower()


def replace_quotations(text: str, marks: Marks, *, by: str) -> str:
    """Return `text` with `by` in place of each quotation."""
    pieces, at = [], 0
    for start, end in find_quotations(text, marks):
        pieces += [text[at:start], by]
        at = end
    return "".join([*pieces, text[at:]])


def _closes(kind: str, opened: re.Match[str], end: re.Match[str], *, text: str, marks: Marks) -> bool:
    if kind in marks.within_lines and end.group() == "\n":
        return False
    if kind == "code":
        return end.start() > opened.end()  # `` is none
    if kind.startswith("single"):
        return not text[end.end() : end.end() + 1].isalnum() and text[end.end() : end.end() + 1] != "_"
    return True


_BLOCK_TAG = re.compile(
    r"<(?P<closes>/?)(?P<name>[^\W\d][\w.:-]{0,60}+)(?P<rest>[^<>]{0,300}+)>"
    r"|\[(?P<bracket_closes>/?)(?P<bracket_name>[^\W\d][^\[\]<>\n]{0,60}+)\]"
)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+")
_MOST_INDENT = 64

# One of these words has to be in the name. `<p>`, `<config>` or `<rant>` may hold what the person says.
_TELLING = (
    {"attached", "attachment", "attachments", "context", "contexts", "document", "documents", "entities"}
    | {"environment", "facts", "file", "files", "history", "knowledge", "memories", "memory"}
    | {"profile", "rag", "recall", "recalled", "reminder", "reminders", "remembered", "retrieved"}
    | {"snippets", "source", "sources", "summaries", "summary"}
)
_ENDINGS = ("memory", "memories", "context", "记忆", "上下文")
# Clients that wrap everything put the person's own words into tags, too, such as `<context_query>`.
_OWN = frozenset({"feedback", "input", "message", "prompt", "query", "question", "request", "task"})


def cut_client_blocks(text: str) -> str:
    """Return a message without the blocks of clients; "" where it holds nothing else.

    A block begins on a line of its own, or right after another one. One that is not closed is left as it is: better to
    learn a wrong thing, which can be deleted, than to lose what somebody said.
    """
    blocks = list(find_client_blocks(text))
    if not blocks:
        return text
    kept, at = [], 0
    for start, end in blocks:
        kept.append(text[at:start].strip())
        at = end
    return "\n\n".join(filter(None, [*kept, text[at:].strip()]))


def find_client_blocks(text: str) -> Iterator[Span]:
    """Yield where the blocks of clients are in a message, the tags included, in order and apart from each other."""
    if "</" not in text and "[/" not in text:
        return
    done = 0
    for start, end in _find_pairs(text):
        before = text[max(done, start - _MOST_INDENT) : start].rstrip(" \t")
        begins_line = before.endswith("\n") or (not before and start - _MOST_INDENT <= done)
        if start >= done and begins_line:  # what stands in a block is part of it
            yield start, end
            done = end


def _find_pairs(text: str) -> list[Span]:
    """Where tags with a telling name open and close, by the place where they open. Linear in the length of the text."""
    opened: dict[str, list[int]] = {}
    pairs: list[Span] = []
    for tag in _BLOCK_TAG.finditer(text):
        name = tag["name"] or tag["bracket_name"]
        key = f"{tag.group()[0]}{name.lower()}"
        if tag["closes"] or tag["bracket_closes"]:
            if opened.get(key):
                pairs.append((opened[key].pop(), tag.end()))
        elif not (tag["rest"] or "").endswith("/") and _is_telling(name):
            opened.setdefault(key, []).append(tag.start())
    return sorted(pairs)


def _is_telling(name: str) -> bool:
    parts = [part.lower() for part in _PARTS.findall(name)]
    return parts[-1:] != [] and parts[-1] not in _OWN and any(p in _TELLING or p.endswith(_ENDINGS) for p in parts)


# A name before what somebody says: "Anna: …", "小明：…".
_SPEAKER = re.compile(r"\s*+([^\W\d_][\w .'-]{0,29})(?::\s|：)\s*+")


def drop_speakers(text: str) -> str:
    """Return a dialogue without the names that its lines begin with; any other text as it is.

    It is a dialogue if somebody speaks twice: of "Home: …" and "Job: …" nobody says a second thing.
    """
    lines = text.splitlines()
    found = [_SPEAKER.match(line) for line in lines]
    spoken = Counter(match[1] for match in found if match)
    if max(spoken.values(), default=0) < 2:
        return text
    said = (line[match.end() :] if match else line for line, match in zip(lines, found, strict=True))
    return "\n".join(said).strip() or text
