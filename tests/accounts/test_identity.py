"""Who a request is from (T4): what a service token may name, and that without one nothing counts."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jwt
import pytest
from django.db import connection
from django.test import Client

from apps.accounts.models import ApiToken, User
from apps.accounts.services.people import create_token, get_or_create_end_user, resolve_person
from apps.core.errors import InvalidInput
from tests.support.factories import UserFactory

SECRET = "0123456789abcdef0123456789abcdef"


def sign(secret: str = SECRET, algorithm: str = "HS256", lifetime: int = 300, **claims: Any) -> str:
    """The header that Open WebUI 0.6.37–0.11 makes of its user; a claim of None is left out."""
    now = int(time.time())
    payload = {
        "sub": "7f3b6f6e-59a8-4d3c-9d6c-0d8b8f0c4e11",
        "email": "mei@example.com",
        "name": "小美",
        "role": "user",
        "iss": "open-webui",
        "iat": now,
        "exp": now + lifetime,
    } | claims
    kept = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(kept, secret, algorithm=algorithm)


@pytest.fixture
def service(db: None) -> User:
    return UserFactory.create(username="open-webui")


@pytest.fixture
def token(service: User) -> str:
    return create_token(user=service, is_service=True, jwt_secret=SECRET)


def who_is_it(token: str, **headers: str) -> str:
    """Send a request; return the external ID of whom it created something for, empty for the owner."""
    response = call(token, **headers)
    assert response.status_code == 201, response.content
    return User.objects.get(chat_sessions__id=response.json()["id"]).external_id


def call(token: str, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Client().post(
        "/chat/sessions",
        data="{}",
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}", **named},
    )


def as_bytes(text: str) -> str:
    """A header's UTF-8 bytes as servers pass them on."""
    return text.encode().decode("latin-1")


@pytest.mark.spec("T4")
@pytest.mark.parametrize(
    ("sent", "external_id"),
    [
        ("mei", "mei"),
        ("  mei@example.com ", "mei@example.com"),
        ("%E5%B0%8F%E7%BE%8E", "小美"),
        (as_bytes("小美"), "小美"),
        ("小美", "小美"),
        ("50% of %41", "50% of A"),
        ("Fu%2C Mei", "Fu, Mei"),
        ("nullius", "nullius"),
        ("%E7%BE%8E" * 200, "美" * 200),
    ],
)
def test_a_service_token_acts_for_whom_the_header_names(token: str, service: User, sent: str, external_id: str):
    assert who_is_it(token, X_End_User=sent) == external_id
    assert User.objects.get(service=service).external_id == external_id
    assert who_is_it(token, X_End_User=sent) == external_id
    assert User.objects.filter(service=service).count() == 1


@pytest.mark.parametrize(
    "sent", ["", "%20", "x" * 201, "a%00b", "a\tb", "%FF", "caf\xe9", "%ED%A0%80", "a%C2%85b", "mei, lin",
             "mei%E2%80%8B", "%EF%BB%BFmei", "m\u202eei", "m%E2%80%A8ei", "NULL", "[object Object]", " undefined "]
)  # fmt: skip
def test_a_bad_name_is_refused_and_nobody_made(token: str, sent: str):
    response = call(token, X_End_User=sent)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid"
    assert set(response.json()["error"]["fields"]) == {"X-End-User"}
    assert User.objects.count() == 1


@pytest.mark.spec("T4")
def test_without_a_service_token_no_header_counts(service: User):
    personal = create_token(user=service)
    assert who_is_it(personal, X_End_User="mei", X_OpenWebUI_User_Id="lin", X_OpenWebUI_User_Jwt=sign()) == ""
    browser = Client()
    browser.force_login(service)
    headers = {"X-End-User": "mei", "X-OpenWebUI-User-Id": "lin"}
    assert browser.get("/chat/sessions", headers=headers).json()["count"] == 1
    assert User.objects.count() == 1


@pytest.mark.spec("T4")
def test_the_first_that_is_there_counts(token: str):
    everything = {"X_End_User": "first", "X_OpenWebUI_User_Jwt": sign(sub="second"), "X_OpenWebUI_User_Id": "third"}
    assert who_is_it(token, **everything) == "first"
    del everything["X_End_User"]
    assert who_is_it(token, **everything) == "second"
    del everything["X_OpenWebUI_User_Jwt"]
    assert who_is_it(token, **everything) == "third"
    assert who_is_it(token) == "", "who names nobody is the service itself"


def test_a_field_of_the_body_comes_after_the_headers_and_counts_for_service_tokens_only(token: str, service: User):
    stored = ApiToken.objects.get()
    body = {"user": "fourth", "safety_identifier": "fifth"}
    names = [
        resolve_person(token=stored, headers=headers, body=given).external_id
        for headers, given in (
            ({"X-OpenWebUI-User-Id": "third"}, body),
            ({}, body),
            ({}, {"user": None, "safety_identifier": " fifth "}),
            ({}, {"user": "50%41"}),  # JSON needs no quoting
        )
    ]
    assert names == ["third", "fourth", "fifth", "50%41"]
    assert resolve_person(token=stored, headers={}, body={"user": None}) == service
    for bad in ("", 5, ["mei"], "a\x00"):
        with pytest.raises(InvalidInput):
            resolve_person(token=stored, headers={}, body={"user": bad})
    stored.is_service = False
    assert resolve_person(token=stored, headers={}, body={"user": "mei"}) == service


