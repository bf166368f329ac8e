"""The page of what was tidied up: whose runs it shows, and what it refuses (D2)."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.memory.models import AtomicMemory, Status
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


@pytest.fixture
def mel(world: World, monkeypatch: pytest.MonkeyPatch) -> User:
    """Somebody whose memories were tidied up."""
    monkeypatch.setattr("apps.core.llm.client.get_chat_model", lambda: CapableModel(world))
    user: User = UserFactory.create(username="mel")
    remember(user, world, now=timezone.now())
    request_tidying(user, now=timezone.now())
    run = claim_run(token="test", now=timezone.now())
    assert run is not None
    do_run(run, token="test")
    return user


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


def test_the_page_takes_as_many_queries_for_fifty_changes_as_for_one(
    mel: User, django_assert_max_num_queries: Any
) -> None:
    client = browse(mel)
    client.get(reverse("admin:tidying"))
    with django_assert_max_num_queries(30):
        client.get(reverse("admin:tidying"))
