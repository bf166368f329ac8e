"""Find secrets that are known by their form: prefixes that issuers document, addresses, checksums (D4). Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any


class SecretKind(StrEnum):
    """What a secret is, as the API calls it; `apps.core.words` has the words for people."""

    API_KEY = "api_key"
    TOKEN = "token"  # noqa: S105
    PASSWORD = "password"  # noqa: S105
    PIN = "pin"
    CODE = "code"
    PRIVATE_KEY = "private_key"
    RECOVERY_PHRASE = "recovery_phrase"
    CARD = "card"
    BANK_ACCOUNT = "bank_account"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text as it is read. `named`, `near`: where numbers may be, with what may name them, and without."""

    plain: str
    lowered: str
    named: list[tuple[int, int]]
    near: list[tuple[int, int]]


# Offsets at which a secret begins and ends, in the plain form of a text.
Found = Iterator[tuple[int, int, SecretKind]]


_LONG_RUN = re.compile(r"(?<![\w./+=:~-])[\w./+=:~-]{16,}", re.ASCII)
_DATA = Path(__file__).parent / "data" / "secrets.toml"


@cache
def load_patterns() -> Mapping[str, Any]:
    return tomllib.loads(_DATA.read_text("utf-8"))


@cache
def _compile_tokens() -> re.Pattern[str]:
    groups = "|".join(f"(?P<{kind}>{'|'.join(patterns)})" for kind, patterns in load_patterns()["tokens"].items())
    return re.compile(rf"(?<![\w-])(?:{groups})(?![\w-])", re.ASCII)


@cache
def _compile_addresses() -> re.Pattern[str]:
    return re.compile(rf"(?:https?://)?(?:{'|'.join(load_patterns()['addresses']['token'])})", re.ASCII)


def _find_tokens(text: ReadText) -> Found:
    plain = text.plain
    for run in _LONG_RUN.finditer(plain):
        for found in _compile_tokens().finditer(plain, run.start(), run.end()):
            # Words in lower case are a name: sk-learn-contrib-estimators.
            is_name = ONLY_LETTERS.fullmatch(found[0]) and max(map(len, found[0].split("-"))) < 24
            if not is_name and not is_placeholder(found[0].lower()):
                yield found.start(), found.end(), SecretKind(found.lastgroup or "token")


def _find_addresses(text: ReadText) -> Found:
    plain = text.plain
    if "/" not in plain:
        return
    for found in _compile_addresses().finditer(plain):
        yield found.start(), found.end(), SecretKind.TOKEN


_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def _find_private_keys(text: ReadText) -> Found:
    plain = text.plain
    end = 0
    while begun := _PEM_BEGIN.search(plain, end):
        closed = _PEM_END.search(plain, begun.end())
        end = closed.end() if closed else len(plain)
        yield begun.start(), end, SecretKind.PRIVATE_KEY


# The password ends at the last "@": it may hold one itself.
_URL_USER = re.compile(r"://[^\s/:@\"'<>]{0,100}:([^\s/\"'<>]{3,200})@")
_COMMAND_USER = re.compile(
    r"(?:^|\s)(?:-u|--user)[ =]['\"]?[^\s:'\"]{1,100}:([^\s'\"]{3,200})|sshpass -p ?['\"]?([^\s'\"]{3,100})"
)


def _find_credentials(text: ReadText) -> Found:
    """Passwords in addresses (postgres://user:password@host) and on command lines."""
    plain = text.plain
    for pattern, sign in ((_URL_USER, "://"), (_COMMAND_USER, "-u"), (_COMMAND_USER, "sshpass")):
        for found in pattern.finditer(plain) if sign in plain else ():
            at = found.lastindex or 1
            if not is_placeholder(found[at].lower()) and found[at].lower() not in ("password", "passwd", "pass", "pwd"):
                yield found.start(at), found.end(at), SecretKind.PASSWORD


