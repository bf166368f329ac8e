"""Full-text search: the terms of a stored text, what a query looks for, and where it occurs (K3). Pure.

PostgreSQL takes a run of Chinese for one token and has no Chinese dictionary, so the terms are made here and stored as
they are: ``index_literal(text)::tsvector`` on one side, ``recall_query(keywords)::tsquery`` on the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import is_normalized

from apps.core.text.clean import clean_text
from apps.core.text.fold import fold, fold_for_search, fold_form, get_converter, simplify, strip_accents
from apps.core.text.keywords import bigrams, extract_keywords, load_stop_words, stem, strip_possessive, word_parts
from apps.core.text.languages import find_latin_language, stem_word
from apps.core.text.segment import (
    NEUTRAL,
    cjk_runs,
    is_cjk,
    mixed_parts,
    normalize_pronouns,
    paired_runs,
    search_words,
    signs,
)
from apps.core.text.text_cache import cache_texts

# Shorter stems begin too many unrelated words (run: rung).
MIN_STEM_PREFIX = 5

# Longer terms are cut, in texts and in queries alike; PostgreSQL allows 2,046 bytes, which is 511 characters.
MAX_TERM_CHARACTERS = 64

# Terms past this size in all are left out: PostgreSQL refuses a tsvector of 1 MB. 32,000 characters stay below it.
MAX_TERMS_BYTES = 400_000


def index_terms(text: str) -> list[str]:
    """The distinct terms under which `text` is found.

    Words of jieba's search mode, folded and with neutral pronouns; the stem of each English word; of a word of letters
    and digits what follows each change from one to the other (asr1605: 1605); every two neighbouring Chinese, Japanese
    or Korean characters, which find what the segmentation missed; and emoji.
    """
    terms: dict[str, None] = {}
    size = 0
    for term in _terms(fold_for_search(text)):
        cut = term[:MAX_TERM_CHARACTERS]
        if cut in terms:
            continue
        size += len(cut.encode())
        if size > MAX_TERMS_BYTES:
            break
        terms[cut] = None
    return list(terms)


def index_literal(text: str) -> str:
    """The tsvector literal of the terms of `text`."""
    return " ".join(map(_quote, index_terms(text)))


def _terms(folded: str) -> Iterator[str]:
    language = find_latin_language(folded)
    for word in normalize_pronouns(map(strip_possessive, search_words(folded))):
        yield word
        yield stem(word)
        yield stem_word(word, language)
        parts = mixed_parts(word)
        yield from ("".join(parts[start:]) for start in range(1, len(parts)))
    for run in paired_runs(folded):
        yield from bigrams(run)
    yield from signs(folded)


def keyword_query(keyword: str) -> str:
    """The tsquery literal that finds texts with a term that starts with `keyword` ("pyth" finds python)."""
    return f"{_quote(keyword)}:*"


def recall_query(keywords: Sequence[str]) -> str:
    """The tsquery literal that finds texts with any of `keywords`, or only a part of one (K4). "" without keywords."""
    literals: Iterable[str] = (
        literal for keyword in keywords for literal in (keyword_query(keyword), *map(_part_query, word_parts(keyword)))
    )
    return " | ".join(dict.fromkeys(literals))


def _part_query(part: str) -> str:
    """The literal for a part of a keyword; a long English stem may go on: allerg(ic) finds allerg(ies)."""
    return f"{_quote(part)}:*" if part.isascii() and len(part) >= MIN_STEM_PREFIX else _quote(part)


def _quote(term: str) -> str:
    """`term` as a quoted lexeme of PostgreSQL's tsquery and tsvector input: whatever it contains, it stays one."""
    return "'" + term[:MAX_TERM_CHARACTERS].replace("\\", "\\\\").replace("'", "''") + "'"


def bm25_terms(text: str) -> list[str]:
    """The terms of `text`, repeats kept: words of jieba's search mode, then every two neighbouring Chinese characters.

    Folded, words stemmed by their language (`languages.py`), stop words and pronouns left out. The bigrams, also of
    Japanese, Korean and Thai, find what the segmentation missed, and give a longer Chinese word that is shared more
    weight than a short one. A word of letters and digits also counts by its parts of two characters or more (asr1605:
    asr, 1605), and emoji are words.
    """
    return [term[:MAX_TERM_CHARACTERS] for term in _list_terms(fold_for_search(text))]


