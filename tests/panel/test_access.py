"""Two people and one of the staff at every address of the panel: what is one's is not there for the other (M7), what
an ordinary person reads is words, and however many rows there are, a list takes the same number of queries.

The addresses are read from the site, so that a page added later is in these tests or fails them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps as django_apps
from django.contrib import admin
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone

from apps.accounts.models import ApiToken, Setting, User
from apps.accounts.services.people import get_or_create_end_user
from apps.doors.mcp.oauth import record_connection, register_application
from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.memory.models import AtomicMemory, LongTermMemory
from apps.panel.owned import OwnedAdmin, StaffAdmin
from tests.contracts.world import World, build_world, dump
from tests.support.everything import Everything
from tests.support.http_server import ApiClient, HttpServer
from tests.support.page_policy import list_faults
from tests.support.scripted_model import ScriptedModel

pytestmark = pytest.mark.spec("M7")


@pytest.fixture(autouse=True)
def _every_page_is_there(settings: Any) -> None:
    settings.WEBHOOKS = "public"


# No words of a page: spaces have colours such as violet.
SECRET, OTHER_SECRET = "紫藤 wisteria", "向日葵 sunflower"
_ROOT = "/admin/"
# Django's own, without a person's data; what autocompletion and the search of the menu tell is tested below.
_NOT_PAGES = {"catch_all", "logout", "jsi18n", "login", "autocomplete", "search", "view_on_site"}


@dataclass(frozen=True)
class Address:
    """A URL pattern of the site. ``model``: the label of the table it is about, where it is about one."""

    name: str
    template: str
    parameters: tuple[str, ...]
    model: str | None


def list_addresses() -> list[Address]:
    """Every address of the site that shows or changes something of somebody's."""
    return [address for address in _walk(admin.site.get_urls(), prefix=_ROOT) if address.name not in _NOT_PAGES]


def _walk(patterns: list[Any], *, prefix: str, model: str | None = None) -> Iterator[Address]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            found = re.fullmatch(r"(\w+)/(\w+)/", str(pattern.pattern))
            yield from _walk(
                pattern.url_patterns,
                prefix=prefix + str(pattern.pattern),
                model=".".join(found.groups()) if found else model,
            )
        elif isinstance(pattern, URLPattern) and pattern.name and pattern.name != "app_list":
            text = str(pattern.pattern)
            names = tuple(pattern.pattern.converters)
            yield Address(
                name=pattern.name,
                template=prefix + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", text),
                parameters=names,
                model=model,
            )


@dataclass(frozen=True)
class Person:
    """Somebody with one of everything, and their browser. ``of_their_own``: the rows of each table they may see."""

    user: User
    world: World
    secret: str
    browser: Client

    def fill(self, address: Address) -> str:
        """The address with the IDs of what is this person's."""
        return address.template.format(**{name: self._find(name, address) for name in address.parameters})

    def ask(self, address: Address) -> dict[str, str]:
        """What an address that shows one thing is asked for, so that its owner is served."""
        atomic = f"atomic:{self.world.pending_atomic}"
        of = {"review_consequence": ("reference", atomic), "review_editor": ("reference", atomic)}
        of |= {"transfer_download": ("what", "long-term")}
        return dict([of[address.name]]) if address.name in of else {}

    def _find(self, name: str, address: Address) -> str:
        if address.model:
            rows = list_rows(address.model, self.user)
            assert rows, f"the world has no row of {address.model}: add one to tests/contracts/world.py"
            return rows[0]
        known = self.world.ids | {"turn_id": self.world.reply, "reply_id": self.world.reply, "kind": "long_term"}
        known |= dict.fromkeys(("id", "user_id"), str(self.user.pk))
        assert name in known, f"{address.template}: tell this test what {name} is"
        return str(known[name])


def find_page(label: str) -> Any:
    """Return the page of a table."""
    return admin.site.get_model_admin(django_apps.get_model(label))


