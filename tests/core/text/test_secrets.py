"""Finding secrets, of many kinds in two languages, and leaving alone what looks like one (D4)."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest

from apps.core.text.secret_forms import SecretKind
from apps.core.text.secrets import find_mask, find_secret, find_secrets, mask_secrets, mask_value
from tests.core.text.secret_samples import Sample, card, chars, make_harmless, make_secrets
from tests.core.text.secret_samples_unseen import UNSEEN_HARMLESS, UNSEEN_SECRETS

pytestmark = pytest.mark.spec("D4")


def _is_caught(sample: Sample) -> bool:
    """Whether nothing of the value is left. A bracket or mark at its end may be taken for the sentence's."""
    begun = sample.text.index(sample.value)
    ended = begun + len(sample.value)
    return any(secret.start <= begun + 2 and secret.end >= ended - 1 for secret in find_secrets(sample.text))


def test_nearly_every_secret_is_found_whatever_its_kind_and_language() -> None:
    samples = [*make_secrets(), *UNSEEN_SECRETS]
    assert len(samples) >= 200
    assert len({sample.kind for sample in samples}) >= 30
    caught: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for sample in samples:
        for group in (("kind", sample.kind), ("language", sample.language), ("all", "")):
            caught[group].append(_is_caught(sample))
    shares = {group: sum(each) / len(each) for group, each in caught.items()}
    assert shares["all", ""] >= 0.98
    assert min(share for (of, _name), share in shares.items() if of == "language") >= 0.98
    assert min(shares.values()) >= 0.9, shares


def test_hardly_anything_harmless_is_taken_for_a_secret() -> None:
    samples = [*make_harmless(), *UNSEEN_HARMLESS]
    assert len(samples) >= 400
    for language in ("en", "zh"):
        mine = [sample for sample in samples if sample.language == language]
        false = [sample.text for sample in mine if find_secrets(sample.text)]
        assert len(false) <= 0.02 * len(mine), false


def _read_typed(name: str) -> list[Sample]:
    """Messages as people type them, written by somebody who did not know the rules. Halves of a secret stand apart."""
    lines = Path(__file__).with_name(f"{name}_typed.jsonl").read_text("utf-8").splitlines()
    rows = [{"secret": [], **json.loads(line)} for line in lines]
    return [
        Sample(row["text"].replace("{}", "".join(row["secret"])), row["kind"], row["language"], "".join(row["secret"]))
        for row in rows
    ]


def test_secrets_are_found_as_people_type_them() -> None:
    samples = _read_typed("secrets")
    missed = [sample.text for sample in samples if sample.value in mask_secrets(sample.text)]
    assert len(samples) == 300
    assert len(missed) <= 0.02 * len(samples), missed


def test_what_people_type_without_a_secret_is_left_alone() -> None:
    samples = _read_typed("harmless")
    false = [sample.text for sample in samples if find_secrets(sample.text)]
    assert len(samples) == 600
    assert len(false) <= 0.005 * len(samples), false


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("my password is hunter2, and I live in Leeds", "my password is [password], and I live in Leeds"),
        ("我的密码是 hunter2，住在利兹", "我的密码是 [密码]，住在利兹"),
        ("My PIN is 4821.", "My PIN is [PIN]."),
        ("no secret here", "no secret here"),
    ],
)
def test_a_mask_tells_the_kind_in_the_language_of_the_text(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked
    assert mask_secrets(masked) == masked
    assert bool(find_mask(masked)) == (text != masked)


def test_words_of_a_wallet_may_be_common_ones() -> None:
    words = "valve about planet when youth there lamp only deputy this goose other"
    assert words not in mask_secrets(f"got the new trezor set up, it gave me {words}")


def test_a_value_is_a_secret_by_what_it_is_called() -> None:
    assert find_secret("hunter2") is None
    assert find_secret("hunter2", label="wifi password") is SecretKind.PASSWORD
    assert find_secret({"user": "mei", "password": "hunter2"}) is SecretKind.PASSWORD
    assert find_secret(["tea", {"card": int(card_number := card_of_seed())}]) is SecretKind.CARD
    assert find_secret("8 characters", label="password rule") is None
    assert mask_value({"city": "Leeds", "login": {"password": "hunter2"}, "cards": [card_number, 7]}) == {
        "city": "Leeds",
        "login": {"password": "[password]"},
        "cards": ["[card number]", 7],
    }


def card_of_seed() -> str:
    return card(Random("value"), "4", 16)


def test_a_text_in_full_width_is_masked_where_it_stands() -> None:
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in card_of_seed())
    assert mask_secrets(f"卡号{wide}，\u200b谢谢") == "卡号[银行卡号]，\u200b谢谢"


# Of each pattern what it could begin with again and again.
HOSTILE = (
    "a", "4", " ", "4 ", "4111 ", "AB12 ", "eyJ-", "eyJaaaaaaaaaa.", "password ", "password is ", "password for a ",
    "://a:", "api_key=", 'password="', "seed phrase ", "word ", "密码", "密码是 ", "-----BEGIN PRIVATE KEY-----",
    "mysql ", "passport a1 ", "4\u200b", " is my a b", "account 1", "x-", "pin for ", "card number 1 ", "a1-",
    "token is ", "key a1b2c3d4e5f6g7h8 ", "its a1b2c3d password ", "wallet ", "AB12-", "?sig=",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_input_is_read_in_linear_time(piece: str) -> None:
    find_secrets(piece * (200_000 // len(piece)))  # what is quadratic takes hours


def test_a_long_key_is_found_behind_much_text() -> None:
    key = "gh" + "p_" + chars(Random("long"), 36)
    text = "The fox jumps over the lazy dog. " * 1_000 + key
    assert mask_secrets(text).endswith("dog. [access token]")
