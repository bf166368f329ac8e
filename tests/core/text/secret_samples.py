"""Secrets of many kinds and what looks like them, made from seeds: no value stands here as it is.

Prefixes are joined from pieces, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import string
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.cn import ric

LETTERS, DIGITS, HEX = string.ascii_letters, string.digits, "0123456789abcdef"
MIXED = LETTERS + DIGITS


@dataclass(frozen=True)
class Sample:
    """A text. `value`: the secret in it, "" for a harmless one; `kind`: of the sample, not of the detection."""

    text: str
    kind: str
    language: str
    value: str = ""


def chars(random: Random, count: int, alphabet: str = MIXED) -> str:
    """Return so many characters, two of which are digits where the alphabet has any."""
    found = [random.choice(alphabet) for _ in range(count)]
    if set(DIGITS) <= set(alphabet) and count > 8:
        found[count // 3], found[count // 2] = random.choice(DIGITS), random.choice(DIGITS)
        found[count // 4], found[1] = random.choice(sorted(set(alphabet) - set(DIGITS)) or DIGITS), found[1]
    return "".join(found)


def digits(random: Random, count: int) -> str:
    return random.choice("123456789") + "".join(random.choice(DIGITS) for _ in range(count - 1))


def card(random: Random, prefix: str, length: int) -> str:
    body = prefix + "".join(random.choice(DIGITS) for _ in range(length - len(prefix) - 1))
    return body + str(luhn.calc_check_digit(body))


def grouped(number: str, sign: str = " ", size: int = 4) -> str:
    return sign.join(number[at : at + size] for at in range(0, len(number), size))


def resident_id(random: Random) -> str:
    day = f"{random.randint(1955, 2007)}{random.randint(1, 12):02}{random.randint(1, 28):02}"
    body = random.choice(["110105", "310101", "440106", "320582", "510107"]) + day + f"{random.randint(1, 999):03}"
    return body + ric.calc_check_digit(body + "0")


def account(random: Random, country: str) -> str:
    body = {"GB": "NWBK" + digits(random, 14), "DE": digits(random, 18), "NL": "ABNA" + digits(random, 10)}[country]
    return country + iban.calc_check_digits(country + "00" + body) + body


def base64ish(random: Random, count: int) -> str:
    return base64.b64encode(random.randbytes(count)).decode().rstrip("=")


def jwt(random: Random) -> str:
    head, body = ("e" + "yJ" + base64ish(random, 18 + 3 * at).replace("/", "_").replace("+", "-") for at in range(2))
    return f"{head}.{body}.{base64ish(random, 32).replace('/', '_').replace('+', '-')}"


def pem(random: Random) -> str:
    lines = "\n".join(base64ish(random, 45)[:60] for _ in range(4))
    return f"-----BEGIN {'RSA '}PRIVATE{' '}KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"


def password(random: Random) -> str:
    word = random.choice(["hunter", "dragon", "Sommer", "Mondlicht", "qwe", "Yueliang", "tiger"])
    return word + digits(random, random.randint(1, 4)) + random.choice(["", "!", "#", "@x"])


# By kind: how the value is made. The texts in English and Chinese around it are in the table.
TEXTS = tomllib.loads(Path(__file__).with_name("secret_texts.toml").read_text("utf-8"))
SECRETS: dict[str, Callable[[Random], str]] = {
    "openai": lambda r: "s" + "k-proj-" + chars(r, 48),
    "openai_old": lambda r: "s" + "k-" + chars(r, 48),
    "anthropic": lambda r: "s" + "k-ant-api03-" + chars(r, 90),
    "aws_id": lambda r: "AK" + "IA" + chars(r, 16, string.ascii_uppercase + "234567"),
    "aws_secret": lambda r: base64ish(r, 30),
    "google": lambda r: "AI" + "za" + chars(r, 35),
    "stripe": lambda r: "s" + "k_live_" + chars(r, 24),
    "sendgrid": lambda r: "S" + "G." + chars(r, 22) + "." + chars(r, 43),
    "aliyun": lambda r: "LT" + "AI5t" + chars(r, 20),
    "tencent": lambda r: "AK" + "ID" + chars(r, 32),
    "groq": lambda r: "gs" + "k_" + chars(r, 52),
    "github": lambda r: "gh" + "p_" + chars(r, 36),
    "github_new": lambda r: "github_" + "pat_" + chars(r, 22) + "_" + chars(r, 59),
    "gitlab": lambda r: "gl" + "pat-" + chars(r, 20),
    "slack": lambda r: "xo" + "xb-" + digits(r, 12) + "-" + digits(r, 12) + "-" + chars(r, 24),
    "huggingface": lambda r: "h" + "f_" + chars(r, 34),
    "npm": lambda r: "np" + "m_" + chars(r, 36),
    "telegram": lambda r: digits(r, 10) + ":A" + "A" + chars(r, 33),
    "jwt": jwt,
    "webhook": lambda r: (
        "https://hooks." + "slack.com/services/T" + chars(r, 8) + "/B" + chars(r, 8) + "/" + chars(r, 24)
    ),
    "named_key": lambda r: chars(r, 32, HEX),
    "private_key": pem,
    "database_url": lambda r: password(r) + chars(r, 4),
    "password": password,
    "plain_password": lambda r: r.choice(["swordfish", "butterfly", "letmein", "opensesame", "mrwhiskers"]),
    "pin": lambda r: digits(r, 4),
    "one_time_code": lambda r: digits(r, 6),
    "card": lambda r: r.choice(
        [
            card(r, "4", 16),
            grouped(card(r, "5" + r.choice("12345"), 16)),
            grouped(card(r, "4", 16), "-"),
            card(r, "37", 15),
        ]
    ),
    "bank_card": lambda r: r.choice(
        [card(r, "62" + digits(r, 4), 19), grouped(card(r, "6228", 19)), card(r, "6217", 16)]
    ),
    "cvv": lambda r: digits(r, 3),
    "iban": lambda r: r.choice([account(r, "GB"), grouped(account(r, "DE")), account(r, "NL")]),
    "account": lambda r: digits(r, 10),
    "resident_id": resident_id,
    "ssn": lambda r: f"{r.randint(100, 665)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}",
    "passport": lambda r: r.choice("EGPX") + digits(r, 8),
    "cpf": lambda r: cpf.format((lambda b: b + cpf._calc_check_digits(b))(digits(r, 9))),
    "other_identity": lambda r: digits(r, 9),
    "recovery_phrase": lambda r: " ".join(r.choice(TEXTS["words"]) for _ in range(12)),
}


def _full_width(text: str) -> str:
    return "".join(chr(ord(sign) + 0xFEE0) if sign.isdigit() else sign for sign in text)


def _list_texts(by_language: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in by_language.items() for text in texts]


def make_secrets() -> Iterator[Sample]:
    """Yield each kind with each of its texts, at least six in all, and some of them disguised."""
    for kind, make in SECRETS.items():
        random = Random(f"secret {kind}")
        texts = _list_texts(TEXTS["secrets"].get(kind, TEXTS["secrets"]["key"]))
        for number in range(max(6, len(texts))):
            language, text = texts[number % len(texts)]
            value = make(random)
            yield Sample(text.format(value), kind, language, value)
    random = Random("disguised")
    for _number in range(4):
        plain = card(random, "4", 16)
        yield Sample(f"卡号 {_full_width(plain)}", "full_width", "zh", _full_width(plain))
        hidden = "\u200b".join(grouped(plain, "|").split("|"))
        yield Sample(f"card {hidden} thanks", "zero_width", "en", hidden)
        wide = _full_width(resident_id(random))
        yield Sample(f"身份证：{wide}", "full_width", "zh", wide)
        plain = "gh" + "p_" + chars(random, 36)
        yield Sample(
            f"把 {plain[:9]}\u200d{plain[9:]} 记下来，for CI", "zero_width", "zh", f"{plain[:9]}\u200d{plain[9:]}"
        )


def _not_luhn(random: Random, prefix: str) -> str:
    number = card(random, prefix, 16)
    return number[:-1] + str((int(number[-1]) + random.randint(1, 9)) % 10)


def _uuid(r: Random) -> str:
    return "-".join(chars(r, size, HEX) for size in (8, 4, 4, 4, 12))


HARMLESS: dict[str, Callable[[Random], str]] = {
    "talk_of_passwords": lambda r: "",
    "talk_of_keys": lambda r: "",
    "phone": lambda r: "1" + r.choice("35789") + digits(r, 9),
    "phone_abroad": lambda r: f"+44 20 {digits(r, 4)} {digits(r, 4)}",
    "us_phone": lambda r: f"({digits(r, 3)}) {digits(r, 3)}-{digits(r, 4)}",
    "email": lambda r: f"{chars(r, 8, string.ascii_lowercase)}{digits(r, 4)}@example.com",
    "order": lambda r: r.choice([digits(r, 16), digits(r, 18), card(r, "4", 16), card(r, "62", 19)]),
    "tracking": lambda r: r.choice(
        ["SF" + digits(r, 13), "1Z" + chars(r, 16, string.ascii_uppercase + DIGITS), digits(r, 12)]
    ),
    "hash": lambda r: chars(r, 40, HEX),
    "sha256": lambda r: chars(r, 64, HEX),
    "uuid": _uuid,
    "isbn": lambda r: f"978-{digits(r, 1)}-{digits(r, 3)}-{digits(r, 5)}-{digits(r, 1)}",
    "ean": lambda r: "978" + digits(r, 10),
    "image": lambda r: "data:image/png;base64," + "iVBORw0KGgo" + base64ish(r, 120),
    "colour": lambda r: "#" + chars(r, 6, HEX),
    "coordinates": lambda r: f"{r.uniform(-80, 80):.7f}, {r.uniform(-170, 170):.7f}",
    "model": lambda r: r.choice(
        ["gpt-4o-mini-2024-07-18", "claude-3-5-sonnet-20241022", "qwen2.5-72b-instruct", "llama-3.3-70b"]
    ),
    "version": lambda r: f"{r.randint(1, 9)}.{r.randint(0, 30)}.{r.randint(0, 999)}-rc.{r.randint(1, 9)}",
    "date": lambda r: (
        f"20{r.randint(10, 30)}-{r.randint(1, 12):02}-{r.randint(1, 28):02} {r.randint(10, 23)}:{r.randint(10, 59)}"
    ),
    "timestamp": lambda r: "17" + digits(r, 11),
    "address": lambda r: f"{r.randint(1, 999)} Elm Street, Springfield, IL {digits(r, 5)}",
    "amount": lambda r: f"{r.randint(1, 999)},{r.randint(100, 999)},{r.randint(100, 999)}.00",
    "ip": lambda r: ".".join(str(r.randint(1, 254)) for _ in range(4)) + ":8080",
    "url": lambda r: f"https://example.com/{chars(r, 8, string.ascii_lowercase)}/{digits(r, 12)}?ref={chars(r, 10)}",
    "not_luhn": lambda r: grouped(_not_luhn(r, "4")),
    "flight": lambda r: r.choice(["MU", "BA", "CA"]) + digits(r, 4),
    "plate": lambda r: "京A" + chars(r, 5, string.ascii_uppercase + DIGITS),
    "social": lambda r: digits(r, 9),
    "code": lambda r: chars(r, 6, string.ascii_lowercase),
    "place_code": lambda r: digits(r, 6),
    "company": lambda r: "sk-learn-" + chars(r, 12, string.ascii_lowercase) + "-toolkit",
    "everyday": lambda r: str(r.randint(2, 90)),
}


def make_harmless() -> Iterator[Sample]:
    """Yield at least twelve texts of each kind; those that need no value once each."""
    for kind, make in HARMLESS.items():
        random = Random(f"harmless {kind}")
        texts = _list_texts(TEXTS["harmless"][kind])
        count = len(texts) if not make(Random(0)) else 12
        for number in range(count):
            language, text = texts[number % len(texts)]
            value = make(random)
            yield Sample(text.replace("{}", value) if value else text, kind, language)
