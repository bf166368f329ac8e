"""The quantities of a short text with what they measure. Pure.

一万步 and 六千步 are both distances, £925 and 3,600块 both money. Chinese numerals and English number words are read as
numbers; the kind is known by the unit before or after.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PLAIN = "plain"
"""The kind of a number without a unit that is known."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """`value`: a number, or for times, dates and weekdays their own text."""

    kind: str
    value: float | str


_KINDS = (
    ("weight", r"公斤|千克|斤|kg|kilos?|lbs?|stone"),
    ("length", r"厘米|公分|公里|米(?!饭)|cm|km|m(?![a-z])|miles?|feet|ft"),
    ("age", r"周?岁|years? old"),
    ("percent", r"%|percent|个点"),
    ("money", r"[块元]|万[块元]|千块|dollars?|euros?|pounds?|rupees|bucks"),
    ("hour", r"点|[ap]m(?![a-z])|o'clock"),
    ("minutes", r"分钟|min(?:ute)?s?(?![a-z])"),
    ("hours", r"个?(?:小时|钟头)|hours?|hrs?(?![a-z])"),
    ("day", r"号|日(?![语本])"),
    ("people", r"个?人|名|个学生|个娃|people|pupils|students|kids"),
    ("area", r"平|㎡|square"),
    ("size", r"[码度]"),
    ("dose", r"mg|mcg|ml|毫[克升]|片"),
    ("distance", r"[步圈]"),
    ("times", r"[次遍]|times"),
)
_UNITS = tuple((kind, re.compile(rf"\s?(?:{units})")) for kind, units in _KINDS)
_THOUSANDS = re.compile(r"\s?(?P<k>k(?![a-z]))|\s?(?P<wan>[万w](?![a-z]))")
_NUMBER = re.compile(r"(?<![a-z\d])(?P<money>[$£€¥])?(?P<number>\d[\d,]*(?:\.\d+)?(?:[:/]\d+)?)")
_ANNOTATION = re.compile(r"[(（]\d{4}[-\d~–]*[)）]")
_METRES = re.compile(r"(\d)米(\d{1,2})(?!\d)")

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?:{'|'.join(_MONTHS)})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.?"
_DATE = re.compile(
    rf"\b(?P<m1>{_MONTH}) (?P<d1>\d{{1,2}})(?!\d|:)"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<m2>{_MONTH})(?![a-z])"
    r"|(?P<m3>\d{1,2})月(?P<d3>\d{1,2})"
)
_WEEKDAY = re.compile(r"(?:周|星期|礼拜)([1-7一二三四五六日天])|\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b")

_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_TENS = {"十": 10, "百": 100, "千": 1000}
_CHINESE = re.compile(r"(?<!周)(?<!星期)(?<!礼拜)[零〇一二两三四五六七八九十百千万]+(?:点[零一二三四五六七八九]+)?")
_HUNDREDS = re.compile(
    r"(?<![周第几数好上零〇一二两三四五六七八九十百千万\d])(?=[一二两三四五六七八九十]+[百千万])[零〇一二两三四五六七八九十百千万]+(?![年分])"
)
_TEN_THOUSANDS = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s?[万w](?![a-z千百一])")
_TEENS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TIES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ENGLISH = {name: value for value, name in enumerate(_TEENS)} | {
    name: 10 * value for value, name in enumerate(_TIES, start=2)
}
_FIRST = "|".join(name for name in _ENGLISH if name != "one")  # "one" mostly stands for something else
_ENGLISH_NUMBER = re.compile(rf"\b(?:{_FIRST})(?:[ -](?:{'|'.join(_ENGLISH)}|hundred|thousand)){{0,9}}\b")


_ONE = re.compile(
    r"\bone(?= (?:\w+ )?(?:cups?|glass|pints?|packs?|cigarettes?|coffee|beer|hours?|minutes?|days? (?:a|per)|times?"
    r"|nights? (?:a|per)|kids?|child|cats?|dogs?|meals?|shifts?|class|lessons?|sessions?|miles?|kilos?|pages?"
    r"|employees?|bedrooms?|pills?|tablets?)\b)"
)


def list_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of folded `text`: first weekdays, then dates, then the others in their order."""
    text = _ANNOTATION.sub(" ", text)
    text = write_digits(text)
    text = _METRES.sub(r"\1.\2m", text)
    found = [Quantity("weekday", match[1] or match[2]) for match in _WEEKDAY.finditer(text)]
    for match in _DATE.finditer(text):
        month = match["m1"] or match["m2"] or match["m3"]
        day = match["d1"] or match["d2"] or match["d3"]
        number = month if month.isdigit() else str(_MONTHS.index(month[:3]) + 1)
        found.append(Quantity("date", f"{number}-{day}"))
    text = _DATE.sub(" ", text)
    return (*found, *(_read(match, text[match.end() : match.end() + 10]) for match in _NUMBER.finditer(text)))


