"""``deploy/compose.yaml`` behind PgBouncer: two web containers, workers, and nginx in front of them."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from tests.clients.stack import Account
from tests.image.bases import ROOT
from tests.image.compose import ORDER, Compose, run_compose
from tests.image.conftest import Image
from tests.image.engine import Engine, EngineError, Say
from tests.support.http_server import read_events
from tests.support.installations import MODEL_ANSWER, find_free_port
from tests.support.processes import wait_until
from tests.support.scripted_model import MODEL
from tests.support.talking import Crowd, Person

# Between two pieces of a reply, so that a reply takes seconds and its stream can be looked at before its end.
PAUSE_SECONDS = 0.1


@pytest.fixture(scope="module")
def compose(
    engine: Engine, image: Image, compose_images: None, tmp_path_factory: pytest.TempPathFactory, say: Say
) -> Iterator[Compose]:
    """Everything, in front of a model server in a container of its own."""
    model = {"OPENAI_BASE_URL": "http://model:9000/v1", "OPENAI_API_KEY": "test", "CHAT_MODEL": MODEL}
    port = find_free_port("127.0.0.1")
    with run_compose(engine, tmp_path_factory.mktemp("compose") / "deploy", port, say=say, **model) as compose:
        reply = compose.folder / "reply.json"
        reply.write_text(MODEL_ANSWER)
        mounts = (f"--volume={ROOT / 'tests'}:/opt/jiyi/tests:ro", f"--volume={reply}:/reply.json:ro")
        options = ("--network=jiyi_outside", "--network-alias=model", *mounts)
        command = ("python", "-m", "tests.support.scripted_model", "--host=0.0.0.0", "--port=9000")
        command += ("--reply-file=/reply.json", f"--pause={PAUSE_SECONDS}")
        with engine.start(image.tag, *command, name="model", options=options):
            wait_until(lambda: is_well(compose), seconds=600)
            # As documented; it makes one only while there is no account.
            assert "First account: admin   password: " in compose.manage("ensure_first_account")
            yield compose


@pytest.fixture(scope="module")
def service(compose: Compose) -> Account:
    """A service with a token, whose end users talk."""
    token = compose.container("web").exec("python", "manage.py", "create_token", "service", "--create", "--service")
    return Account(compose.url, token)


def is_well(compose: Compose) -> bool:
    """Whether every part works, as the proxy lets one see."""
    try:
        return httpx2.get(f"{compose.url}/healthz", timeout=20).is_success
    except httpx2.TransportError:
        return False


def is_idle(compose: Compose) -> bool:
    """Whether no background work waits or is being done."""
    try:
        health = httpx2.get(f"{compose.url}/healthz", timeout=20)
    except httpx2.TransportError:
        return False
    return health.is_success and not any(kind["due"] + kind["claimed"] for kind in health.json()["backlog"].values())


def test_the_page_speaks_both_languages(compose: Compose) -> None:
    page = httpx2.get(f"{compose.url}/login", headers={"Accept-Language": "zh-CN"}, timeout=60)
    assert "登录" in page.text


def test_a_reply_comes_through_the_proxy_piece_by_piece(compose: Compose, service: Account) -> None:
    anna = service.as_person("anna")
    session = anna.post("/chat/sessions", {})["id"]
    path = f"/chat/sessions/{session}/messages"
    headers = {"Authorization": f"Bearer {anna.token}", "X-End-User": "anna", "Accept-Encoding": "gzip"}
    body = {"content": "Hello", "stream": True}
    with httpx2.stream("POST", compose.url + path, json=body, headers=headers, timeout=120) as response:
        assert "content-encoding" not in response.headers
        events = read_events(response.iter_lines())
        first = next(event for event in events if event.name == "delta")
        # The model is still speaking: a proxy that buffers would have passed nothing on yet.
        assert [message["status"] for message in anna.get(path)["results"]] == ["pending"]
        rest = list(events)
    assert rest[-1].name == "done"
    assert sum(event.name == "delta" for event in (first, *rest)) > 2
    assert [message["status"] for message in anna.get(path)["results"]] == ["complete", "complete"]


def test_a_killed_web_container_costs_nobody_a_message(compose: Compose, service: Account, say: Say) -> None:
    people = [Person(compose.url, service.token, f"person-{at}", streams=bool(at % 2)) for at in range(6)]
    with Crowd(people) as crowd:
        wait_until(lambda: crowd.count() >= 12)
        compose.engine.run("kill", compose.container("web", 1).name)
        said = crowd.count()
        wait_until(lambda: crowd.count() >= said + 18)
    problems = sum((person.problems for person in people), start=type(people[0].problems)())
    say(f"a web container was killed under {len(people)} people, who saw: {dict(problems) or 'nothing'}")
    assert [person.find_faults() for person in people] == [[]] * len(people)
    for _request in range(10):
        httpx2.get(f"{compose.url}/readyz", timeout=20).raise_for_status()
    compose.engine.run("start", compose.container("web", 1).name)
    compose.container("web", 1).wait_healthy()


def test_containers_are_locked_down(compose: Compose) -> None:
    ours = [
        one for one in compose.containers() if compose.engine.inspect(one.name)["ImageName"].endswith("jiyi:latest")
    ]
    assert len(ours) == 7
    for container in ours:
        with pytest.raises(EngineError, match="Read-only file system"):
            container.exec("touch", "/opt/jiyi/here")
        status = dict(line.split(":\t", 1) for line in container.exec("cat", "/proc/1/status").splitlines())
        assert status["Uid"].split() == ["10001"] * 4
        assert (status["CapEff"], status["NoNewPrivs"]) == ("0" * 16, "1")


def test_everything_stops_in_time_and_a_backup_is_restored_past_the_pooler(
    compose: Compose, service: Account, say: Say
) -> None:
    ben = service.as_person("ben")
    session = ben.post("/chat/sessions", {})["id"]
    ben.post(f"/chat/sessions/{session}/messages", {"content": "First."})
    before = ben.list_messages()
    manage = ("run", "--rm", "--no-deps", "-T", "migrate", "python", "manage.py")
    compose.run(*manage, "backup", "/data/kept.zip")
    ben.post(f"/chat/sessions/{session}/messages", {"content": "Second."})
    assert len(ben.list_messages()) == len(before) + 2
    # A worker that waits for a model is killed at the end of its grace, and its task goes back to the queue.
    wait_until(lambda: is_idle(compose), seconds=600)
    containers = compose.containers()
    peaks = {one.name.removeprefix("jiyi_"): (one.read_peak() or 0) / 1e6 for one in containers}
    say(", ".join(f"{name} {peak:.0f} MB" for name, peak in peaks.items()))
    compose.stop()
    codes = {one.name: one.state["ExitCode"] for one in containers}
    compose.up(*ORDER[0])
    compose.run(*manage, "restore", "/data/kept.zip", "--replace", "--yes")
    for group in ORDER[1:]:
        compose.up(*group)
    wait_until(lambda: is_well(compose), seconds=600)
    assert ben.list_messages() == before
    assert not [name for name, code in codes.items() if code == 137], codes  # killed at the end of its grace
