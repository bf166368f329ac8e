"""Find what must not be remembered: keys, tokens, passwords, card, bank and identity numbers (D4). Pure.

Three ways lead to a secret: its own form (`secret_forms`), words that name it, "my password is …", 密码是…
(`secret_names`), and its look beside words that speak of one (`secret_shapes`). Everything takes time that is linear in
the length of a text: what repeats in a pattern is bounded, or cannot be cut in two ways.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from apps.core.text.instructions import INVISIBLE
from apps.core.text.secret_forms import FIND_BY_FORM, ReadText, SecretKind, list_windows
from apps.core.text.secret_names import FIND_BY_NAME
from apps.core.text.secret_shapes import FIND_BY_SHAPE
from apps.core.text.segment import holds_chinese
from apps.core.text.text_cache import cache_texts

# What stands in a secret's place, in a text without Chinese and in one with it.
_MASKS = {
    SecretKind.API_KEY: ("[API key]", "[API 密钥]"),
    SecretKind.TOKEN: ("[access token]", "[访问令牌]"),
    SecretKind.PASSWORD: ("[password]", "[密码]"),
    SecretKind.PIN: ("[PIN]", "[PIN 码]"),
    SecretKind.CODE: ("[one-time code]", "[验证码]"),
    SecretKind.PRIVATE_KEY: ("[private key]", "[私钥]"),
    SecretKind.RECOVERY_PHRASE: ("[recovery phrase]", "[助记词]"),
    SecretKind.CARD: ("[card number]", "[银行卡号]"),
    SecretKind.BANK_ACCOUNT: ("[bank account number]", "[银行账号]"),
    SecretKind.IDENTITY: ("[identity number]", "[证件号码]"),
}
_ARTICLES = {
    kind: f"{'an' if english[1] in 'aAio' else 'a'} {english[1:-1]}" for kind, (english, _chinese) in _MASKS.items()
}
_MASKED = {mask: kind for kind, masks in _MASKS.items() for mask in masks}
_MASK = re.compile("|".join(map(re.escape, _MASKED)))


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in a text, and of which kind it is."""

    start: int
    end: int
    kind: SecretKind


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, in order; none overlaps another. What names one ("password:") is no part of it."""
    plain, offsets = _make_plain(text)
    lowered = _lower(plain)
    found: list[Secret] = []
    read = ReadText(plain, lowered, list_windows(plain, before=100, after=60), list_windows(plain, before=24, after=48))
    for find in (*FIND_BY_FORM, *FIND_BY_NAME, *FIND_BY_SHAPE):
        found += [Secret(start, end, kind) for start, end, kind in find(read)]
    found.sort(key=lambda secret: (secret.start, -secret.end))
    kept: list[Secret] = []
    for secret in found:
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
        elif secret.end > kept[-1].end:
            kept[-1] = Secret(kept[-1].start, secret.end, kept[-1].kind)
    if offsets is None:
        return kept
    return [Secret(offsets[one.start], offsets[one.end - 1] + 1, one.kind) for one in kept]


def find_secret(value: Any, *, label: str = "") -> SecretKind | None:
    """Return the kind of the first secret in a text or any JSON value, None for none.

    `label`: what the value is called, as the key of a memory: {"wifi password": "hunter2"} holds a password.
    """
    todo = [(label, value)]
    while todo:
        name, item = todo.pop()
        match item:
            case str() | int() | float() if not isinstance(item, bool):
                if found := _find_named(name, str(item)):
                    return found
            case dict():
                todo += [(f"{name} {key}".strip(), inner) for key, inner in item.items()]
                todo += [("", str(key)) for key in item]
            case list() | tuple():
                todo += [(name, inner) for inner in item]
    return None


def _find_named(name: str, text: str) -> SecretKind | None:
    if found := find_secrets(text):
        return found[0].kind
    if not name:
        return None
    # As a form would have it: the name, a colon, the value.
    named = f"{name}: {text}"
    begun = len(named) - len(text)
    return next((secret.kind for secret in find_secrets(named) if secret.end > begun), None)


def describe_problem(kind: SecretKind) -> str:
    """Return why a text cannot be stored, for whoever sent it."""
    return f"Must not contain a secret: this looks like {_ARTICLES[kind]}."


def find_mask(text: str) -> SecretKind | None:
    """Return the kind of the first secret that was masked in a text: a statement about it says nothing without it."""
    found = _MASK.search(text)
    return _MASKED[found[0]] if found else None


@cache_texts(2_000)
def list_secret_kinds(text: str) -> tuple[SecretKind, ...]:
    """Return the kinds of the secrets in a text, each once."""
    return tuple(dict.fromkeys(secret.kind for secret in find_secrets(text)))


@cache_texts(2_000)
def mask_secrets(text: str) -> str:
    """`text` with the kind of each secret in its place: "my password is [password]", 密码是[密码]."""
    secrets = find_secrets(text)
    if not secrets:
        return text
    language = int(holds_chinese(text))
    parts, end = [], 0
    for secret in secrets:
        parts += [text[end : secret.start], _MASKS[secret.kind][language]]
        end = secret.end
    return "".join([*parts, text[end:]])


def mask_value(value: Any, *, label: str = "") -> Any:
    """A copy of a JSON value with its secrets masked; `label`: what the value is called."""
    match value:
        case str():
            masked = mask_secrets(value)
            kind = _find_named(label, value) if masked == value else None
            return _MASKS[kind][int(holds_chinese(label + value))] if kind else masked
        case int() | float() if not isinstance(value, bool):
            kind = _find_named(label, str(value))
            return _MASKS[kind][int(holds_chinese(label))] if kind else value
        case dict():
            named = {str(key): inner for key, inner in value.items()}
            return {
                mask_secrets(key): mask_value(inner, label=f"{label} {key}".strip()) for key, inner in named.items()
            }
        case list() | tuple():
            return [mask_value(inner, label=label) for inner in value]
    return value


# The form in which texts are read

# Full-width letters, digits and marks, and what else stands for an ASCII sign. One character each, so offsets hold.
_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    ord(other): ord(sign)
    for sign, others in {
        " ": "\u3000\u00a0\u2002\u2003\u2009\u202f",
        "-": "\u2010\u2011\u2012\u2013\u2212",
        '"': "“”„「」『』",
        "'": "‘’",
    }.items()
    for other in others
}
_OTHER_FORM = re.compile(f"[{re.escape(''.join(map(chr, _PLAIN)))}]")


def _make_plain(text: str) -> tuple[str, list[int] | None]:
    """Return a text as it is read, and for each of its characters where it stood, None where nothing was left out."""
    if text.isascii():
        return text, None
    plain = text.translate(_PLAIN) if _OTHER_FORM.search(text) else text
    if not INVISIBLE.search(plain):
        return plain, None
    kept = [at for at, character in enumerate(plain) if not INVISIBLE.match(character)]
    return "".join(plain[at] for at in kept), kept


def _lower(plain: str) -> str:
    lowered = plain.lower()
    return (
        lowered
        if len(lowered) == len(plain)
        else "".join(one if len(one.lower()) != 1 else one.lower() for one in plain)
    )