def list_rows(label: str, user: User) -> list[str]:
    """The primary keys of a table's rows as its page lists them for the user."""
    request = RequestFactory().get(_ROOT)
    request.user = user
    return [str(row.pk) for row in find_page(label).get_queryset(request)]


def make_person(client: ApiClient, secret: str) -> Person:
    world = build_world(client, secret=secret)
    ApiToken.objects.create(user=client.user, name=secret)
    get_or_create_end_user(service=client.user, external_id=secret)
    application = register_application(name=secret, redirect_uris=["https://app.example/callback"])
    record_connection(user=client.user, application=application, scopes=["read"], now=timezone.now())
    browser = Client()
    browser.force_login(client.user)
    return Person(user=client.user, world=world, secret=secret, browser=browser)


@pytest.fixture
def mei(alice: ApiClient) -> Person:
    return make_person(alice, SECRET)


@pytest.fixture
def lin(bob: ApiClient) -> Person:
    return make_person(bob, OTHER_SECRET)


@pytest.fixture
def staff(db: None) -> Client:
    browser = Client()
    browser.force_login(User.objects.create_user("tang", is_staff=True))
    return browser


def list_owners(shown: Any, page: OwnedAdmin) -> set[int]:
    """Whose rows a list shows: those of Django's, or of the memories' own."""
    if "cl" in shown.context:
        return set(shown.context["cl"].queryset.values_list(page.owner, flat=True))
    return {row.memory.user_id for row in shown.context["page"].rows}


def holds(text: str, person: Person) -> bool:
    """Whether a page tells something of a person: a word of theirs, or who they are."""
    return any(word in text for word in [*person.secret.split(), person.user.username])


@pytest.mark.long
def test_every_list_has_exactly_the_rows_of_who_looks(mei: Person, lin: Person, staff: Client) -> None:
    wrong = {}
    for model, page in admin.site._registry.items():
        url = f"{_ROOT}{model._meta.app_label}/{model._meta.model_name}/"
        if model in (AtomicMemory, LongTermMemory):
            url += "?status=all"
        if isinstance(page, StaffAdmin):
            assert mei.browser.get(url).status_code == 403, url
            shown = staff.get(url, follow=True)
            assert shown.status_code == 200, url
            assert list_faults(shown) == [], url
            continue
        assert isinstance(page, OwnedAdmin), f"{page} is neither one's own nor for staff"
        listed = {}
        for name, browser, other in (("mei", mei.browser, lin), ("lin", lin.browser, mei), ("staff", staff, None)):
            shown = browser.get(url, follow=True)
            assert shown.status_code == 200, url
            assert list_faults(shown) == [], url
            listed[name] = list_owners(shown, page)
            if other is not None and holds(shown.content.decode(), other):
                wrong[f"{name} {url}"] = "tells of somebody else"
        expected = {"mei": {mei.user.pk}, "lin": {lin.user.pk}, "staff": {mei.user.pk, lin.user.pk}}
        if listed != expected:
            wrong[url] = str(listed)
    assert wrong == {}


def test_whose_it_is_sees_every_page_and_looking_changes_nothing(mei: Person, staff: Client) -> None:
    before = dump(mei.user)
    failed: dict[str, Any] = {}
    for address in list_addresses():
        if address.model and isinstance(find_page(address.model), StaffAdmin):
            continue
        url = mei.fill(address)
        answer = mei.browser.get(url, mei.ask(address))
        status = answer.status_code
        if faults := list_faults(answer):
            failed[f"runs what its policy blocks: {url}"] = faults
        answer.close()
        if status not in (200, 302, 403, 405):  # 403: not to be added or deleted by itself; 405: takes POST only
            failed[url] = status
    assert failed == {}
    assert dump(mei.user) == before