def write_digits(text: str) -> str:
    """Return folded `text` with its numerals in digits."""
    text = _ENGLISH_NUMBER.sub(lambda found: str(_read_english(found.group())), text)
    return _CHINESE.sub(lambda found: _read_chinese(found.group()), text)


def write_english_digits(text: str) -> str:
    """Return folded `text` with its English number words in digits; "one" only where it counts something."""
    text = _ENGLISH_NUMBER.sub(lambda found: str(_read_english(found.group())), text)
    return _ONE.sub("1", text)


def write_thousands(text: str) -> str:
    """Return folded `text` with its Chinese numerals from a hundred on in digits; 3.5万 is 35000."""
    text = _HUNDREDS.sub(lambda found: _read_chinese(found.group()), text)
    return _TEN_THOUSANDS.sub(lambda found: f"{float(found[1]) * 10_000:.0f}", text)


def write_plainly(value: str) -> str:
    """Return a number as people may also write it in one way: 7点半 as 7:30, 1米7 as 170."""
    value = value.replace("点半", ":30").replace("点", ":").replace("个半", ".5").rstrip(":分码")
    if metres := re.match(r"(\d)(?:米|\.(?=\d+米))(\d{1,2})", value):
        return metres[1] + metres[2].ljust(2, "0")
    return value


def _read(match: re.Match[str], rest: str) -> Quantity:
    number = match["number"].rstrip(",").replace(",", "")
    if ":" in number:
        return Quantity("hour", number)
    if "/" in number:
        return Quantity(PLAIN, number)
    value = float(number)
    if thousands := _THOUSANDS.match(rest):
        value *= 1_000 if thousands["k"] else 10_000
        rest = rest[thousands.end() :]
    kind = "money" if match["money"] else next((kind for kind, unit in _UNITS if unit.match(rest)), PLAIN)
    return Quantity(kind, value)


def _read_english(text: str) -> int:
    thousands = current = 0
    for word in re.split("[ -]", text):
        if word == "hundred":
            current = (current or 1) * 100
        elif word == "thousand":
            thousands, current = thousands + (current or 1) * 1000, 0
        else:
            current += _ENGLISH[word]
    return thousands + current


def _read_chinese(text: str) -> str:
    """The digits of a numeral; `text` itself where it only looks like one (万一, 千)."""
    whole, _point, fraction = text.partition("点")
    if not any(character in _DIGITS or character == "十" for character in whole) or whole.startswith("万"):
        return text
    if not set(whole) & {*_TENS, "万"}:
        number = "".join(str(_DIGITS[digit]) for digit in whole)
    else:
        before, wan, rest = whole.rpartition("万")
        value = _read_section(before) * 10_000 if wan else 0
        value += _DIGITS[rest] * 1_000 if wan and len(rest) == 1 and rest in _DIGITS else _read_section(rest)
        number = str(value)
    return f"{number}.{''.join(str(_DIGITS[digit]) for digit in fraction)}" if fraction else number


def _read_section(text: str) -> int:
    """A numeral below 10,000; 三千二 is 3,200."""
    value, digit, unit = 0, 0, 1
    for character in text:
        if character in _TENS:
            unit = _TENS[character]
            value, digit = value + (digit or 1) * unit, 0
        elif character in _DIGITS:
            digit = _DIGITS[character]
            unit = 1 if character in "零〇" else unit
    return value + digit * (unit // 10 if unit >= 100 else 1)