@pytest.mark.spec("T4")
def test_open_webuis_signed_user_is_its_id(token: str):
    assert who_is_it(token, X_OpenWebUI_User_Jwt=sign()) == "7f3b6f6e-59a8-4d3c-9d6c-0d8b8f0c4e11"
    assert who_is_it(token, X_OpenWebUI_User_Jwt=sign(lifetime=-20)), "clocks differ a little"
    for bad in (" ", "x" * 201):
        assert call(token, X_OpenWebUI_User_Jwt=sign(sub=bad)).status_code == 400


UNVERIFIABLE = {
    "expired": lambda: sign(lifetime=-60),
    "another secret": lambda: sign("f" * 32),
    "another algorithm": lambda: sign("0" * 64, "HS512"),
    "unsigned": lambda: jwt.encode({"sub": "mei", "iss": "open-webui", "exp": time.time() + 300}, "", algorithm="none"),
    "no signature": lambda: sign().rpartition(".")[0] + ".",
    "another signature": lambda: sign(sub="mei").rpartition(".")[0] + "." + sign(sub="lin").rpartition(".")[2],
    "never expires": lambda: sign(exp=None),
    "of nobody": lambda: sign(sub=None),
    "another issuer": lambda: sign(iss="elsewhere"),
    "issued in the future": lambda: sign(iat=int(time.time()) + 3600, exp=int(time.time()) + 7200),
    "empty": str,
    "no JWT": lambda: "a.b.c",
    "no ASCII": lambda: as_bytes("记忆"),
}


@pytest.mark.parametrize("make", UNVERIFIABLE.values(), ids=UNVERIFIABLE)
@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")  # of what the test signs
def test_a_user_that_cannot_be_verified_is_refused(token: str, make: Any):
    response = call(token, X_OpenWebUI_User_Jwt=make(), X_OpenWebUI_User_Id="mei")
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "unauthenticated"
    assert response["WWW-Authenticate"] == "Bearer"
    assert User.objects.count() == 1


def test_a_token_without_a_secret_verifies_nobody(service: User, settings: Any):
    without = create_token(user=service, is_service=True)
    assert call(without, X_OpenWebUI_User_Jwt=sign()).status_code == 401
    with_secret = create_token(user=service, is_service=True, jwt_secret=SECRET)
    settings.SECRET_KEY = "another one"
    assert call(with_secret, X_OpenWebUI_User_Jwt=sign()).status_code == 401


def test_a_deactivated_end_user_is_refused_and_the_others_are_not(token: str):
    who_is_it(token, X_End_User="mei")
    User.objects.filter(external_id="mei").update(is_active=False)
    response = call(token, X_End_User="mei")
    assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden")
    assert who_is_it(token, X_End_User="lin") == "lin"


@pytest.mark.spec("T4")
def test_each_service_has_its_own_end_users_whatever_its_token(service: User, token: str):
    another = create_token(user=service, is_service=True)
    assert who_is_it(token, X_End_User="mei") == who_is_it(another, X_End_User=" mei ") == "mei"
    mei = User.objects.get(service=service)
    assert get_or_create_end_user(service=UserFactory.create(), external_id="mei") != mei


@pytest.mark.parametrize(
    ("external_id", "username"),
    [
        ("小美@example.com", "open-webui+小美@example.com"),
        ("a b/c", "open-webui+a_b_c-"),
        ("ﬁve", "open-webui+five-"),
        ("x" * 200, "open-webui+" + "x" * 122 + "-"),
        ("ﷺ" * 200, "open-webui+صلى_"),
    ],
)
def test_usernames_are_readable_and_end_with_a_digest_if_they_were_changed(
    service: User, external_id: str, username: str
):
    user = get_or_create_end_user(service=service, external_id=external_id)
    assert user.username.startswith(username)
    assert len(user.username) == len(username) + (16 if username.endswith("-") else 0) or external_id[0] == "ﷺ"
    assert not user.has_usable_password()
    user.full_clean(exclude=["password"])


def test_a_username_that_is_taken_belongs_to_whom_it_belonged(service: User):
    taken = UserFactory.create(username="open-webui+mei")
    user = get_or_create_end_user(service=service, external_id="mei")
    assert user != taken
    assert user.username.startswith("open-webui+mei-")
    assert get_or_create_end_user(service=service, external_id="mei") == user
    distinct = {
        get_or_create_end_user(service=service, external_id=name).username for name in ("a b", "a/b", "a_b", "a  b")
    }
    assert len(distinct) == 4


@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_time_make_one_end_user():
    service = UserFactory.create()
    barrier = threading.Barrier(8)

    def create(_number: int) -> int:
        try:
            barrier.wait(timeout=200)
            return get_or_create_end_user(service=service, external_id="a b").pk
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(create, range(8)))) == 1
    assert User.objects.filter(service=service).count() == 1