@pytest.mark.long
def test_nobody_sees_or_changes_what_is_somebody_elses(mei: Person, lin: Person) -> None:
    before = dump(mei.user)
    wrong = {}
    for address in list_addresses():
        if address.model and isinstance(find_page(address.model), StaffAdmin):
            url = address.template.format(**dict.fromkeys(address.parameters, "1"))
            for answer in (lin.browser.get(url), lin.browser.post(url, {"post": "yes"})):
                if answer.status_code not in (302, 403, 404, 405):
                    wrong[f"staff only: {url}"] = answer.status_code
            continue
        url, query = mei.fill(address), {**mei.ask(address), "user": str(mei.user.pk)}
        form = {**query, "post": "yes", "action": "accept", "confirm": mei.user.username}
        for got in (lin.browser.get(url, query), lin.browser.post(url, form)):
            body = b"".join(got.streaming_content) if got.streaming else got.content
            got.close()
            told = holds(body.decode(), mei)
            if told or (address.parameters and got.status_code not in (302, 403, 404, 405)):
                wrong[f"{address.name} {url}"] = got.status_code
    assert wrong == {}
    after = dump(mei.user)
    assert {table for table in before if before[table] != after[table]} == set()


@pytest.mark.long
def test_actions_reach_nothing_that_is_somebody_elses(mei: Person, lin: Person) -> None:
    before = dump(mei.user)
    request = RequestFactory().get(_ROOT)
    request.user = lin.user
    for model, page in admin.site._registry.items():
        if isinstance(page, StaffAdmin):
            continue
        url = f"{_ROOT}{model._meta.app_label}/{model._meta.model_name}/"
        rows = list_rows(model._meta.label_lower, mei.user)
        for action in page.get_actions(request):
            body = {"action": action, "_selected_action": rows, "post": "yes", "confirmed": "yes"}
            answer = lin.browser.post(url, body)
            assert answer.status_code in (200, 302, 403, 405), (url, action)
            assert not holds(answer.content.decode(), mei), (url, action)
    after = dump(mei.user)
    assert {table for table in before if before[table] != after[table]} == set()


@pytest.mark.long
@pytest.mark.parametrize("label", ["conversations.message", "chat.turn", "memory.change"])
def test_records_are_neither_added_changed_nor_deleted_by_themselves(
    mei: Person, root: User, client: Client, label: str
) -> None:
    before = dump(mei.user)
    (row, *_others), url = list_rows(label, mei.user), f"{_ROOT}{label.replace('.', '/')}/"
    assert client.get(f"{url}add/").status_code == 403
    assert client.post(f"{url}{row}/change/", {}).status_code == 403
    assert client.post(f"{url}{row}/delete/", {"post": "yes"}).status_code == 403
    client.post(url, {"action": "delete_selected", "_selected_action": [row], "post": "yes"})
    assert dump(mei.user) == before


@pytest.mark.long
def test_who_is_not_logged_in_or_no_longer_active_gets_to_the_log_in_page(mei: Person, client: Client) -> None:
    gone = Client()
    gone.force_login(mei.user)
    User.objects.filter(pk=mei.user.pk).update(is_active=False)
    inside = {}
    for address in list_addresses():
        url = address.template.format(**dict.fromkeys(address.parameters, "00000000-0000-0000-0000-000000000000"))
        for browser in (client, gone):
            answer = browser.get(url)
            if answer.status_code not in (302, 404) or "log" not in answer.get("Location", "/login"):
                inside[url] = answer.status_code
    assert inside == {}


@pytest.mark.long
def test_autocompletion_and_the_search_of_the_menu_tell_of_nobody_else(mei: Person, lin: Person, staff: Client) -> None:
    names = {"app_label": "memory", "model_name": "longtermmemory", "field_name": "user", "term": mei.user.username}
    assert lin.browser.get(f"{_ROOT}autocomplete/", names).status_code == 403
    found = staff.get(f"{_ROOT}autocomplete/", names).json()["results"]
    served = mei.user.end_users.get().username
    assert sorted(row["text"] for row in found) == [mei.user.username, served]
    for term in (mei.user.username, *mei.secret.split()):
        assert not holds(lin.browser.get(f"{_ROOT}search/", {"s": term, "extended": "1"}).content.decode(), mei)


