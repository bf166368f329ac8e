"""When a Chinese text gives another name than an older one: 翠花不能叫了，改叫大福; 我爱人是王丽，上次转错了. Pure.

Chinese names have no capitals and need no verb, so the older name itself is looked for in a text that tells of a
renaming, or, where a name was misspelled, one that is the same but for a character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = r"[\u4e00-\u9fffa-z·]"
_ENDS = r"(?=[,。!?;:、\s]|$|了|的|吧|就行|就好)"
_TOLD = re.compile(
    r"(?:[取起改更]名|名叫|(?:名字|小名|大名|英文名|中文名|网名|外号|昵称|笔名)(?:就|现在|是|叫做?)*|叫做?|称呼为)"
    rf"[叫为做成]?(?P<name>{_NAME}{{2,6}}?){_ENDS}"
)
_RENAMED = re.compile(
    r"[改换]叫|改[名口姓]|更名|换成|换(?:了|个)*.{0,2}(?:名|外号|昵称)|不(?:能|再)?叫|别(?:再)?叫|(?:现在|以后|如今)(?:就)?叫"
    r"|改用.{1,10}名|正名|登记的是|重新(?:取|起)|重名"
)
_MISTAKEN = re.compile(
    r"[叫写打记听念说转拼敲登]\w{0,2}错|识别错|名字?.{0,4}(?:不对|有误)|改个?字|有个字|改姓|[更纠]正|口误|不是\w{2,4},?是"
)
_GIVEN = re.compile(rf"(?:[是叫为]|[改换写当作]成)(?P<name>[\u4e00-\u9fff]{{2,4}}){_ENDS}")
_BEFORE_A_NAME = re.compile(
    r"[叫是名]|爱人|老公|老婆|先生|太太|导师|老师|同事|朋友|医生|教练|老板|领导|室友|邻居|儿子|女儿|孩子|姐姐?|妹妹?|哥哥?|弟弟?"
)


@dataclass(frozen=True, slots=True)
class Names:
    """What a text calls something. ``told``: names; ``is_renamed``, ``is_mistaken``: it tells that one is another."""

    text: str
    told: frozenset[str]
    given: frozenset[str]
    is_renamed: bool
    is_mistaken: bool


def read_names(text: str) -> Names:
    """Return the names in comparable `text`."""
    return Names(
        text=text,
        told=frozenset(found["name"] for found in _TOLD.finditer(text)),
        given=frozenset(found["name"] for found in _GIVEN.finditer(text)),
        is_renamed=bool(_RENAMED.search(text)),
        is_mistaken=bool(_MISTAKEN.search(text)),
    )


def gives_another_name(before: Names, after: Names, *, of_same: bool) -> bool:
    """Whether what `before` calls something is called otherwise since `after`. `of_same`: they share a word."""
    if after.is_renamed and before.told:
        if any(name in after.text and name not in after.told for name in before.told):
            return True
        if of_same and after.told and not after.told & before.told:
            return True
    return after.is_mistaken and any(
        name not in before.text and _is_near_one_in(before.text, name) for name in after.given | after.told
    )


def _is_near_one_in(text: str, name: str) -> bool:
    """Whether a name of the same length as `name` in `text` differs in one character only."""
    spans = (text[found.end() : found.end() + len(name)] for found in _BEFORE_A_NAME.finditer(text))
    return any(
        len(span) == len(name) and sum(one != other for one, other in zip(span, name, strict=True)) == 1
        for span in spans
    )