def _list_terms(folded: str) -> Iterator[str]:
    stop_words, language = load_stop_words(), find_latin_language(folded)
    for word in normalize_pronouns(map(strip_possessive, search_words(folded))):
        if word != NEUTRAL and word not in stop_words:
            yield from dict.fromkeys((stem(word), stem_word(word, language)))
            yield from (stem(part) for part in mixed_parts(word) if len(part) > 1)
    for run in paired_runs(folded):
        yield from (pair for pair in bigrams(run) if pair not in stop_words)
    yield from signs(folded)


# Further ones are ignored: nothing that people look for needs them, and each of them takes time.
MAX_TERMS = 20

DIGITS = "0-9"
# Letters in lower case, but for those of `cjk_runs`, as ranges of a regular expression.
LETTERS = r"a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0587\u05d0-\u1fff"

WORD = re.compile(f"[{DIGITS}{LETTERS}]+")

# Marks that make another thing of a word: C++ is not C, 3.14 is not 3 and 14.
_MEANT = re.compile(r"[+#@/\\_%&=$€£*.:]")

_AROUND = " .,;:!?()[]{}<>\"'“”‘’。，；：！？（）【】《》、…"


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """All of this has to occur. `words`: as beginnings of words, in lower case. `parts`: each anywhere, in one of its
    spellings. `literals`: anywhere, whatever the case."""

    words: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    literals: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.parts or self.literals)

    @property
    def needles(self) -> list[str]:
        """What is to be marked in a text, folded, the longest first."""
        found = {*self.words, *(fold(part[0]) for part in self.parts), *map(fold, self.literals)}
        return sorted(found, key=lambda needle: (-len(needle), needle))


def parse_search(query: str) -> SearchTerms:
    """Return what a query looks for, word by word as it was typed."""
    chunks = [chunk.strip(_AROUND) for chunk in _normalise(query).split()]
    chunks = list(dict.fromkeys(filter(None, chunks)))[:MAX_TERMS]
    words = [word for chunk in chunks for word in WORD.findall(chunk)]
    parts = [run for chunk in chunks for run in cjk_runs(chunk)]
    literals = [chunk for chunk in chunks if _MEANT.search(chunk) or not (WORD.search(chunk) or cjk_runs(chunk))]
    if not chunks and query.strip():
        literals = [_normalise(query).strip()]  # nothing but punctuation: as it stands
    return _make_terms(words, parts, literals)


def parse_question(query: str) -> SearchTerms:
    """Return the keywords of a query that was not typed for a search, such as a question: without stop words."""
    keywords = extract_keywords(query)
    return _make_terms(
        (word for keyword in keywords if not is_cjk(keyword) for word in WORD.findall(keyword)),
        (run for keyword in keywords for run in cjk_runs(keyword)),
        (),
    )


def _make_terms(words: Iterable[str], parts: Iterable[str], literals: Iterable[str]) -> SearchTerms:
    return SearchTerms(
        words=tuple(dict.fromkeys(words))[:MAX_TERMS],
        parts=tuple(map(list_spellings, dict.fromkeys(parts)))[:MAX_TERMS],
        literals=tuple(dict.fromkeys(literals))[:MAX_TERMS],
    )


def warm_up() -> None:
    """Read all dictionaries of texts now, so that no request waits for them."""
    index_terms("running 中文")
    list_spellings("中")


def list_spellings(text: str) -> tuple[str, ...]:
    """Return Chinese text as it is and in simplified and traditional characters, each once."""
    return tuple(dict.fromkeys([text, *(get_converter(name).convert(text) for name in ("t2s", "s2t"))]))


def _normalise(text: str) -> str:
    # As the SQL function `message_text`. What tells an emoji from a plain sign (U+FE0F) is not looked for.
    plain = unicodedata.normalize("NFKC", clean_text(text)).lower().replace("\ufe0f", "")
    return strip_accents(plain).replace("ß", "ss")


