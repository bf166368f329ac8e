"""What an ordinary person reads in the panel is words: no JSON, and no ID where a thing has a name."""

from __future__ import annotations

import html
import re

import pytest
from django.utils import timezone

from apps.memory.kinds import LONG_TERM
from apps.memory.lifecycle import update_memory
from apps.panel.owned import StaffAdmin
from tests.panel.test_access import find_page, list_addresses, list_rows, make_person
from tests.support.everything import Everything
from tests.support.http_server import ApiClient
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.django_db, pytest.mark.spec("M1", "M6")]

JSON = re.compile(r"""[\[{]\s*["'][^"']*["']\s*[:,\]]|\[\s*\]|\{\s*\}|["']\s*:\s*[\[{"'\d]""")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SEEN_OF_EACH = 6


def read(page: str) -> str:
    """The words on a page, as a person sees them. What was sent to the model word for word is folded."""
    page = page[page.index('<div id="main"') :] if '<div id="main"' in page else page
    page = re.sub(r'<pre class="layer__text".*?</pre>|<details class="whole">.*?</details>', " ", page, flags=re.DOTALL)
    page = re.sub(r"<(script|style|template|textarea|select|noscript)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


@pytest.mark.long
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
            for match in (*JSON.finditer(text), *UUID.finditer(text)):
                found[url] = text[max(0, match.start() - 60) : match.end() + 60]
    assert found == {}
    assert pages > 100