@pytest.mark.long
@pytest.mark.parametrize("named", ["0", "x", "9" * 30, "-1", "１"])
def test_staff_who_name_nobody_look_at_their_own(staff: Client, named: str) -> None:
    assert staff.get(_ROOT, {"user": named}).status_code == 200


def test_what_staff_change_for_somebody_who_is_gone_is_not_changed_for_themselves(staff: Client) -> None:
    for page in ("settings", "profile/section", "transfer/confirm", "erasure"):
        assert staff.post(f"{_ROOT}{page}/?user=999999", {"memory.rag_top_n": "9"}).status_code == 404, page
    assert not Setting.objects.exists()


# Words

JSON = re.compile(r"""[\[{]\s*["'][^"']*["']\s*[:,\]]|\[\s*\]|\{\s*\}|["']\s*:\s*[\[{"'\d]""")
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SEEN_OF_EACH = 6


def read(page: str) -> str:
    """The words on a page, as a person sees them. What was sent to the model word for word is folded."""
    page = page[page.index('<div id="main"') :] if '<div id="main"' in page else page
    page = re.sub(r'<pre class="layer__text".*?</pre>|<details class="whole">.*?</details>', " ", page, flags=re.DOTALL)
    page = re.sub(r"<(script|style|template|textarea|select|noscript)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


@pytest.mark.long
@pytest.mark.spec("M1", "M6")
def test_no_page_shows_json_or_an_id(alice: ApiClient, model: ScriptedModel) -> None:
    everything = Everything(alice, model)
    value = {"深": ["红色"], "b": {"c": None}}
    update_memory(
        LONG_TERM, user=alice.user, memory_id=everything.memory.id, changes={"value": value}, now=timezone.now()
    )
    person = make_person(alice, "aaa bbb")
    found, pages = {}, 0
    for address in list_addresses():
        if address.model and isinstance(find_page(address.model), StaffAdmin):
            continue
        urls = [person.fill(address)]
        if address.model and address.parameters:
            rows = list_rows(address.model, alice.user)[:SEEN_OF_EACH]
            urls = [address.template.format(**dict.fromkeys(address.parameters, key)) for key in rows]
        for url in urls:
            answer = person.browser.get(url, person.ask(address))
            if answer.status_code != 200 or answer.streaming or "html" not in answer["Content-Type"]:
                answer.close()
                continue
            pages += 1
            text = read(answer.content.decode())
            for match in (*JSON.finditer(text), *ID.finditer(text)):
                found[url] = text[max(0, match.start() - 60) : match.end() + 60]
    assert found == {}
    assert pages > 100


# Queries

MOST_QUERIES = 20
GATHERING = ("index", "review", "memories_changelist", "timeline", "embeddings", "cost")


def count_queries(browser: Client) -> dict[str, int]:
    """Ask for the list of every table, and for pages that gather; return how many queries each takes."""
    found = {}
    lists = [f"{model._meta.app_label}_{model._meta.model_name}_changelist" for model in admin.site._registry]
    for address in (reverse(f"admin:{name}") for name in [*lists, *GATHERING]):
        with CaptureQueriesContext(connection) as captured:
            response = browser.get(address)
        if response.status_code == 200:
            found[address] = sum("SAVEPOINT" not in query["sql"] for query in captured.captured_queries)
    return found


@pytest.mark.long
@pytest.mark.spec("M1", "M5")
def test_the_number_of_queries_does_not_grow_with_the_rows(http_server: HttpServer) -> None:
    browser = Client()
    browser.force_login(User.objects.create_superuser("staff"))

    def make_people(*names: str) -> None:
        for name in names:
            with ApiClient(http_server, User.objects.create_user(name)) as client:
                build_world(client, secret=f"紫罗兰 {name}")

    make_people("alice", "bob")
    few = count_queries(browser)
    make_people("carol", "dave", "eve", "frank")
    many = count_queries(browser)
    assert len(many) > 5
    assert few == many
    assert max(many.values()) <= MOST_QUERIES
