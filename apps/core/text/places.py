"""Names of places: those of `data/places_*.txt`, and cities and counties of the dictionary that words are cut by."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from apps.core.text.fold import fold
from apps.core.text.text_cache import cache_texts

_TAG = b" ns"
_SUFFIXES = ("市", "省", "县", "区", "镇", "乡", "村")
_LONGEST_CHINESE, _LONGEST_ENGLISH = 7, 4
"""Characters of a Chinese name and words of an English one."""

_DIVISION = re.compile(r"[\u4e00-\u9fff]{2,5}(?<!..[城都])[市县]|[\u4e00-\u9fff]{2,5}(?<![地小市郊社新景山城矿])区")
"""What names a part of a country in the dictionary. Much else there has the tag of places, and is none: 青梅竹马."""

_PART = re.compile(
    r"石(?!家庄)|治(?=[,，。]|$)|大学|学院|银行|烤鸭|烤冷面|拉面|炒饭|炒粉|小面|火锅|羊肉|泡馍|米线|螺蛳粉|热干面|鸡饭|凉皮|火腿|扒鸡|酱鸭|盐水鸭"
    r"|扑克|人寿|自助游|队|菜(?!市|场)|话(?!剧)|语|文(?!昌|山)|料理|电影|电视剧|奶茶|冬阴功|航空|牌|口音|酒(?!店|吧|馆)|茶(?!馆|楼)|面(?!积|试|馆|[上前对])|粉|鸡|鸭"
)
"""Continuations that make a place name part of another name: 大理石, 重庆火锅, 南京大学, 德州扑克."""

_HAN = re.compile(r"[\u4e00-\u9fff]{2,}")
_WORD = re.compile(r"[^\W\d_\u4e00-\u9fff]+(?:['’][^\W\d_\u4e00-\u9fff]+)*")
_ENGLISH = re.compile(
    r"\b(?:in|to|from|near|at|around|outside|left|leaving)\s+"
    r"(?!(?:Jan|Febr)uary|March|April|May\b|June|July|August|(?:Sept|Nov|Dec)ember|October|[A-Z][a-z]+day|Christmas|Easter)"
    r"((?:[A-Z][\w'’-]+)(?:\s[A-Z][\w'’-]+)*)"
)
"""Where an English text names a place, or at least says a name as one says a place's."""


def is_place_name(name: str) -> bool:
    """Whether `name` is a Chinese place name and nothing else: 南京, 南京市; not 南京大学."""
    folded = fold(name).strip()
    return folded in _load_chinese() or (folded.endswith(_SUFFIXES) and folded[:-1] in _load_chinese())


@cache_texts(4_000)
def find_places(text: str) -> frozenset[str]:
    """Return the folded names of places in `text`, 南京 for 南京市: known ones, and English ones by what precedes them.

    Some are none ("at Google"): for what weighs evidence, not for what needs to be sure.
    """
    folded = fold(text)
    found = {*_list_chinese(folded), *_list_english(folded)}
    return frozenset(found | {name for match in _ENGLISH.finditer(text) if not _has_any(name := fold(match[1]), found)})


def _has_any(name: str, found: set[str]) -> bool:
    return any(known in name for known in found)


def _list_chinese(folded: str) -> Iterator[str]:
    """The longest name at each place of a run of characters, but within another thing's."""
    names = _load_chinese()
    for run in _HAN.findall(folded):
        start = 0
        while start < len(run) - 1:
            ends = range(min(len(run), start + _LONGEST_CHINESE), start + 1, -1)
            end = next((end for end in ends if run[start:end] in names), 0)
            if end and not _PART.match(run, end):
                name = run[start:end]
                yield name[:-1] if name.endswith(_SUFFIXES) and name[:-1] in names else name
            start = end or start + 1


def _list_english(folded: str) -> Iterator[str]:
    names = _load_english()
    said = [word.replace("’", "'") for word in _WORD.findall(folded)]
    start = 0
    while start < len(said):
        lengths = range(min(_LONGEST_ENGLISH, len(said) - start), 0, -1)
        length = next((length for length in lengths if " ".join(said[start : start + length]) in names), 0)
        if length:
            yield " ".join(said[start : start + length])
        start += length or 1


@cache
def _load_chinese() -> frozenset[str]:
    """The names of the file, and the divisions of the dictionary with and without their last character."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba's source has invalid escapes, reported whenever it is compiled
        import jieba
    with jieba.get_dict_file() as file:
        places = {fold(line.decode("utf-8").split()[0]) for line in file if line.rstrip().endswith(_TAG)}
    divisions = set(filter(_DIVISION.fullmatch, places))
    short = {name[:-1] for name in divisions if len(name) > 2 and name[-1] != "区"}
    candidates = {name.encode("utf-8") for name in short}
    with jieba.get_dict_file() as file:  # again, as all its words would take a hundred megabytes
        rows = (line.rstrip() for line in file)
        words = {
            row.split()[0].decode("utf-8")
            for row in rows
            if row.split(maxsplit=1)[0] in candidates and not row.endswith(_TAG)
        }
    short -= words | _read("common_words_zh.txt", apart=None)
    return _read("places_zh.txt", apart=None) | divisions | short


@cache
def _load_english() -> frozenset[str]:
    return _read("places_en.txt", apart=",")


def _read(name: str, *, apart: str | None) -> frozenset[str]:
    lines = files(__package__).joinpath(f"data/{name}").read_text(encoding="utf-8").splitlines()
    return frozenset(
        fold(place.strip())
        for line in lines
        if not line.startswith("#")
        for place in line.split(apart)
        if place.strip()
    )
