"""Cutting a plain enumeration into statements of one thing each: one of them can then end without the others.

"The user subscribes to Netflix and Spotify." is two statements; "… likes mac and cheese", 和女朋友住 and whatever else
is not a verb and names are left as they are.
"""

from __future__ import annotations

import re

from apps.core.llm.offline.language import Language

_MOST_ITEMS = 6
_ZH_ACTION = "[和跟与、有][洗写打弹做唱跳看读听玩跑游拉吹修开画学练带]"
_ZH_VERB = (
    rf"(?:订|害?怕|会[弹拉吹打唱跳做修]|在[练读看追教]|(?:每[天周月晚]|周末|平时|常常?)(?:都|去)?[打练弹吃喝看])(?!.*{_ZH_ACTION})|"
    r"订阅|在用|用|有|养|会说|会讲|会|玩|喜欢(?:吃|喝|看|听|玩|去)?|爱(?:吃|喝|看|听|玩)?|讨厌|不喜欢(?:吃|喝)?|不吃|不喝|"
    r"买|收藏|在学|学习|学|练|开通|办|报名"
)
_ZH_WHOLE = "吉他|[高平坡粗细低]跟|和[服牛平面]|温和|暖和"
"""Words with a character in them that elsewhere joins two, or is a pronoun."""
_ZH_ITEM = rf"(?:{_ZH_WHOLE}|(?![的和跟与、，了着过都我你他她])[\w\s+#-]){{1,10}}"
_ZH_JOINED = re.compile(r"、|，?(?:以及|还有)|(?<![温暖])和(?![服牛平面])|(?<![高平坡粗细低])跟|与")
_ZH = re.compile(
    rf"(?P<opening>用户(?:家里?)?(?:们)?(?:还|也|都|很|最|平时|现在|目前|同时)*(?:{_ZH_VERB})(?:了|过|着)?)"
    rf"(?P<items>{_ZH_ITEM}(?:(?:{_ZH_JOINED.pattern}){_ZH_ITEM})+)(?P<end>了?)。"
)
_ZH_ALLERGY = re.compile(
    rf"(?P<opening>用户对)(?P<items>{_ZH_ITEM}(?:(?:{_ZH_JOINED.pattern}){_ZH_ITEM})+?)都?(?P<end>过敏)。"
)
_EN_VERB = (
    r"subscribes to|pays for|uses|has|owns|plays|speaks|likes|loves|enjoys|hates|dislikes|drinks|eats|collects|watches|"
    r"is allergic to|bought|got|adopted|takes|studies|is learning|doesn't (?:like|eat|drink)|can't stand|"
    r"is (?:studying|reading|taking|watching|playing|into|afraid of|scared of)|can (?:play|speak)|grows|keeps|rides|"
    r"wears|follows|supports|teaches|practi[cs]es|adores|avoids|misses|raises|breeds|bakes|knits|drives|"
    r"has (?:got|a fear of|an allergy to|tickets for|shares in)|listens to|suffers from|belongs to|codes in|"
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
_ONE_THING = re.compile(
    r"\b(?:rock (?:and|&) roll|mac and cheese|fish and chips|salt and|black and|sweet and sour|peanut butter and"
    r"|bed and|research and|arts and|trial and|odds and|ups and|back and|more and"
    r"|and (?:so on|more|stuff|everything|such))\b",
    re.IGNORECASE,
)


def split_enumeration(statement: str, *, language: Language) -> list[str]:
    """The statements in `statement`, a sentence in the third person: one for each thing enumerated, or itself."""
    patterns, joined, stop = ((_ZH, _ZH_ALLERGY), _ZH_JOINED, "。") if language == "zh" else ((_EN,), _EN_JOINED, ".")
    found = next(filter(None, (pattern.fullmatch(statement) for pattern in patterns)), None)
    if found is None or _ONE_THING.search(statement):
        return [statement]
    items = [item.strip() for item in joined.split(found["items"])]
    if len(items) > _MOST_ITEMS or not all(items):
        return [statement]
    return [f"{found['opening']}{item}{found['end']}{stop}" for item in items]