@cache
def _compile_behind() -> tuple[tuple[SecretKind, re.Pattern[str]], ...]:
    behind = load_patterns()["behind"]
    return tuple(
        (SecretKind(kind), re.compile(rf"(?:{'|'.join(patterns)})([^\s\"'&;<>]{{6,600}})"))
        for kind, patterns in behind.items()
    )


def _find_behind(text: ReadText) -> Found:
    """Values of parameters, cookies and options: what stands before them says it."""
    for kind, pattern in _compile_behind():
        for found in pattern.finditer(text.lowered):
            if not is_placeholder(found[1]):
                yield *found.span(1), kind


_TWO_DIGITS = re.compile(r"[0-9]{2}")


def list_windows(plain: str, *, before: int, after: int) -> list[tuple[int, int]]:
    """Return where numbers may be: most of most texts need not be looked at so closely."""
    windows: list[tuple[int, int]] = []
    for found in _TWO_DIGITS.finditer(plain):
        begun, end = max(found.start() - before, 0), found.end() + after
        if windows and begun <= windows[-1][1]:
            windows[-1] = windows[-1][0], end
        else:
            windows.append((begun, end))
    return windows


_DIGITS = re.compile(r"(?<![\w-])(?<!\d[.,])\d(?:[ -]?\d){12,}(?![\w.]\d|[A-Za-z_])", re.ASCII)
_GROUP = re.compile(r"\d+")
_CARD_BRAND = re.compile(
    r"(?:4|5[1-5]|6(?:011|4[4-9]|5|2)|81|9558|220[0-4]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))\d*"
    r"|3[47]\d{13}|35(?:2[89]|[3-8])\d{13,16}|3(?:0[0-5]|[68])\d{12}",
)
_CARD_LENGTHS = frozenset((14, 15, 16, 17, 18, 19))
# Numbers of other things, told by what stands before them.
_OTHER_NUMBER = re.compile(
    r"(?:order|tracking|invoice|parcel|shipment|waybill|isbn|imei|serial|sku|barcode|ean|ticket|booking|reference|ref"
    r"|transaction|phone|tel|timestamp|commit|build|订单|运单|快递|单号|物流|流水|发票|条码|序列|电话|手机|学号|工号|编号)"
    r"[^\d\n]{0,10}$"
)


def _find_cards(text: ReadText) -> Found:
    for begun, end in text.near:
        yield from _find_cards_within(text, begun, end)


def _find_cards_within(text: ReadText, begun: int, end: int) -> Found:
    plain, lowered = text.plain, text.lowered
    for run in _DIGITS.finditer(plain, begun, end):
        if _OTHER_NUMBER.search(lowered, max(run.start() - 32, 0), run.start()):
            continue
        groups = [found.span() for found in _GROUP.finditer(plain, run.start(), run.end())]
        whole = re.sub(r"\D", "", run[0]) if len(run[0]) <= 40 else ""
        if whole and _is_card(whole):
            yield run.start(), run.end(), SecretKind.CARD
            continue
        yield from _find_card_among(plain, groups)


def _find_card_among(plain: str, groups: list[tuple[int, int]]) -> Found:
    """Cards among the groups of a longer row of digits, such as one behind a date."""
    at = 0
    while at < len(groups):
        digits, step = "", 1
        for further in range(at, min(at + 7, len(groups))):
            start, end = groups[further]
            if not 3 <= end - start <= 19 or len(digits) + end - start > 19:
                break
            digits += plain[start:end]
            if len(digits) >= 14 and _is_card(digits):
                yield groups[at][0], end, SecretKind.CARD
                step = further - at + 1
                break
        at += step


def _is_card(digits: str) -> bool:
    if len(digits) not in _CARD_LENGTHS or len(set(digits)) < 2 or not _CARD_BRAND.fullmatch(digits):
        return False
    if digits[0] in "45" and len(digits) not in (16, 19):
        return False
    from stdnum import luhn

    return bool(luhn.is_valid(digits))


_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}(?![A-Za-z0-9])", re.ASCII)
_IBAN_CUT = re.compile(r"[ -]")


