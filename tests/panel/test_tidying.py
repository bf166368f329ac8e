"""The page of what was tidied up: whose runs it shows, and what it refuses (D2)."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.models import AtomicMemory, Change, Status
from apps.tidying.models import Tidying
from apps.tidying.run import claim_run, do_run
from apps.tidying.services import request_tidying
from tests.panel.conftest import browse, toast
from tests.support.factories import UserFactory
from tests.tidying.world import CapableModel, World, make_world, remember

pytestmark = [pytest.mark.django_db, pytest.mark.spec("D2")]


@pytest.fixture
def world() -> World:
    return make_world(now=timezone.now(), share=0.1)


def tidy_up(world: World, monkeypatch: pytest.MonkeyPatch) -> User:
    """Somebody whose memories, those of this world, were tidied up."""
    monkeypatch.setattr("apps.core.llm.client.get_chat_model", lambda: CapableModel(world))
    user: User = UserFactory.create()
    remember(user, world, now=timezone.now())
    request_tidying(user, now=timezone.now())
    run = claim_run(token="test", now=timezone.now())
    assert run is not None
    do_run(run, token="test")
    return user


@pytest.fixture
def mel(world: World, monkeypatch: pytest.MonkeyPatch) -> User:
    return tidy_up(world, monkeypatch)


def test_the_letter_is_its_owners_and_the_staffs(mel: User, world: World) -> None:
    ended = next(iter(world.replaced))
    page = reverse("admin:tidying")
    assert ended in browse(mel).get(page).content.decode()
    assert ended not in browse(UserFactory.create()).get(f"{page}?user={mel.pk}").content.decode()
    staff = UserFactory.create(is_staff=True)
    assert ended in browse(staff).get(f"{page}?user={mel.pk}").content.decode()


def test_nobody_undoes_another_persons_run(mel: User) -> None:
    run = Tidying.objects.get()
    before = AtomicMemory.objects.filter(user=mel, status=Status.ACTIVE).count()
    other = browse(UserFactory.create()).post(f"{reverse('admin:tidying_undo', args=[run.id])}?user={mel.pk}")
    assert toast(other)["error"]
    assert AtomicMemory.objects.filter(user=mel, status=Status.ACTIVE).count() == before
    own = browse(mel).post(reverse("admin:tidying_undo", args=[run.id]))
    assert not toast(own)["error"]
    assert AtomicMemory.objects.filter(user=mel, status=Status.ACTIVE).count() > before


def test_without_a_model_the_button_says_why(db: None) -> None:
    answer = browse(UserFactory.create()).post(reverse("admin:tidying_start"), headers={"accept-language": "en"})
    assert toast(answer)["text"] == "Connect a model first: the offline one cannot tidy up."
    assert not Tidying.objects.exists()


def test_the_page_takes_as_many_queries_for_many_changes_as_for_few(mel: User, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, changes = [], []
    for user in (mel, tidy_up(make_world(now=timezone.now(), share=0.5), monkeypatch)):
        client = browse(user)
        client.get(reverse("admin:tidying"))
        with CaptureQueriesContext(connection) as caught:
            client.get(reverse("admin:tidying"))
        queries.append(len(caught))
        changes.append(Change.objects.filter(user=user).count())
    assert queries[0] == queries[1], changes
    assert changes[1] > 2 * changes[0]
