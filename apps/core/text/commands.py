"""What a person tells the memory itself: remember …, forget …, what do you remember (SPEC L9). Pure.

A few plain patterns at the start of a sentence, in English and Chinese. What is quoted or pasted (quotation marks, a
code fence, the text after "translate:") is never a command, nor is a question about the past ("Do you remember when
…?") or an idiom ("Forget it.").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apps.core.text.fold import fold
from apps.core.text.instructions import is_instruction
from apps.core.text.quotations import WRITTEN, find_quotations
from apps.core.text.scripts import holds_chinese
from apps.core.text.sentences import split_sentences


class CommandKind(StrEnum):
    """What is to be done."""

    REMEMBER = "remember"
    FORGET = "forget"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `text`: what to keep, word for word; or what to forget, as it was named; "" for LIST.

    `everything`: of FORGET, that all that concerns `text` is meant, and all there is where `text` is "".
    """

    kind: CommandKind
    text: str = ""
    everything: bool = False


def read_commands(text: str) -> list[Command]:
    """Return the commands in a person's message, in order, none twice; most messages have none."""
    if not _TRIGGER.search(text):
        return []
    commands: list[Command] = []
    for block in _split_blocks(text):
        commands += _read_block(block)
    return list(dict.fromkeys(commands))


def is_only_list(text: str) -> bool:
    """Whether a message asks what is remembered, commands something besides at most, and says nothing else."""
    lines = [line for block in _split_blocks(text) for line in block]
    kinds = {command.kind for command in read_commands(text)}
    return CommandKind.LIST in kinds and all(
        line.quoted is False and (_is_greeting(line.text) or _read_line(line.text) is not None) for line in lines
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence. `quoted`: it begins within a quotation or a pasted text; `ends_line`: a line break follows it."""

    text: str
    quoted: bool
    ends_line: bool


_Block = Sequence[_Line]
"""The sentences of one paragraph."""

_TRIGGER = re.compile(
    r"(?i)remember|memor|forget|mind|note|down\b|save|store|know|delete|erase|remove|clear|wipe|drop|take|put|commit"
    r"|add|learn"
    r"|[记記忘删刪清抹去移知了存保列顯显展掌]"
)
"""Without any of these a text holds no command, which settles most messages."""

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_WORK_ON_TEXT = re.compile(
    r"(?i)^\W*+(?:(?:please|pls|can you|could you|would you|help me|i need you to|now|and)\W++)*+"
    r"(?:translate|proofread|correct|fix|edit|polish|summari[sz]e|rewrite|rephrase|paraphrase|improve|explain"
    r"|analy[sz]e)\b"
    r"|(?:翻译|润色|改写|校对|改错|修改|总结|概括|缩写|扩写|解释|分析)(?:一下|成|为|下面|以下|这|：|:|$)"
    r"|\b(?:translate|translation)\b"
)
_CITES = re.compile(
    r"(?i)\b(?:said|says|wrote|writes|told me|asked|goes|sings?|sang|reads|lyrics?|poem|quote|subject|text|email"
    r"|message"
    r"|line|translate|fix|correct|grammar)\b[^:：.!?]{0,60}[:：]\s{0,9}\S"
    r"|(?:说|写道|写|唱|告诉我|问|歌词|台词|原文|短信|邮件|消息|这句话?|这段话?|如下|翻译|润色|改写"
    r"|修改)[^：:。！？]{0,12}[：:]\s{0,9}\S"
)


def _split_blocks(text: str) -> Iterator[_Block]:
    """The paragraphs of a message as sentences; what follows "translate:" is quoted to the end."""
    quoted = find_quotations(text, WRITTEN)
    position, pasted, block = 0, False, list[_Line]()
    for sentence in split_sentences(text, keep=quoted):
        begin, position = position + len(sentence) - len(sentence.lstrip()), position + len(sentence)
        inside = any(start <= begin < end for start, end in quoted)
        stripped = sentence.strip()
        line_ends = "\n" in sentence[len(sentence.rstrip()) :]
        if stripped:
            block.append(_Line(stripped, inside or pasted, line_ends))
            works = bool(_WORK_ON_TEXT.search(stripped)) and not inside
            cites = bool(_CITES.search(stripped)) and _read_line(stripped) is None and not inside
            ends_open = stripped.endswith((":", "：")) or line_ends
            pasted = pasted or (works and (ends_open or ":" in stripped or "：" in stripped)) or cites
        if _PARAGRAPH.search(sentence):
            yield block
            # A pasted text may have paragraphs of its own; what somebody else said ends with its own.
            block = []
    if block:
        yield block


# --- English -------------------------------------------------------------------------------------------------------

_OPENER = (
    r"(?:(?:(?:hey|hi|hello)(?:\s{1,9}(?:there|\w+(?=\s{0,9}[,!])))?|ok|okay|so|and|also|oh|well|now|then|but|btw"
    r"|by the way|one more thing|yes|yeah"
    r"|no|thanks|thank you|great|for the record|for future reference|just so you know)\b[\s,!.:;—–-]*)*+"
)
_ASKED = r"(?:can|could|would|will) you (?:please |kindly |just )*"
_POLITE = (
    rf"(?:{_ASKED}|please,? |pls |kindly |just |always |do |now |also |try to |be sure to "
    rf"|make sure (?:that )?(?:you |to )"
    r"|i(?:'d| would) like you to |i (?:want|need) you to |you (?:can|should|must|may|need to|have to) (?:now "
    r"|just )?)*+"
)
_START = rf"(?i)^\W*+{_OPENER}{_POLITE}"

_KEEP = (
    r"(?P<verb>remember|memori[sz]e|keep in mind|bear in mind|(?:don't|do not|never|dont) (?:ever )?forget"
    r"|(?:make|take|keep) (?:a )?(?:mental )?note(?: of)?|(?:write|note|jot) (?:it |this )?down"
    r"|(?:save|store|put|commit|add)(?= (?:this|that|the following|it|to|in)\b))"
)
_THIS = r"(?: (?:this|it|the following|these things?|one thing|something))?"
_ASIDE = r"(?: (?:for me|for later|for next time|for the future|(?:in|to) (?:your |the )?memory|about me|please|well))*"
_REMEMBER = re.compile(
    rf"{_START}{_KEEP}(?:(?P<fact>{_ASIDE},? that)\b|(?P<colon>{_THIS}{_ASIDE}\s{{0,9}}(?:[:：]|\s[-–—]))"
    rf"|(?P<comma>{_ASIDE},)"
    r"|(?P<to> to)\b|(?P<bare>))\s{0,9}(?P<rest>.*)$",
    re.DOTALL,
)
_IS_ASKED = re.compile(rf"(?i)^\W*+{_OPENER}{_ASKED}")
_NO_STATEMENT = re.compile(
    r"(?i)^(?:when|how|what|who|whom|whose|where|why|which|if|whether|me|us|him|them|those|back|it|this|that"
    r"|(?:the|that|this) (?:times?|days?(?! care)|nights?|summer|winter|last|first|one|guy|girl|song|movie|film)"
    r"|anything|something|nothing|correctly|right|well)\b"
)
_ONLY_TIMES = re.compile(r"(?i)^(?:time|times|day when|night when|one time|guy|girl)\b")
_ALONE = re.compile(
    rf"{_START}(?:remember|memori[sz]e|note|keep in mind|don't forget|do not forget|save|make a note of)"
    rf" (?:this|that|it)(?: down)?{_ASIDE}(?P<colon>[:：]?)[\s.!]*$"
)
_AFTERWARDS = re.compile(
    r"(?i)^(?P<said>.+?)\s{0,9}[,;—–-]\s{0,9}(?:so |and |but )?(?:(?P<polite>please,? |pls |can you (?:please )?)?"
    rf"(?:remember|keep in mind|don't forget|note|make a note of)(?P<it> (?:this|that|it))?(?: down)?{_ASIDE})[\s.!]*$",
    re.DOTALL,
)
_LATER_CLAUSE = re.compile(
    r"(?i)[,;—–]\s{0,9}(?:so |and |but )?(?:please remember that|please keep in mind that|please don't forget that"
    r"|can you remember that|remember that)\s{1,9}"
)
_FRAGMENT = re.compile(r"(?i)^(?:my|the|our|his|her|a|an)?\s{0,9}[\w'-]+(?:\s{1,9}[\w'-]+)?[.!?]*$")

_ALL_OF = (
    r"(?P<all>(?:everything|anything|all|whatever|what)(?: (?:of )?(?:that )?)?\s{0,9}(?:you(?:'ve| have)? (?:ever )?"
    r"(?:know|knew|remember|learned|learnt|stored|saved|noted|have|got)(?: stored| saved| noted)?|there is"
    r"|i(?:'ve| have)? (?:ever )?(?:told|said to|shared with) you)?\s{0,9}(?:about|on|of|regarding|concerning"
    r"|to do with)\s{1,9})"
)
_FORGET = re.compile(
    rf"{_START}(?:forget|stop remembering|(?:don't|do not|no longer) remember|unlearn)(?:(?P<about> all)? about)?"
    rf"(?:,? (?:the fact )?that\s{{1,9}}(?P<fact>.+)|:\s{{0,9}}(?P<named>.+)"
    rf"|\s{{1,9}}{_ALL_OF}(?P<topic>.+)|\s{{1,9}}(?P<what>.+))$",
    re.DOTALL,
)
_MEMORY = r"(?:memor(?:y|ies)|notes?|entr(?:y|ies)|facts?|records?|information|data)"
_DELETE = re.compile(
    rf"{_START}(?:delete|erase|remove|clear|wipe|drop|take)\s{{1,9}}(?:(?P<every>all|every|any|everything)\s{{1,9}})?"
    rf"(?:(?:the |your |my |of )*{_MEMORY}(?: you have)?\s{{1,9}}(?:about|of|on|that|regarding)\s{{1,9}}(?P<topic>.+)"
    r"|(?:what|everything|all|anything|that)?\s{0,9}(?:that )?you (?:know|remember|have stored|have saved"
    r"|have)\s{1,9}(?:about|on|of)"
    r"\s{1,9}(?P<known>.+)"
    r"|(?P<what>.+?)\s{1,9}(?:from|out of)\s{1,9}(?:your |the |my )?memor(?:y|ies))[\s.!]*$",
    re.DOTALL,
)
_ALL_MINE = re.compile(
    rf"{_START}(?:(?:delete|erase|clear|wipe|remove)\s{{1,9}}(?:all |every |everything |the |of )*(?:my|your) (?:whole "
    rf"|entire )?"
    r"(?:memory|memories)(?: (?:about|of) me)?|forget (?:everything|all)(?: (?:that )?you(?:'ve| have)? "
    r"(?:know|remember|learned|stored|saved))?(?: about me)?(?<!everything)(?<!all))[\s.!?]*$"
)
_ABOUT_ME = re.compile(r"(?i)^(?:me|myself|us)[\s.!?]*$")
_IDIOM = re.compile(
    r"(?i)^(?:it|that|this|him|her|them|you|me|us|what (?:i|we|he|she|they|you)(?: just| have|'ve)? (?:said|asked"
    r"|wrote|meant"
    r"|mentioned)|i (?:said|asked|mentioned|ever)|(?:the|my|your|all|any) (?:previous|last|above|earlier)|to\b|your "
    r"|the past"
    r"|everything|anything|all|nothing|how to|how|when|where|why|who|whether|if)\b(?! birthday| name)"
)
_WHAT_FOR_REAL = re.compile(
    r"(?i)^(?:what|everything|all|anything) i(?: just|'ve| have)? (?:said|told you|mentioned|wrote) (?:earlier "
    r"|before )?about\s{1,9}"
    r"(?P<topic>.+)$",
    re.DOTALL,
)
_THEN_ELSE = re.compile(
    r"(?i)[,;—–-]\s{0,9}(?:let'?s?|let me|i'?\w*|we'?\w*|just|how|what|it'?s?|you|show|tell|give|can|do|try|she|he|they"
    r"|never)\b"
)
_TAIL = re.compile(
    r"(?i)[\s,]{0,20}+(?:please|for me|right now|now|completely|forever|ok(?:ay)?|(?:from|in) (?:your |the )?memory"
    r"|any ?more|any longer"
    r"|thanks|thank you)?[\s.!?]{0,20}+$"
)
_KNOWN = r"(?:remember|know|recall|have (?:stored|saved|noted|learned)|(?:stored|saved|noted|learned))"
_LIST = re.compile(
    rf"{_START}(?:(?:so )?what (?:all |exactly |else )*(?:do|did|can|have) you (?:actually |really |currently "
    rf"|still |all |now )*"
    rf"(?:{_KNOWN}|remembered)(?: so far| already)*(?: (?:about|of|on) (?:me|myself))?(?P<bare>)"
    r"|(?:show|list|tell|give)(?: me)? (?:a list of )?(?:everything|all|all of|what|whatever|all the (?:things"
    r"|memories)|the things)"
    rf"(?: that)?(?: you(?:'ve| have)?(?: all| currently)? (?:{_KNOWN}|remembered))(?: so far)?(?: (?:about|of|on) me)?"
    r"|(?:show|list|display)(?: me)?(?: all)?(?: of)? (?:my|your) memories(?: (?:about|of) me)?"
    r"|what(?:'s| is) (?:stored )?in (?:your|my) memory(?: about me)?"
    r"|what memories do you have(?: (?:about|of) me)?"
    r"|do you (?:remember|know) anything about me)"
    r"(?: so far| already| by now| right now| now| at the moment| today| exactly| then| please|, please)*[\s.!?]*$"
)

# --- Chinese -------------------------------------------------------------------------------------------------------

_OPENER_ZH = (
    r"(?:(?:对了|好的?|嗯+|哦|噢|啊|那么?|另外|还有|顺便|然后|哎|诶|喂|你好呀?|嗨|拜托|谢谢|不好意思|话说|顺便说一下"
    r"|助手|小助手)"
    r"[，,、！!。~～\s]*)*+"
)
_POLITE_ZH = (
    r"(?:请|麻烦|帮我|帮忙|替我|给我|你|要|一定|务必|能不能|可不可以|可以|能否|能|千万|也|先|再|就|得|应该|最好|希望|"
    r"我(?:想|要|希望)(?:让|请)?(?=你))*+"
)
_START_ZH = rf"^\W*+{_OPENER_ZH}{_POLITE_ZH}"
_KEEP_ZH = (
    r"(?:记住|记下来|记下|记一下|记着|记录一下|记录下来|记录|记个笔记|记(?=[：:])|(?<=[请要定必千万我烦])记得|别忘了"
    r"|别忘记了?"
    r"|不要忘了|不要忘记了?|勿忘|(?:保存|存)(?:一下|下来)?(?=[：:]))"
)
_REMEMBER_ZH = re.compile(
    rf"{_START_ZH}{_KEEP_ZH}(?:一下|下来|哦|噢|啊|呀|哈|吧|好|了(?=[：:，,]))*\s{{0,9}}"
    r"(?P<colon>(?:这(?:件事|个|些|一?点|句话)?|以下(?:内容|信息|几点)?|下面(?:的)?(?:内容|信息|几点)?)?[：:]"
    r"|[，,、]|\s)?\s{0,9}"
    r"(?P<rest>.*)$",
    re.DOTALL,
)
_LATER_CLAUSE_ZH = re.compile(
    r"[，,；;]\s{0,9}(?:所以|还有|另外)?(?:请你?|麻烦你?|帮我|帮忙|你要?|要|一定要?|务必)+"
    r"(?:记住|记下来|记下|记一下|记着|记得|记录一下|别忘了)(?:一下|哦|啊|呀)*[：:，,\s]*"
)
_AFTERWARDS_ZH = re.compile(
    r"^(?P<said>.+?)[，,；;\s]\s{0,9}(?:请你?|麻烦你?|帮我|帮忙|你|要|一定|务必|可要|千万)*"
    r"(?:记住|记下来?|记一下|记着|记得|别忘了|别忘记|不要忘了|不要忘记)(?:这(?:个|件事|一?点)?|它)?(?:了|一下|哦|啊"
    r"|呀|哈|吧)*[。！!~～\s]*$",
    re.DOTALL,
)
_ALONE_ZH = re.compile(
    rf"{_START_ZH}(?:把?这(?:个|些|件事|一?点|句话)?(?:要|请|都)?)?(?:帮我|请你?|要)?(?:记住|记下来?|记一下|记着"
    rf"|别忘了|不要忘了)"
    r"(?:这(?:个|些|件事|一?点|句话)?|它|以下内容)?(?:哦|啊|呀|哈|吧|一下)*(?P<colon>[：:]?)[。！!~～\s]*$"
)
_ASKS_ZH = re.compile(r"(?:吗|没有?|么|呢)?\s{0,9}[？?]{1,20}+\s{0,9}$|(?:了吗|了没有?|记住没|得吗)[。!！\s]*$")
_IS_ASKED_ZH = re.compile(rf"^\W*+{_OPENER_ZH}(?:你?(?:能不能|可不可以|可以|能否|能))")
_FRAGMENT_ZH = re.compile(r"^(?:我|你|他|她|它)?的?[^是为叫有在要会不了去到对\d]{0,4}[。！!？?~]*$")

_FORGET_ZH = (
    re.compile(
        rf"^\W*+{_OPENER_ZH}(?P<polite>{_POLITE_ZH})(?P<verb>忘掉|忘记|忘了|忘却|别再记得|别记得|别再记着|别再记住"
        r"|(?:不要|不用|不必|无需|无须|别)再?(?:记得|记住|记着|记录|记))(?P<what>.+)$",
        re.DOTALL,
    ),
    re.compile(
        rf"{_START_ZH}(?:把|将)(?P<what>.+?)(?:都|全都?|彻底|完全|给){{0,4}}(?:忘掉|忘记|忘了)(?:吧|啊|了)*[。！!~\s]*$",
        re.DOTALL,
    ),
    re.compile(
        rf"{_START_ZH}(?:删掉|删除|删去|删了|清除|清空|抹掉|抹去|去掉|移除)(?:所有|全部|一切|你){{0,4}}(?:关于|有关|对于?)"
        r"(?P<what>.+?)(?:的)?(?P<every>所有|全部|一切)?的?(?:记忆|记录|信息|内容|资料|事情?)[吧啊。！!~\s]*$",
        re.DOTALL,
    ),
    re.compile(
        rf"{_START_ZH}(?:把|将)(?P<from>从?你?的?记忆(?:里|中)?)?(?:所有|全部|你){{0,4}}(?:关于|有关|对于?)?(?P<what>.+?)"
        r"(?:的(?P<every>所有|全部|一切)?(?:记忆|记录)|从(?:你的?)?记忆(?:里|中)?)(?:都|全都?|从记忆(?:里|中)?){0,4}"
        r"(?:删掉|删除|删去|删了|清除|抹掉|抹去|去掉|移除)[吧啊。！!~\s]*$",
        re.DOTALL,
    ),
    re.compile(
        rf"{_START_ZH}从(?:你的?)?记忆(?:里|中)(?:删掉|删除|去掉|移除|抹掉)(?P<what>.+)$",
        re.DOTALL,
    ),
)
_ALL_OF_ZH = re.compile(
    r"^(?:你)?(?:所?(?:知道|记得|记住|了解)的)?(?:关于|有关|对于?)(?P<topic>.+?)的?(?P<all>一切|所有(?:的)?(?:事情?"
    r"|信息|内容|记忆|东西)?|"
    r"全部(?:的)?(?:事情?|信息|内容|记忆)?|事情?|记忆|信息|内容)?$"
)
_ALL_MINE_ZH = re.compile(
    rf"{_START_ZH}(?:(?:清空|清除|删除|删掉|抹掉)(?:你|我)?的?(?:所有|全部)(?:的)?(?:记忆|记录)|清空(?:你的|我的)?记忆"
    r"|(?:忘掉|忘记)(?:你(?:知道|记得)的)?(?:关于|有关)?我的(?:一切|所有(?:事情?|信息|记忆)?|全部)"
    r"|(?:把|将)(?:你(?:知道|记得)的)?(?:关于|有关)?我的(?:一切|所有(?:事情?|信息|记忆)?|全部)(?:都|全)*(?:忘掉|忘了"
    r"|忘记|删掉|删除))[吧啊。！!~\s]*$"
)
_IDIOM_ZH = re.compile(
    r"^(?:它|他吧|她吧|这(?:个|件事|些|一切)?吧?|那(?:个|件事|些)?吧?|我?(?:刚才|刚刚|上面|前面|之前)(?:说|问|讲|提"
    r"|写)?.{0,6}|烦恼.*|过去.*"
    r"|一切.*|自己.*|所有(?:的)?|我吧|我们|我$|忧愁.*|悲伤.*|时间.*|了|吧|啦|带.*|买.*|拿.*|关.*门|怎么.*|如何.*"
    r"|什么.*)$"
)
_TAIL_ZH = re.compile(r"(?:这件事情?|这回事|这个事实)?(?:吧|啦|了|好吗|可以吗|谢谢|，|,|。|！|!|？|\?|~|～|\s){0,20}+$")
_ADVERBS_ZH = r"(?:都|还|现在|目前|到底|究竟|已经|一共|总共|至今)*+"
_WHAT_ZH = r"(?:了|些|着)*(?:什么|哪些|啥|多少)(?:样)?(?:的)?(?:事情?|内容|信息|东西|记忆|资料)?"
_LIST_ZH = re.compile(
    rf"{_START_ZH}(?:告诉我|说说|说一下)?(?:"
    rf"你?{_ADVERBS_ZH}(?:记得|记住了?|记了|记着|记下了?|记录了?|保存了?|存了){_ADVERBS_ZH}(?:关于"
    rf"|有关)?(?:我)?的?{_ADVERBS_ZH}{_WHAT_ZH}"
    rf"|你?{_ADVERBS_ZH}(?:知道|了解|掌握){_ADVERBS_ZH}(?:关于|有关)?我的?{_ADVERBS_ZH}{_WHAT_ZH}"
    rf"|(?:关于|有关|对于?)我的?(?:事情?)?[，,\s]*你?{_ADVERBS_ZH}(?:记得|记住|知道|了解|记了"
    rf"|有){_ADVERBS_ZH}{_WHAT_ZH}"
    rf"|你?{_ADVERBS_ZH}对我{_ADVERBS_ZH}(?:了解|知道|记得|有){_ADVERBS_ZH}{_WHAT_ZH}"
    r"|你的?记忆(?:里|中)(?:都|现在)*(?:有|存了)(?:我的?|关于我的?)?(?:些)?(?:什么|哪些|啥)(?:内容|东西)?"
    r"|(?:列出|列一下|显示|展示|看看|看一下|说出)(?:所有|全部)?(?:你)?(?:都)?(?:记得|记住|知道|记下|保存)的?(?:所有"
    r"|全部)?(?:关于我|我)?的?"
    r"(?:所有|全部|一切|事情?|内容|信息|记忆|东西)*"
    r"|(?:列出|列一下|显示|展示|看看|看一下)(?:关于)?我的(?:所有|全部)?的?记忆"
    r"|把?你(?:所)?(?:记得|记住|知道)的(?:关于)?(?:我的?)?(?:一切|所有|全部|事情?|内容|东西)*(?:都|全)*(?:列出来"
    r"|列给我|说出来|告诉我|列一遍|说一遍)"
    r")(?:呢|呀|啊|吧|了|来着)*[。！!？?~\s]*$"
)

_GREETING = re.compile(
    rf"(?i)^\W*+{_OPENER}(?:there|everyone|good (?:morning|evening|afternoon))?\W*$|^\W*+{_OPENER_ZH}(?:请问|早上好"
    rf"|晚上好|下午好)?\W*$"
)
_THANKS = re.compile(r"(?i)^\W*+(?:thanks|thank you|thx|cheers|谢谢|谢了|多谢|拜托了?|辛苦了?).{0,12}$")
_CLOSING = re.compile(
    r"(?i)[,，、\s]{1,20}+(?:please|thanks|thank you|ok(?:ay)?|谢谢(?:你|您|啦|了)?|多谢|好吗|好吧|可以吗"
    r"|拜托了?)[\s.!?。！？~]{0,20}+$"
)


def _read_block(block: _Block) -> Iterator[Command]:
    taken: set[int] = set()
    for index, line in enumerate(block):
        if line.quoted or index in taken:
            continue
        alone = _ALONE.match(_plain(line.text)) or _ALONE_ZH.match(_plain(line.text))
        if alone:
            said = _collect_before(block, index) if not alone["colon"] else []
            said = said or _collect_after(block, index, taken=taken, lines=True)
            if said:
                yield Command(CommandKind.REMEMBER, "\n".join(said))
            continue
        command, goes_on = _read_line(line.text) or (None, False)
        if command is None:
            continue
        if goes_on:
            follows = _collect_after(block, index, taken=taken, lines=not command.text)
            glue = "" if holds_chinese(command.text) else " "
            text = glue.join([command.text, *follows]) if command.text else "\n".join(follows)
            command = Command(command.kind, text.strip())
        if command.text or command.kind is not CommandKind.REMEMBER:
            yield command


def _collect_before(block: _Block, index: int) -> list[str]:
    """What "remember this" looks back at: the statements of its paragraph before it."""
    before = [line for line in block[:index] if not line.quoted and _is_statement(line.text)]
    return [line.text for line in before]


def _collect_after(block: _Block, index: int, *, taken: set[int], lines: bool) -> list[str]:
    """The statements that follow a colon: of the same line, or of the paragraph's `lines`."""
    found: list[str] = []
    if block[index].ends_line and not lines:
        return found
    for at in range(index + 1, len(block)):
        if not _is_statement(block[at].text):
            break
        taken.add(at)
        found.append(block[at].text)
        if block[at].ends_line and not lines:
            break
    return found


def _is_statement(text: str) -> bool:
    is_talk = _is_greeting(text) or bool(_THANKS.match(text))
    return not is_talk and not text.rstrip("\"'”」) ").endswith(("?", "？")) and _read_line(text) is None


def _is_greeting(text: str) -> bool:
    return bool(_GREETING.match(text) or _THANKS.match(text))


def _read_line(text: str) -> tuple[Command, bool] | None:
    """The command that a sentence is, and whether what follows (after a colon) belongs to it."""
    plain = _plain(text)
    if _LIST.match(plain) or _LIST_ZH.match(plain):
        return Command(CommandKind.LIST), False
    return _read_forget(plain, text) or _read_remember(plain, text)


def _plain(text: str) -> str:
    """`text` with straight apostrophes and in simplified Chinese, where that leaves every character in its place."""
    folded = fold(text)
    return (folded if len(folded) == len(text) else text).replace("’", "'")


def _read_remember(plain: str, text: str) -> tuple[Command, bool] | None:
    """`text` is the sentence as it was said: what is kept is cut out of it."""
    asks = plain.rstrip("\"') ").endswith(("?", "？")) or bool(_ASKS_ZH.search(plain))
    if found := _REMEMBER.match(plain):
        is_plain_ask = bool(_IS_ASKED.match(plain)) and (found["fact"] is not None or found["colon"] is not None)
        if asks and not is_plain_ask:
            return None
        rest = text[found.start("rest") :]
        if found["colon"] is not None:
            return _keep(rest, goes_on=True)
        if found["to"] is not None:
            return _keep(text[found.start("verb") :])
        if found["fact"] is not None:
            return None if _ONLY_TIMES.match(rest) else _keep(rest, asks=asks)
        if found["verb"].lower() in ("remember", "keep in mind", "bear in mind") or "forget" in found["verb"].lower():
            return None if _NO_STATEMENT.match(rest) or _FRAGMENT.match(rest) else _keep(rest)
        return None
    if asks and not _IS_ASKED_ZH.match(plain):
        return None
    if found := _REMEMBER_ZH.match(plain):
        rest = _ASKS_ZH.sub("", text[found.start("rest") :]) if asks else text[found.start("rest") :]
        colon = (found["colon"] or "").endswith((":", "："))
        if not colon and (not rest.strip() or _FRAGMENT_ZH.match(rest) or rest.startswith(("了", "不", "没", "的"))):
            return None
        return _keep(rest, goes_on=colon)
    if asks:
        return None
    for pattern in (_AFTERWARDS, _AFTERWARDS_ZH):
        found = pattern.match(plain)
        if found and (pattern is _AFTERWARDS_ZH or found["it"] or found["polite"]):
            said = text[: found.end("said")]
            if _is_statement(said):
                return _keep(said)
    # What follows in Chinese has no question in it.
    for pattern, start in ((_LATER_CLAUSE, 0), (_LATER_CLAUSE_ZH, max(plain.rfind("?"), plain.rfind("？")) + 1)):
        if (found := pattern.search(plain, start)) and plain[found.end() :].strip():
            return _keep(text[found.end() :])
    return None


def _keep(text: str, *, goes_on: bool = False, asks: bool = False) -> tuple[Command, bool] | None:
    kept = _CLOSING.sub("", text.strip()).strip()
    kept = kept.rstrip("?？ ") if asks else kept
    if not re.search(r"\w", kept) and not goes_on:
        return None
    return Command(CommandKind.REMEMBER, kept), goes_on


def _read_forget(plain: str, text: str) -> tuple[Command, bool] | None:
    if _ALL_MINE.match(plain) or _ALL_MINE_ZH.match(plain):
        return Command(CommandKind.FORGET, everything=True), False
    command = _read_forget_english(plain, text) or _read_forget_chinese(plain, text)
    return None if command is None or is_instruction(plain) else (command, False)


def _read_forget_english(plain: str, text: str) -> Command | None:
    asks = plain.rstrip().endswith("?") and not _IS_ASKED.match(plain)
    found = _DELETE.match(plain) or _FORGET.match(plain)
    if found is None or asks:
        return None
    groups = found.groupdict()
    name = next(name for name in ("fact", "named", "topic", "known", "what") if groups.get(name) is not None)
    what = text[found.start(name) : found.end(name)]
    everything = name == "known" or any(map(groups.get, ("all", "every", "about")))
    if everything and _ABOUT_ME.match(_plain(what)):
        return Command(CommandKind.FORGET, everything=True)
    if name == "what" and (said := _WHAT_FOR_REAL.match(_plain(what))):
        what = what[said.start("topic") :]
    elif name == "what" and (_IDIOM.match(_plain(what)) or _THEN_ELSE.search(_plain(what))):
        return None
    what = _TAIL.sub("", what).strip()
    return Command(CommandKind.FORGET, what, everything) if what and not _ABOUT_ME.match(what) else None


def _read_forget_chinese(plain: str, text: str) -> Command | None:
    if _ASKS_ZH.search(plain) and not _IS_ASKED_ZH.match(plain):
        return None
    for pattern in _FORGET_ZH:
        found = pattern.match(plain)
        if found is None:
            continue
        groups = found.groupdict()
        # 忘了 and 忘记 without a word of request tell what somebody forgot (忘了带钥匙).
        if groups.get("verb") in ("忘记", "忘了") and not re.search(
            "请|麻烦|帮|替|给|希望|让|可以|能", groups["polite"] or ""
        ):
            return None
        what = _TAIL_ZH.sub("", text[found.start("what") : found.end("what")]).strip(" ：:，,")
        if _IDIOM_ZH.match(_plain(what)):
            return None
        everything = groups.get("every") is not None or "所有" in found.group() or "全部" in found.group()
        if part := _ALL_OF_ZH.match(_plain(what)):
            everything = everything or (part["all"] or "").startswith(("一切", "所有", "全部", "事"))
            what = what[part.start("topic") : part.end("topic")]
        if what in ("我", "我的"):
            return Command(CommandKind.FORGET, everything=True) if everything else None
        return Command(CommandKind.FORGET, what, everything) if what else None
    return None
