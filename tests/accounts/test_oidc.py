"""Signing in with another service: a real provider over HTTP on loopback, from discovery to the verified ID token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.test import Client

from apps.accounts.models import User
from apps.accounts.services.oidc import get_provider_id, join_claims
from apps.accounts.services.people import get_or_create_end_user
from tests.accounts.conftest import RIGHT, SECURITY, is_logged_in, open_browser
from tests.accounts.test_credentials import make_code, set_up
from tests.support.oidc_provider import CLIENT_ID, CLIENT_SECRET, OidcProvider

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long_except(
        "test_an_id_token_that_proves_nothing_lets_nobody_in",
        "test_what_is_connected_to_another_account_is_not_taken_from_it",
    ),
]


@pytest.fixture(scope="module")
def _provider() -> Iterator[OidcProvider]:
    with OidcProvider() as provider:
        yield provider


@pytest.fixture
def provider(_provider: OidcProvider, settings: Any) -> OidcProvider:
    settings.OIDC_ISSUER, settings.OIDC_NAME = _provider.issuer, "Example"
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
    settings.OIDC_AUTO_CREATE = True
    _provider.claims = {"sub": "248289761001", "email": "mei@example.org", "email_verified": True}
    _provider.claims |= {"preferred_username": "mei", "name": "Mei Lin"}
    _provider.userinfo, _provider.asked = {}, []
    _provider.spoil, _provider.sign_with_other_key, _provider.denies = lambda claims: claims, False, False
    return _provider


def go(browser: Client, path: str = "/login/oidc", **body: str) -> Any:
    """To the provider and back, as a browser does; the last answer of ours."""
    away = browser.post(path, body)
    assert away.status_code == 302, away.content.decode()
    back = httpx2.get(away.url)
    return browser.get(back.headers["location"])


def test_without_configuration_there_is_no_other_way(settings: Any) -> None:
    settings.OIDC_ISSUER = ""
    assert "/login/oidc" not in Client().get("/login").content.decode()
    assert Client().post("/login/oidc").status_code == 404
    assert Client().get("/login/oidc/callback").status_code == 404


def test_who_signs_in_first_gets_an_account_and_later_the_same(provider: OidcProvider) -> None:
    browser = Client()
    provider.claims |= {"birthdate": "1990-01-01"}
    assert "Log in with Example" in browser.get("/login").content.decode()
    assert go(browser, next="/admin/").url == "/admin/"
    assert is_logged_in(browser)
    user = User.objects.get()
    assert (user.username, user.email, user.has_usable_password()) == ("mei", "mei@example.org", False)
    assert provider.asked == ["/.well-known/openid-configuration", "/authorize", "/.well-known/openid-configuration",
                              "/token", "/jwks"]  # fmt: skip
    account = SocialAccount.objects.get()
    assert account.provider == get_provider_id()
    assert account.extra_data == {"email": "mei@example.org", "name": "Mei Lin"}, "little is kept"
    assert not SocialToken.objects.exists()
    again = Client()
    assert go(again, next="https://evil.test/").url == "/"
    assert is_logged_in(again)
    assert User.objects.count() == 1


@pytest.mark.parametrize("verified", [True, False])
def test_an_address_attaches_nobody_to_an_account(provider: OidcProvider, mei: User, verified: bool) -> None:
    provider.claims["email_verified"] = verified
    browser = Client()
    answer = go(browser)
    if verified:
        assert answer.status_code == 403
        assert "There is an account with your email address." in answer.content.decode()
        assert not is_logged_in(browser)
    else:  # an account of its own, without the address
        made = User.objects.exclude(pk=mei.pk).get()
        assert (made.email, made.username != "mei") == ("", True)
    assert not SocialAccount.objects.filter(user=mei).exists()


def test_without_automatic_accounts_strangers_are_told_what_to_do(provider: OidcProvider, settings: Any) -> None:
    settings.OIDC_AUTO_CREATE = False
    answer = go(Client())
    assert answer.status_code == 403
    assert "No account here is connected" in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("email", "verified", "let_in"),
    [
        ("mei@example.org", True, True),
        ("mei@EXAMPLE.org", "true", True),
        ("mei@example.org", False, False),
        ("mei@example.org.evil.test", True, False),
        ("mei@evil.test", True, False),
        (None, True, False),
    ],
)
def test_only_allowed_domains_sign_in(
    provider: OidcProvider, settings: Any, email: str | None, verified: Any, let_in: bool
) -> None:
    settings.OIDC_ALLOWED_DOMAINS = ["example.org"]
    provider.claims |= {"email": email, "email_verified": verified}
    browser = Client()
    go(browser)
    assert is_logged_in(browser) is let_in


def change(**changed: Any) -> Any:
    return lambda claims: {**claims, **changed}


@pytest.mark.parametrize(
    "spoil",
    [
        change(iss="https://evil.test"),
        change(aud="somebody else"),
        change(aud=[CLIENT_ID, "somebody else"]),
        change(azp="somebody else"),
        change(exp=1),
        change(nonce="another"),
        change(sub=""),
        lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
        lambda claims: {name: value for name, value in claims.items() if name != "exp"},
    ],
)
def test_an_id_token_that_proves_nothing_lets_nobody_in(provider: OidcProvider, spoil: Any) -> None:
    provider.spoil = spoil
    browser = Client()
    assert go(browser).status_code == 401
    assert not is_logged_in(browser)
    assert not User.objects.exists()


def test_a_signature_with_another_key_or_a_refusal_there_lets_nobody_in(provider: OidcProvider) -> None:
    browser = Client()
    provider.sign_with_other_key = True
    assert "could not be verified" in go(browser).content.decode()
    provider.denies = True
    assert "You cancelled the login there." in go(browser).content.decode()
    assert not is_logged_in(browser)


def test_an_answer_that_nobody_asked_for_lets_nobody_in(provider: OidcProvider) -> None:
    started = Client()
    back = httpx2.get(started.post("/login/oidc").url).headers["location"]
    victim = Client()
    assert victim.get(back).status_code == 401
    assert not is_logged_in(victim)
    assert is_logged_in(started) is False
    started.get(back)
    assert is_logged_in(started)
    assert started.get(back).status_code == 401  # not twice


def test_a_service_that_is_away_or_calls_itself_otherwise_is_refused(provider: OidcProvider, settings: Any) -> None:
    settings.OIDC_ISSUER = provider.issuer.replace("127.0.0.1", "localhost")
    assert Client().post("/login/oidc").status_code == 502
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    answer = Client().post("/login/oidc")
    assert answer.status_code == 502
    assert "cannot be reached" in answer.content.decode()


def test_claims_are_asked_for_where_the_token_has_none(provider: OidcProvider) -> None:
    provider.claims = {"sub": "7"}
    provider.userinfo = {"email": "lin@example.org", "email_verified": True}
    go(Client())
    assert User.objects.get().email == "lin@example.org"
    assert "/userinfo" in provider.asked


def test_an_address_is_verified_only_where_both_say_the_same() -> None:
    told = {"sub": "7", "email": "real@example.org", "email_verified": True}
    joined = join_claims({"sub": "7", "email": "other@example.org"}, told)
    assert (joined["email"], joined.get("email_verified")) == ("other@example.org", None)
    unverified = {"sub": "7", "email": "real@example.org"}
    assert "email_verified" not in join_claims({"sub": "7", "email_verified": True}, unverified)


def test_the_end_users_of_a_service_never_sign_in(provider: OidcProvider) -> None:
    service = User.objects.create_user("shop")
    end_user = get_or_create_end_user(service=service, external_id="mei")
    SocialAccount.objects.create(user=end_user, provider=get_provider_id(), uid="248289761001")
    browser = Client()
    assert go(browser).status_code == 403
    assert not is_logged_in(browser)


def test_a_second_factor_is_asked_for_unless_the_service_had_one(provider: OidcProvider) -> None:
    go(Client())
    mei = User.objects.get()
    secret, _codes = set_up(mei)
    browser = Client()
    assert go(browser, next="/admin/").url == "/login/code"
    assert not is_logged_in(browser)
    assert browser.post("/login/code", {"code": make_code(secret)}).url == "/admin/"
    assert is_logged_in(browser)
    provider.claims["amr"] = ["pwd", "mfa"]
    other = Client()
    go(other)
    assert is_logged_in(other)


def test_the_owner_of_an_account_connects_it_and_disconnects_it(
    provider: OidcProvider, mei: User, settings: Any
) -> None:
    settings.OIDC_AUTO_CREATE = False
    browser = open_browser(mei)
    wrong = browser.post(f"{SECURITY}connect/", {"proof": "wrong"})
    assert wrong.status_code == 400
    assert go(browser, f"{SECURITY}connect/", proof=RIGHT).url == "/admin/security/"
    page = browser.get("/admin/security/").content.decode()
    assert "not connected" not in page
    other = Client()
    go(other)
    assert other.session["_auth_user_id"] == str(mei.pk)
    link = SocialAccount.objects.get()
    browser.post(f"{SECURITY}disconnect/", {"link": link.pk})
    assert not SocialAccount.objects.exists()


def test_what_is_connected_to_another_account_is_not_taken_from_it(provider: OidcProvider, mei: User) -> None:
    other = User.objects.create_user("lin")
    SocialAccount.objects.create(user=other, provider=get_provider_id(), uid="248289761001")
    browser = open_browser(mei)
    answer = go(browser, f"{SECURITY}connect/", proof=RIGHT)
    assert answer.status_code == 409
    assert SocialAccount.objects.get().user == other
    assert browser.session["_auth_user_id"] == str(mei.pk)


def test_the_only_way_in_is_not_disconnected(provider: OidcProvider) -> None:
    browser = Client()
    go(browser)
    link = SocialAccount.objects.get()
    page = browser.post(f"{SECURITY}disconnect/", {"link": link.pk}, follow=True).content.decode()
    assert "you have no other way to log in" in page
    assert SocialAccount.objects.exists()
