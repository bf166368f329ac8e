"""Cutting a plain enumeration into statements of one thing each: one of them can then end without the others.

"The user subscribes to Netflix and Spotify." is two statements; "… likes mac and cheese", 和女朋友住 and whatever else
is not a verb and names are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from apps.core.llm.offline.language import Language

_MOST_ITEMS = 6
_ZH_ACTION = "[和跟与、有][洗写打弹做唱跳看读听玩跑游拉吹修开画学练带睡喝吃踢骑逛买养滑爬]"
_ZH_VERB = (
    rf"(?:订|在[练读看追用吃喝玩学]|(?:每[天周月晚]|周末|平时|常常?)(?:都|去)?[打练弹吃喝看玩用逛刷]|会[弹拉吹打唱跳做修写说讲]"
    rf"|(?:喜[欢歡]|爱|愛)(?:[吃喝看听聽玩去逛穿养養读讀收写]|收集)|[弹彈写寫读讀追刷穿戴种種拉吹唱骑騎])(?!.*{_ZH_ACTION})|"
    r"订阅|訂閱|在用|用|有|养|養|会|會|害?怕|支持|关注|收集|玩|喜[欢歡]|爱|愛|讨厌|討厭|不喜[欢歡](?:吃|喝)?|不吃|不喝|"
    r"买|買|收藏|在学|学习|学|學|练|練|开通|办|报名|吃(?!饭|飯|过|過)|喝|兼[做职]"
)
_ZH_WHOLE = "吉他|[高平坡粗细低]跟|和[服牛平面]|温和|暖和|《[^》]{1,20}》"
"""Words with a character in them that elsewhere joins two, or is a pronoun."""
_ZH_ITEM = rf"(?:{_ZH_WHOLE}|(?![的和跟与、，了着过都我你他她])[\w\s+#-]){{1,10}}"
CHINESE_JOINED = re.compile(
    r"、|，?(?:以及|还有)|(?<![温暖平柔缓颐义共总饱附])和(?![服牛平面气尚果团声弦剂])"
    r"|(?<![高平坡粗细低])跟(?![踪斗头风班单])|(?<!参)与"
)
"""What stands between things enumerated in Chinese."""
_ZH_SOMEBODY = r"(?:用户(?:家里?)?(?:们)?|用户提到：(?:家里?)?)"
_ZH_ITEMS = rf"(?P<items>{_ZH_ITEM}(?:(?:{CHINESE_JOINED.pattern}){_ZH_ITEM})+)"
_ZH_COMPANY = r"[^、]{1,10}[和跟与][^、]{0,10}(?:一起|去|来(?!福)|见面|聊(?!天)|打架|结婚|的)"
"""What stands where 和 brings company to what somebody does."""
_ZH = re.compile(
    rf"(?P<opening>{_ZH_SOMEBODY}(?:还|也|都|很|最|平时|现在|目前|同时|常)*(?:{_ZH_VERB})(?:了|过|着)?)"
    rf"(?!{_ZH_COMPANY}){_ZH_ITEMS}(?P<end>了?)。"
)
_ZH_DONE = re.compile(
    rf"(?P<opening>(?:用户(?!提到)|用户提到：)[^，、：。；和跟与《了着过]{{1,8}}(?<![比混合并换调联拌炒睡])(?:了|着)(?![解急迷凉火想重]))"
    rf"(?!{_ZH_COMPANY}){_ZH_ITEMS}(?P<end>)。"
)
"""After a verb with an aspect: 种了月季和绣球, 给孩子报了围棋、街舞."""
_ZH_DOING = re.compile(
    rf"(?P<opening>{_ZH_SOMEBODY}(?:还|也|都|平时|现在|常|每[天周])*)"
    r"(?P<items>[踢打跑游滑练写画唱弹骑爬跳][^\W的了着过和跟与]{1,2}(?:(?:、|和)[踢打跑游滑练写画唱弹骑爬跳][^\W的了着过和跟与]{1,2})+)(?P<end>)。"
)
"""Verbs with their objects: 踢球、跑步."""
_ZH_ALLERGY = re.compile(
    rf"(?P<opening>用户对)(?P<items>{_ZH_ITEM}(?:(?:{CHINESE_JOINED.pattern}){_ZH_ITEM})+?)都?(?P<end>过敏)。"
)
_ZH_PATTERNS = (_ZH, _ZH_ALLERGY, _ZH_DOING, _ZH_DONE)
_EN_VERB = (
    r"subscribes to|pays for|uses|has|owns|plays|speaks|likes|loves|enjoys|hates|dislikes|drinks|eats|collects|watches|"
    r"is allergic to|bought|got|adopted|takes|studies|is learning|doesn't (?:like|eat|drink)|can't stand|"
    r"is (?:studying|taking|playing|into|afraid of|scared of)|can (?:play|speak)|grows|keeps|rides|"
    r"wears|follows|supports|teaches|practi[cs]es|adores|avoids|misses|raises|breeds|bakes|knits|drives|"
    r"has (?:got|a fear of|an allergy to|shares in)|suffers from|belongs to|codes in|"
    r"is (?:(?:really |so |very )?(?:crazy about|mad about|fond of|keen on|hooked on|addicted to|obsessed with)|"
    r"intolerant (?:to|of)|an? (?:big |huge |great )?fan of|growing|raising|on the waiting list for)|can't (?:have|eat)"
)
_EN_WORD = r"[\w'+#.-]+"
_EN_ITEM = (
    rf"(?!(?:the user|that|which|who|when|because|so|is|was|has)\b){_EN_WORD}"
    r"(?: (?!(?:and|or|in|on|at|for|with|because|when|to|of|from|about|together|every|that|is|was|last|since)\b)"
    rf"{_EN_WORD}){{0,2}}"
)
_EN_JOINED = re.compile(r",? and |, ")
_EN = re.compile(
    rf"(?P<opening>The user (?:(?:also|really|both|currently|still|now|mostly) )*(?:{_EN_VERB}) )"
    r"(?!(?:[A-Z][\w-]+, )*[A-Z][\w-]+,? and [A-Z][\w-]+ [a-z]+\.)"
    rf"(?P<items>{_EN_ITEM}(?:, {_EN_ITEM})*,? and {_EN_ITEM})(?P<end>)\."
)
"""… but for "Greek and Thai food": the last word goes for both."""
_ZH_TIME = re.compile(r"[一二两三四五六七八九十几半\d]+多?(?:年|个?月|天|周|小时)")
_ZH_LONGER, _ZH_LONGER_NAME = 1, 4
"""Characters by which the last thing may be longer than the others; behind a verb after which nothing else is said."""
_ZH_TASTE = re.compile("喜[欢歡]|爱|愛|讨厌|討厭|怕|支持|关注|收[集藏]|订|訂|学|學|练|練")
_ZH_PREDICATE = re.compile("[不没]|有|讨厌|討厌|喜[欢歡]|想|要")
_ZH_ACTED = re.compile("(?:买|買|用|有|吃|喝|养|養|玩)(?:了|过|着)?$")
_ZH_ACT = re.compile("[做带洗写打弹唱跳读听跑游修开画学练吃喝买]")
_ZH_EVENT = re.compile("[离吵抢爬喝吃打聊去来买做骂走跑逛睡]")
"""What people do with each other, and no taste is of."""
_ZH_QUARREL = re.compile("离婚|分手|吵架|结婚|打架|见面")
_EN_DETERMINER = re.compile(r"(?:an?|the|one|two|three|four|five|six|some|another|\d+|(?:the )?user's) ", re.IGNORECASE)
_EN_GOT = re.compile(r"\b(?:got|bought|adopted) $")
_EN_NOTHING = re.compile(
    r"\b(?:back|forth|daily|weekly|today|tonight|tomorrow|yesterday|alone|sometimes|rarely|often|usually|always|off|too"
    r"|now|again|either|together|morning|night|evening|noon|weekends?|holidays|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)$"
    r"|^(?:no|zero|few|fewer|less|little|never|neither|not|both|between|up|home)\b|^(?:sing|dance|cook|write|read|swim|draw"
    r"|paint|run|ride|ski|.|\d+)$|^\w+ing\b.* \w+$",
    re.IGNORECASE,
)
"""What is no thing, or goes for all of them."""
_ONE_THING = re.compile(
    r"\b(?:rock (?:and|&) roll|mac and cheese|fish and chips|salt and|black and|sweet and sour|peanut butter and"
    r"|bed and|hide and|trinidad and|smith and|bosnia and|crime and|war and|rick and|law and"
    r"|research and|arts and|trial and|odds and|ups and|back and|more and"
    r"|and (?:so on|more|stuff|everything|such))\b",
    re.IGNORECASE,
)


def split_enumeration(statement: str, *, language: Language) -> list[str]:
    """The statements in `statement`, a sentence in the third person: one for each thing enumerated, or itself."""
    patterns, joined, stop = (_ZH_PATTERNS, CHINESE_JOINED, "。") if language == "zh" else ((_EN,), _EN_JOINED, ".")
    found = next(filter(None, (pattern.fullmatch(statement) for pattern in patterns)), None)
    if found is None or _ONE_THING.search(statement):
        return [statement]
    items = [item.strip() for item in joined.split(found["items"])]
    if len(items) > _MOST_ITEMS or not all(items) or _goes_on(found["opening"], items, language=language):
        return [statement]
    return [f"{found['opening']}{item}{found['end']}{stop}" for item in items]


def _goes_on(opening: str, items: Sequence[str], *, language: Language) -> bool:
    """Whether the whole says what each may not: "no kids and pets", "jazz and blues while cooking"."""
    if len(set(items)) < len(items):
        return True
    return _goes_on_in_chinese(opening, items) if language == "zh" else _goes_on_in_english(opening, items)


def _goes_on_in_chinese(opening: str, items: Sequence[str]) -> bool:
    *others, last = items
    is_taste = bool(_ZH_TASTE.search(opening))
    if any(_ZH_PREDICATE.match(one) or "用户" in one for one in items) or _ZH_TIME.match(items[0]):
        return True
    if not is_taste and _ZH_ACTED.search(opening) and any(_ZH_ACT.match(one) for one in items[1:]):
        return True
    longer = _ZH_LONGER_NAME if is_taste and not _ZH_EVENT.search(last) else _ZH_LONGER
    return bool(_ZH_QUARREL.search(last)) or last.endswith(("不", "没")) or len(last) > max(map(len, others)) + longer


def _goes_on_in_english(opening: str, items: Sequence[str]) -> bool:
    heads = [_EN_DETERMINER.match(one) is not None for one in items]
    if any(_EN_NOTHING.search(one) for one in items) or any(heads) != all(heads):
        return True
    if _EN_GOT.search(opening) and not all(heads):
        return True
    if all(heads) or all(one.endswith("s") for one in items[:-1]):
        return False  # each is complete: "migraines and hay fever", but not "chicken and broccoli allergies"
    return len({len(one.split()) for one in items}) > 1
