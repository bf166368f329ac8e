"""What every test shares: a data folder of this run's own, and servers in it for the tests that ask for them."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import certifi
import hypothesis
import pytest
from django.conf import settings
from django.db import connection, connections
from django.utils import translation
from redis import Redis

from apps.accounts.models import User
from apps.conversations.models import Session
from apps.core.db import release_connections
from apps.embedded.layout import DataLayout, broker_url, redis_url
from apps.embedded.servers import get_missing_servers
from tests.support.factories import SessionFactory, UserFactory
from tests.support.scripted_model import MODEL, ScriptedModel
from tests.support.servers import copy_cluster, make_data_folder, remove_data_folder, run_servers
from tests.support.workers import BLOCKED, Run

pytest_plugins = ["tests.support.http_server", "tests.support.plugin", "tests.support.spec_report"]

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")

_data_dir = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Move this run, and every process it starts, to a data folder of its own. Starts nothing."""
    gc.set_threshold(50_000, 20, 100)  # walking dictionaries and tests again and again took a seventh of the time
    data_dir = config.stash[_data_dir] = make_data_folder()
    os.environ["JIYI_DATA_DIR"] = str(data_dir)
    os.environ["TOKEN_FAILURES_PER_MINUTE"] = "100000"  # all tests come from one address
    # pytest-django has loaded the settings by now, and nobody has used them yet.
    settings.DATA_DIR = data_dir
    settings.TOKEN_FAILURES_PER_MINUTE = 100_000
    # The hash of a password takes half a second or more, on purpose; in tests nobody guesses.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    settings.STATIC_ROOT = data_dir / "static"
    settings.CELERY_BEAT_SCHEDULE_FILENAME = str(data_dir / "celerybeat-schedule")
    missing = get_missing_servers()
    if "postgres" in missing:
        connections["default"].settings_dict["HOST"] = str(DataLayout.at(data_dir).sockets)
    if "valkey" in missing:
        settings.REDIS_URL = redis_url(data_dir)
        settings.CELERY_BROKER_URL = broker_url(settings.REDIS_URL)
        settings.CACHES["default"]["LOCATION"] = settings.REDIS_URL


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the garbage collector what is imported by now, which stays, and HTTP clients all authorities but one."""
    gc.collect()
    gc.freeze()
    # Every client reads them anew, for 25 ms. Nothing here speaks TLS but what installs programs.
    if not any(item.get_closest_marker(name) for name in ("clients", "image", "install") for item in session.items):
        authority = session.config.stash[_data_dir] / "authority.pem"
        end = "-----END CERTIFICATE-----\n"
        authority.write_text(certifi.contents().partition(end)[0] + end)
        os.environ["SSL_CERT_FILE"] = str(authority)


def pytest_unconfigure(config: pytest.Config) -> None:
    remove_data_folder(config.stash[_data_dir])


@pytest.fixture(autouse=True)
def _default_language() -> Iterator[None]:
    """Leave the language of a test's last request to that test; a request activates one and keeps it."""
    yield
    translation.deactivate()


@pytest.fixture(scope="session")
def data_dir(pytestconfig: pytest.Config) -> Path:
    """The data folder of this run."""
    return pytestconfig.stash[_data_dir]


@pytest.fixture(scope="session")
def servers(data_dir: Path) -> Iterator[None]:
    """PostgreSQL and Valkey for this run. Tests of the database have them anyway; ask for it to use Valkey alone."""
    if "postgres" in get_missing_servers():
        copy_cluster(data_dir)
    with run_servers(data_dir):
        yield


@pytest.fixture(scope="session")
def django_db_keepdb(request: pytest.FixtureRequest) -> bool:
    """pytest-django's: a server of this run's own is thrown away with its databases, whoever is still connected."""
    return "postgres" in get_missing_servers() or bool(request.config.getoption("reuse_db"))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(servers: None) -> None:
    """pytest-django's hook before the test database is made: by then there has to be a server."""


@pytest.fixture(scope="session")
def _scripted_model_server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def scripted_model(_scripted_model_server: ScriptedModel) -> Iterator[ScriptedModel]:
    """A running `ScriptedModel` with nothing recorded and nothing queued; one server for the whole run."""
    _scripted_model_server.reset()
    yield _scripted_model_server
    _scripted_model_server.reset()


@pytest.fixture
def model(scripted_model: ScriptedModel, settings: Any) -> ScriptedModel:
    """The scripted model server as the product's chat model, in turns and in the background."""
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL, settings.CHAT_MODEL = "test", scripted_model.base_url, MODEL
    return scripted_model


@pytest.fixture
def user(db: None) -> User:
    """Somebody to whom things happen through the services."""
    return UserFactory.create(username="li")


@pytest.fixture
def session(user: User) -> Session:
    """A conversation of theirs."""
    return SessionFactory.create(user=user)


@pytest.fixture
def log(tmp_path: Path, servers: None) -> Iterator[Path]:
    """Where worker processes write, shown when the test fails. What another test queued is none of theirs."""
    Redis.from_url(settings.REDIS_URL).flushall()
    yield tmp_path / "workers.log"
    print((tmp_path / "workers.log").read_text())


@pytest.fixture
def run_until_blocked() -> Iterator[Run]:
    """Start a function in a connection of its own; returns once it waits for a lock."""
    with ThreadPoolExecutor(1) as pool:

        def run(function: Callable[..., Any], **arguments: Any) -> Future[Any]:
            def work() -> Any:
                try:
                    return function(**arguments)
                finally:
                    release_connections()

            future = pool.submit(work)
            with connection.cursor() as cursor:
                while not future.done():
                    cursor.execute(BLOCKED)
                    if cursor.fetchone() != (0,):
                        return future
            pytest.fail(f"It did not have to wait: {future.exception() or future.result()}")

        yield run