def _find_ibans(text: ReadText) -> Found:
    plain = text.plain
    for found in (one for begun, end in text.near for one in _IBAN.finditer(plain, begun, end)):
        from stdnum import iban

        # Words in capitals may follow it: the longest beginning that is one counts.
        words = found[0]
        ends = [len(words), *(cut.start() for cut in reversed(list(_IBAN_CUT.finditer(words))))]
        for end in ends:
            if end >= 15 and iban.is_valid(words[:end].replace("-", "")):
                yield found.start(), found.start() + end, SecretKind.BANK_ACCOUNT
                break


# Identity numbers whose form is their own, with what has their checksums.
_IDENTITIES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![\w-])[1-9]\d{5}[ -]?(?:18|19|20)\d{6}[ -]?\d{3}[ -]?[\dXx](?!\w)", re.ASCII), "cn.ric"),
    (re.compile(r"(?<![\w-])(?<!\d[.,])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-])", re.ASCII), ""),
    (re.compile(r"(?<![\w-])(?<!\d[.,])\d{3}\.\d{3}\.\d{3}-\d\d(?![\w-])", re.ASCII), "br.cpf"),
    (re.compile(r"(?<!\w)[A-Za-z]{6}\d\d[A-Za-z]\d\d[A-Za-z]\d{3}[A-Za-z](?!\w)", re.ASCII), "it.codicefiscale"),
    (re.compile(r"(?<![\w-])\d{6}-[1-8]\d{6}(?![\w-])", re.ASCII), "kr.rrn"),
    (re.compile(r"(?<![\w-])[12] \d\d [01]\d \d[\dAB] \d{3} \d{3} \d\d(?![\w-])", re.ASCII), "fr.nir"),
    (re.compile(r"(?<!\w)[A-CEGHJ-PR-TW-Z]{2} \d\d \d\d \d\d [A-D](?!\w)", re.ASCII), ""),
    (re.compile(r"(?<!\w)[A-Z]{1,2}\d{6}\([\dA]\)", re.ASCII), ""),
)


def _find_identities(text: ReadText) -> Found:
    plain, lowered = text.plain, text.lowered
    for pattern, checks in _IDENTITIES:
        for found in (one for begun, end in text.near for one in pattern.finditer(plain, begun, end)):
            if _has_checksum(found[0], checks) and not _OTHER_NUMBER.search(
                lowered, max(found.start() - 32, 0), found.start()
            ):
                yield found.start(), found.end(), SecretKind.IDENTITY


def _has_checksum(text: str, name: str) -> bool:
    # What is not asked for is not loaded: the modules, and the tables that some of them have.
    match name:
        case "":
            return True
        case "cn.ric":
            return _is_resident_id(re.sub(r"[ -]", "", text).upper())
        case "br.cpf":
            from stdnum.br import cpf

            return bool(cpf.is_valid(text))
        case "it.codicefiscale":
            from stdnum.it import codicefiscale

            return bool(codicefiscale.is_valid(text))
        case "kr.rrn":
            from stdnum.kr import rrn

            return bool(rrn.is_valid(text))
    from stdnum.fr import nir

    return bool(nir.is_valid(text))


def _is_resident_id(digits: str) -> bool:
    from stdnum.cn import ric

    try:
        ric.get_birth_date(digits)
    except ValueError:  # no such day
        return False
    return bool(ric.calc_check_digit(digits) == digits[-1])


# Words, maybe joined: what stands for a name rather than a secret.
ONLY_LETTERS = re.compile(r"[a-zñéüöä]+(?:[-_'][a-z]+)*")


def is_placeholder(value: str) -> bool:
    """Whether a lower-case value stands for one that is not told: your_password, ****, ${PASSWORD}, [password]."""
    marks = load_patterns()["values"]["placeholders"]
    return value[0] in "$<[{%@" or len(set(value)) == 1 or any(mark in value for mark in marks)


FIND_BY_FORM: tuple[Callable[[ReadText], Found], ...] = (
    _find_private_keys,
    _find_tokens,
    _find_addresses,
    _find_credentials,
    _find_behind,
    _find_identities,
    _find_ibans,
    _find_cards,
)
