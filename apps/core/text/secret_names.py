"""Find secrets that are known by what names them: "my password is …", `API_KEY=…`, 验证码：… (D4). Pure.

The names are in `data/secrets.toml`. What stands where a value would is none where it is a word that a sentence goes on
with, a type of a language, a variable, or a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from apps.core.text.secret_forms import ONLY_LETTERS, Found, ReadText, SecretKind, is_placeholder, load_patterns


def any_name(name: str) -> str:
    """Return the pattern of all that a kind of secret is called."""
    return f"(?:{'|'.join(load_patterns()['names'][name])})"


# What stands between a name and its value.
_ASSIGNS = r"[\"'`\]*]{0,3}\s{0,3}(?::=|(?<=[\"']),|=>|->|→|===?|=|:\*{0,2})"
_OF = r"(?:\s(?:for|of|to|on|in|at|with)\s[^.!?\n:;,=]{1,40}?)?"
_IS = rf"(?:{_ASSIGNS}|{_OF}\s(?:is|was|are|will be|becomes|should be)\s?:?)"
_NOW = r"(?:\s?(?:now|still|currently|just|simply|set to|changed to)\b){0,2}"
_IS_ZH = r"(?:就?是|[为為]|[改设換换定]置?[成为為]?了?|叫|=|:)"
# A value: in quotation marks, else up to a blank or a mark that ends a clause.
_QUOTED = r"\"([^\"\n]{3,200})\"|'([^'\n]{3,200})'|`([^`\n]{3,200})`|\*\*([^*\n]{3,200})\*\*"
_WORD = r"([^\s\"'`,;，；。、！？（）()<>\[\]{}|]{3,200})"
# With a digit and a letter, as no word has.
_TELLING = r"(?=[^\s\d]{0,40}\d)(?=[\d!-/]{0,40}[a-z])"

_QUOTES = 4  # groups of `_QUOTED`


@cache
def _compile_passwords() -> tuple[re.Pattern[str], re.Pattern[str]]:
    name = any_name("password")
    return re.compile(
        rf"{name}\d?(?:{_IS}{_NOW}|{_OF}\s(?:is |was )?(?:set|changed|reset) to|\s(?=[\"'`]))"
        rf"\s{{0,3}}(?:{_QUOTED}|{_WORD})"
        # Further behind it, or without a verb, only what no word looks like.
        rf"|{name}[^.!?\n:;,=]{{1,40}}?\s(?:is|was)\s({_TELLING}[!-~]{{6,64}})"
        rf"|{name}\s({_TELLING}[!-~]{{5,64}})"
        rf"|(?<![a-z])pass(?:\s|[\"']?[=:]\s?[\"']?)({_TELLING}[!-~]{{5,64}})"
        r"|<(?:[a-z]{1,12}[-_])?password>([^<\s]{3,100})</"
        r"|--pass(?:word|wd)?[ =]([^\s\"']{3,100})"
        r"|mysql[^\n]{0,60}\s-p([^\s\"']{4,100})"
    ), re.compile(
        rf"{any_name('password_zh')}(?!{any_name('password_zh_not')})[^，。！？；,;!?\n0-9a-z是为為:=]{{0,10}}"
        rf"{_IS_ZH}[\s\"']{{0,3}}([!-~]{{4,100}})"
        r"|(?:密码|密碼|口令)[^\d。！？\n]{0,24}[是为:]\s?(\d{4,12})(?![\d.]|[位个次天年月元条种])"
        r"|(?:密码|密碼|口令)[\s\"'`(]{0,2}(?=[!-~]{0,20}\d)([!-~]{4,64})"
        rf"|(?:密码|密碼|口令)[\u4e00-\u9fff]{{1,10}}\s?{_TELLING}([!-~]{{6,64}})"
    )


# "hunter2 is my password": the value stands before it.
_PASSWORD_AFTER = re.compile(
    r"\s?(?:(?:is|as)\s(?:my|the|our|your|his|her|their|a)\s(?:[\w-]{1,20}\s){0,2}"
    r"(?:password|passcode|pass ?phrase|pin)\b|(?:就?是|作为|当|做|设为)[^，。！？\n]{0,8}(?:密码|口令))"
)
_LONGEST_BEFORE = 80
_UNIT = re.compile(
    r"\s?(?:char|character|letter|digit|symbol|day|week|month|minute|hour|year|time|bit|byte"
    r"|位|个|字|天|次|月|年|分钟|小时|项|种|条)"
)
_CLAUSE_END = re.compile(r"\s{0,3}(?:$|[\n.,;!?，。；！？)）\"'`]|\b(?:and|but|for|so|please|by the way)\b)")
_VARIABLE = re.compile(r"[a-z_$][\w$]*(?:(?:\.|->|::)[a-z_$][\w$]*)+", re.ASCII)
_NAMED_VALUE = re.compile(r"[a-z_]+=\w")
_NO_VALUE = ("http://", "https://", "/", "self.", "--", "->")


@cache
def list_no_values() -> frozenset[str]:
    """Words that stand where a password would, and are none."""
    return frozenset(load_patterns()["values"]["no"].split())


def _find_passwords(text: ReadText) -> Found:
    plain, lowered = text.plain, text.lowered
    if not any(name in lowered for name in ("pass", "pw", "码", "密碼", "口令", "contrase")):
        return
    english, chinese = _compile_passwords()
    for pattern in (english, chinese):
        for found in pattern.finditer(lowered):
            at = found.lastindex or 1
            start, end = found.span(at)
            quoted = pattern is english and at <= _QUOTES
            value = plain[start:end] if quoted else plain[start:end].rstrip(".,;:?)\"'`")
            end = start + len(value)
            spaced = pattern is english and lowered[start - 1] in " \t\n"
            if _is_password(value, after=lowered[end : end + 24], quoted=quoted, spaced=spaced):
                yield start, end, SecretKind.PASSWORD
    for found in _PASSWORD_AFTER.finditer(lowered):
        begun = max(found.start() - _LONGEST_BEFORE, 0)
        value = re.split(r"[\s，。：:；、\u4e00-\u9fff]", plain[begun : found.start()])[-1].strip("\"'`")
        if any(map(str.isdigit, value)) and _is_password(value, after="", quoted=False, spaced=False):
            start = plain.rindex(value, begun, found.start())
            yield start, start + len(value), SecretKind.PASSWORD


def _is_password(value: str, *, after: str, quoted: bool, spaced: bool) -> bool:
    """Whether what stands after "password" is one. `spaced`: as a word of a sentence, which may continue after it."""
    lowered = value.lower()
    if len(value) < (3 if quoted else 4) or lowered in list_no_values() or is_placeholder(lowered):
        return False
    has_digit = any(map(str.isdigit, value))
    if not has_digit and (_VARIABLE.fullmatch(lowered) or "password" in lowered or "passwd" in lowered):
        return False
    if (
        "(" in value
        or lowered.startswith(_NO_VALUE)
        or _NAMED_VALUE.match(lowered)
        or (after.startswith(":") and not has_digit)
    ):
        return False
    if _UNIT.match(after) and not any(map(str.isalpha, value)):
        return False
    if quoted:
        return len(value.split()) <= 8
    if spaced and ONLY_LETTERS.fullmatch(lowered):
        return bool(_CLAUSE_END.match(after))
    return any(map(str.isalnum, value))


@cache
def _compile_keys() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(
        rf"{any_name('key')}(?:{_IS}|[ _-]?id{_ASSIGNS}|\s?(?:就?是|[为為])|\s(?=[\w+/=.~-]{{16}}))"
        rf"{_NOW}\s{{0,3}}(?:bearer |basic |token )?[\"'`]?([\w+/=.~-]{{12,600}})",
        re.ASCII,
    ), re.compile(
        r"(?:authorization|x-api-key|api-key|bearer|basic)[\"']?\s?:?\s{1,3}[\"']?(?:bearer |basic |token )?"
        r"([\w+/=.~-]{12,4000})",
        re.ASCII,
    )


_NO_KEY = ("http", "/", "./", "public", "ssh-rsa", "sha256", "sha-256")
_IDENTIFIER = re.compile(r"[a-z]+(?:[-_.][a-z]+)*\d{0,4}")


def _find_keys(text: ReadText) -> Found:
    plain, lowered = text.plain, text.lowered
    if not any(name in lowered for name in load_patterns()["names"]["key_stems"]):
        return
    for pattern in _compile_keys():
        for found in pattern.finditer(lowered):
            start, end = found.span(1)
            if _is_key(plain[start:end]):
                is_key = "key" in found[0][: start - found.start()]
                yield start, end, SecretKind.API_KEY if is_key else SecretKind.TOKEN


def _is_key(value: str) -> bool:
    lowered = value.lower()
    digits = sum(map(str.isdigit, value))
    if is_placeholder(lowered) or _VARIABLE.fullmatch(lowered) or re.sub(r"[.-]", "", value).isdigit():
        return False
    if lowered.startswith(_NO_KEY) or ("/" in value and value == lowered):
        return False
    return digits >= 1 and len(value) - digits >= 2 and not _IDENTIFIER.fullmatch(lowered)


# Numbers: patterns with names that must be there, and the one pattern for the rest.
_NO_MORE = r"(?![\d.,]\d|\w)"


@cache
def _compile_numbers() -> tuple[tuple[SecretKind, list[str], re.Pattern[str]], ...]:
    names = load_patterns()["names"]
    patterns = {
        SecretKind.PIN: (
            rf"(?<![a-z])(?:pin|puk)(?:[ -]?(?:code|number|码))?(?:\s(?:for|of|to|on)\s[^.!?\n]{{1,30}}?)?"
            rf"\s?(?:is|was|to|as|:|=|就?是|为|#|'s|)\s?(?:now |still )?[\"']?(\d{{4,8}}){_NO_MORE}"
            rf"|(?:use|with|my|the|your|enter) pin (\d{{4,8}}){_NO_MORE}"
        ),
        SecretKind.CODE: (
            rf"(?<![\w-])(g-\d{{6}})(?!\w)|(?:{any_name('code_of')}\s(?:code|password|passcode|pin)"
            rf"|(?<![a-z])(?:otp|2fa)(?:\scode)?(?:\si\s\w{{2,8}})?){_OF}(?:\s(?:is|was)\s?:?|\s?[:=]|\sto|)"
            r"\s{0,2}[\"']?((?:g-)?\d{3}[ -]?\d{3}|\d{4,8})(?![\d.]\d|\w)"
            rf"|{any_name('code_zh')}[^0-9a-z，。,\n]{{0,8}}(\d{{4,8}})(?!\d|年|月|分|秒|元|个|次)"
            r"|(?<![\w.-])((?:g-)?\d{4,8}|\d{3}[ -]\d{3})\s(?:is|as)\s(?:your|my|the)\s[^.!?\n\d]{0,30}"
            r"(?:code|otp|passcode|pin)\b"
            rf"|(?<![\w.-])(\d{{4,8}})\s?[(（]?[^\d，。\n]{{0,8}}{any_name('code_zh')}"
            r"|your code(?: is|:)? ?(\d{3}[ -]?\d{3})(?![\d.]\d|\w)"
            r"|(?:keypad|门禁|门锁)[^\d\n]{0,30}(\d{4,8})#?(?![\d.]\d|\w)"
            r"|(?:combo|combination|locker|safe|保险[柜箱])[^\d\n]{0,24}(\d{1,2}-\d{1,2}-\d{1,2})(?![\w-])"
        ),
        SecretKind.CARD: (
            rf"{any_name('card_check')}[^\d\n]{{0,8}}(\d{{3,4}})(?!\d|\.\d|年)"
            r"|security code(?: on the back)?(?: is|:|=)\s?(\d{3,4})(?!\d)"
            rf"|{any_name('card')}[^\d\n]{{0,16}}(\d(?:[ -]?\d){{12,18}})(?![ -]?\d|\w)"
        ),
        SecretKind.BANK_ACCOUNT: (
            rf"{any_name('account')}{_OF}(?:\s(?:is|was)|\s?[:=#]|就?是|为|)[^\d\n]{{0,6}}(\d(?:[ -]?\d){{5,21}})"
            r"(?![ -]?\d|\w)"
        ),
        SecretKind.IDENTITY: (
            rf"{any_name('identity')}(?:\s?(?:card |id )?(?:number|no\.?|num|#|nr\.?)|号码?|號碼?|卡号?)?"
            rf"{_OF}(?:\s(?:is|was|number is)|\s?[:=#]|就?是|为|)[\s\"']{{0,3}}"
            r"((?=[a-z0-9][a-z]{0,5}[ -]?\d)[a-z0-9](?:[ ./-]?[a-z0-9]){5,24})(?![a-z0-9])"
        ),
    }
    return tuple((kind, names[f"{kind}_stems"], re.compile(pattern)) for kind, pattern in patterns.items())


_YEAR = re.compile(r"(?:19|20)\d\d[-/. ]?(?:0?[1-9]|1[0-2])?(?:[-/. ]?\d{1,2})?")
_TRAILING_WORD = re.compile(r"[ ./-][a-z]{2,}(?:[ ./-].*)?$")


def _find_numbers(text: ReadText) -> Found:
    if not text.named:
        return
    for kind, stems, pattern in _compile_numbers():
        if any(stem in text.lowered for stem in stems):
            for found in _search(pattern, text):
                start, end = found.span(found.lastindex or 1)
                value = text.lowered[start:end]
                if kind is SecretKind.IDENTITY:
                    value = _cut_identity(value)
                if value and (kind in (SecretKind.CODE, SecretKind.PIN) or not _YEAR.fullmatch(value)):
                    yield start, start + len(value), kind


def _search(pattern: re.Pattern[str], text: ReadText) -> Iterator[re.Match[str]]:
    for begun, end in text.named:
        yield from pattern.finditer(text.lowered, begun, end)


def _cut_identity(value: str) -> str:
    """Return the number at the beginning of what stands after its name: words that go on are none of it."""
    value = _TRAILING_WORD.sub("", value).rstrip(" ./-")
    return value if sum(map(str.isdigit, value)) >= 5 else ""


_PHRASE = re.compile(
    r"(?:(?:seed|recovery|mnemonic|backup|wallet|secret)\s?(?:phrase|words)|mnemonic|助记词|恢复短语)[^a-z\n]{0,8}"
    r"(?:(?:is|are|words)[: ]{1,2})?\s{0,3}((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![a-z])"
)


def _find_phrases(text: ReadText) -> Found:
    if any(name in text.lowered for name in ("phrase", "mnemonic", "words", "助记词", "恢复短语")):
        for found in _PHRASE.finditer(text.lowered):
            yield found.start(1), found.end(1), SecretKind.RECOVERY_PHRASE


FIND_BY_NAME: tuple[Callable[[ReadText], Found], ...] = (
    _find_keys,
    _find_passwords,
    _find_phrases,
    _find_numbers,
)