# Characters of an excerpt before the first match: enough to read on from, and the match is on the first line.
BEFORE_MATCH = 40

_SPACE = re.compile(r"\s")

_LETTER = r"[^\W\d_\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
_DIGIT = r"\d"

_MARKS = (
    "\u0300-\u036f\u1160-\u11ff\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\uff9e\uff9f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
)
_JOINED = re.compile(rf"[{_MARKS}\u200d\U0001f1e6-\U0001f1ff]")
# What is read as one sign: a character with its marks, emoji that are joined to each other, a flag.
_CLUSTER = re.compile(rf"(?s:[\U0001f1e6-\U0001f1ff]{{2}}|.)(?:[{_MARKS}]|\u200d.)*")


def find_ranges(text: str, needles: Sequence[str]) -> list[tuple[int, int]]:
    """Return where folded `needles` occur in `text`: pairs of start and end, in order, apart from each other.

    A word that begins with a needle is marked to its end, as search finds inflections; Chinese stands anywhere. Of
    needles that begin at one place the first one given counts: put longer ones first.
    """
    if not needles or not text:
        return []
    folded, starts, stops = _fold_in_place(text)
    pattern = "|".join(_make_pattern(strip_accents(needle)) for needle in needles if needle)
    ranges: list[tuple[int, int]] = []
    for match in re.finditer(pattern, folded):
        start, stop = starts[match.start()], stops[match.end() - 1]
        end = ranges[-1][1] if ranges else 0
        if stop <= end:
            continue
        if ranges and start <= end:
            start = ranges.pop()[0]
        ranges.append((start, stop))
    return ranges


def cut_excerpt(text: str, needles: Sequence[str], *, length: int) -> tuple[str, list[tuple[int, int]]]:
    """Return about `length` characters of `text` on one line, from shortly before the first match, and its ranges.

    "…" stands where something is cut off. Without a match it is the beginning.
    """
    found = find_ranges(text, needles)
    start = max(0, found[0][0] - BEFORE_MATCH) if found else len(text) - len(text.lstrip())
    if start and start + length > len(text):
        start = max(0, len(text) - length)
    stop = min(len(text), start + length)
    before, after = "…" if text[:start].strip() else "", "…" if text[stop:].strip() else ""
    shift = len(before) - start
    ranges = [(left + shift, min(right, stop) + shift) for left, right in found if start <= left < stop]
    return before + _SPACE.sub(" ", text[start:stop]) + after, ranges


def _make_pattern(needle: str) -> str:
    """Match a needle where a word of its alphabet begins, to the end of that word; Chinese and signs anywhere.

    Letters begin after digits, digits after letters (ASR1605), and either after Chinese (客厅NAS).
    """
    before = _DIGIT if needle[0].isdigit() else _LETTER if re.match(_LETTER, needle) else ""
    escaped = f"(?<!{before}){re.escape(needle)}" if before else re.escape(needle)
    return f"{escaped}{_LETTER}*" if before or re.match(_LETTER, needle[-1]) else escaped


def _fold_in_place(text: str) -> tuple[str, list[int], list[int]]:
    """The text folded as for a search, and of each character of that the range in `text` that it comes from.

    What is read as one sign is folded as one and comes from all of it: a letter with its accents, a family of emoji.
    """
    whole = fold_for_search(text)
    if len(whole) == len(text) and is_normalized("NFKC", text) and not _JOINED.search(text):
        return whole, list(range(len(text))), list(range(1, len(text) + 1))
    clusters = [(found.span(), _fold_cluster(found.group())) for found in _CLUSTER.finditer(text)]
    origins = [span for span, part in clusters for _ in part]
    folded = "".join(part for _span, part in clusters)
    # Some characters are simplified otherwise in a word than alone: 乾 in 乾隆.
    simplified = simplify(folded)
    starts, stops = [start for start, _stop in origins], [stop for _start, stop in origins]
    return (simplified if len(simplified) == len(folded) else folded), starts, stops


@cache_texts(4_000)
def _fold_cluster(cluster: str) -> str:
    return strip_accents(fold_form(cluster))
