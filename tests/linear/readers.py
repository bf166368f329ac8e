"""What reads people's texts, as functions of one text: the doors to all that is done with it in a turn, after it, in a
search and in an import.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from apps.core.llm.embedding import split_text
from apps.core.llm.reading import read_json_object
from apps.core.llm.reasoning import remove_reasoning
from apps.core.llm.streaming_json import FieldStream
from apps.core.llm.types import read_block, render_block
from apps.core.text.citations import find_citations, list_missing
from apps.core.text.clean import clean_json, estimate_tokens, find_forbidden
from apps.core.text.commands import Statement, match_forget_targets, read_commands, read_message
from apps.core.text.fold import fold, normalize_value
from apps.core.text.grounding import Traces, is_grounded, is_said_by, read_questions
from apps.core.text.instructions import is_instruction
from apps.core.text.keywords import explain_keywords, extract_keywords, find_topic
from apps.core.text.search import bm25_terms, cut_excerpt, index_terms, list_spellings, parse_question, parse_search
from apps.core.text.sentences import cut_at_sentence, cut_client_blocks, split_sentences
from apps.core.text.time_expressions import find_times
from apps.doors.imports.formats.gemini import Gemini
from apps.doors.imports.formats.pasted import split_memories
from apps.doors.imports.formats.stores import read_block as read_letta_block
from apps.doors.imports.formats.uploads import UnreadableFile, Upload, read_nodes
from apps.doors.imports.formats.values import cut_elements, split_statements
from apps.memory.commands import split_statement
from apps.memory.recall.long_term import concerns_preference
from apps.memory.recall.query import find_earlier, split_lines
from apps.offline.extraction import answer_extraction
from apps.offline.model import answer_turn
from apps.offline.prompt import Memory, Prompt
from apps.offline.summary import answer_conversation_summary, answer_session_summary

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def _ask(text: str, *blocks: tuple[str, str]) -> str:
    said = json.dumps({"role": "user", "number": 1, "text": text}, ensure_ascii=False)
    parts = [render_block(name, body) for name, body in (("conversation", said), *blocks)]
    return "\n".join(parts)


def _decode(text: str) -> None:
    stream = FieldStream("response", other_keys=("emotion",))
    for start in range(0, len(text), 7):
        stream.feed(text[start : start + 7])
    stream.close()


def _import(text: str) -> None:
    with suppress(UnreadableFile):
        list(read_nodes(io.StringIO(text)))


def _import_page(text: str) -> None:
    cell = f'<div class="outer-cell"><p class="title">Gemini<br></p><div class="body-1">{text}<br>{text}</div>'
    record = json.dumps({"header": "Gemini", "time": "", "title": text, "safeHtmlItem": [{"html": text}]})
    for page in (cell, record):
        list(Gemini().read(Upload(io.BytesIO(page.encode("utf-8", "replace")))))


def _answer_long_memory(text: str) -> None:
    answer_turn(Prompt(message="Where do I live? 我住在哪里？", memories=(Memory("", text), Memory("home", text))))


READERS: Mapping[str, Callable[[str], object]] = {
    "folding": lambda text: (fold(text), normalize_value(text), list_spellings(text)),
    "cleaning": lambda text: (find_forbidden(text), clean_json(text), estimate_tokens(text)),
    "words": extract_keywords,
    "explained words": explain_keywords,
    "index terms": index_terms,
    "BM25 terms": bm25_terms,
    "topic": lambda text: find_topic(text, folded=fold(text), is_vague=lambda _word: False),
    "searches": lambda text: (parse_search(text), parse_question(text)),
    "excerpts": lambda text: cut_excerpt(text, ["a", "中", "ab1"], length=200),
    "sentences": lambda text: (split_sentences(text), cut_at_sentence(text, 200), read_questions(text)),
    "times": lambda text: list(find_times(text, said_at=NOW, zone=ZoneInfo("UTC"), of_past=True)),
    "citations": lambda text: list_missing(text, find_citations(text)[:20]),
    "commands": lambda text: (read_message(text), read_message("Remember that.", before=[text])),
    "remembering": lambda text: (read_commands("Remember: " + text), split_statement(text, limit=500)),
    "forgetting": lambda text: (read_commands("Forget " + text), read_commands("忘掉" + text)),
    "meant": lambda text: match_forget_targets(
        text, [Statement(text), Statement("My birthday is on May 3rd", "birthday")]
    ),
    "instructions": is_instruction,
    "grounding": lambda text: (is_grounded(text, said=text), is_said_by("I like tea", said=text)),
    "traces": lambda text: Traces([text[:500], "a", "ab1 ab1", "中中", "1 1 1"]).cut_from(text),
    "questions": lambda text: (find_earlier(text, [text, text]), concerns_preference(text), split_lines(text)),
    "parts": lambda text: split_text(text, max_characters=1_000),
    "blocks": lambda text: read_block(render_block("memories", text), "memories"),
    "JSON": lambda text: (read_json_object(text), read_json_object('{"response": "' + text)),
    "reasoning": lambda text: remove_reasoning("<think>" + text),
    "streamed JSON": lambda text: (_decode(text), _decode('{"response": "' + text), _decode('{"a": ' + text)),
    "what clients add": cut_client_blocks,
    "blocks of a file": lambda text: list(read_letta_block({"label": "human", "value": text})),
    "statements of a file": lambda text: list(split_statements(text)),
    "statements of a pasted text": split_memories,
    "marked parts of a file": lambda text: cut_elements(text, "a", "b"),
    "pages of a file": _import_page,
    "JSON of a file": lambda text: (_import(text), _import("[" + text)),
    "offline reply": lambda text: answer_turn(Prompt(message=text)),
    "offline reply from a long memory": _answer_long_memory,
    "offline reply in a conversation": lambda text: answer_turn(Prompt(message="Where do I live?", history=(text,))),
    "offline extraction": lambda text: answer_extraction(_ask(text, ("wanted", '{"entries": true, "context": true}'))),
    "offline note": lambda text: answer_session_summary(_ask(text)),
    "offline summary": lambda text: answer_conversation_summary(_ask(text)),
}
