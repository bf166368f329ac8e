"""Load what takes a second and much memory: before anybody waits for it, and before a process is forked."""

from __future__ import annotations

import gc

from celery import current_app

from apps.core.llm.client import get_environment_model
from apps.core.llm.client import warm_up as warm_up_embedder
from apps.core.text.search import warm_up as warm_up_texts


def preload() -> None:
    """Load dictionaries, the local embedder and the client of the chat model, once for this process and its forks.

    200 MB, of which a fork copies only what it writes to. All that there is by then is taken for lasting.
    """
    warm_up_texts()
    current_app.amqp.send_task_message  # noqa: B018 (each of these three is made, and its modules read, when it is asked for)
    current_app.backend  # noqa: B018
    current_app.AsyncResult  # noqa: B018
    current_app.connection_for_write().get_transport_cls()
    warm_up_embedder()
    get_environment_model()
    # The garbage collector need not walk a million objects again and again, nor write to each in every fork.
    gc.collect()
    gc.freeze()
