"""What other apps may read of memory."""

from apps.memory.atomic.curation import combine_contents
from apps.memory.atomic.selectors import get_atomic_memories_by_id, list_atomic_memories
from apps.memory.embeddings.active import find_active_model
from apps.memory.embeddings.counting import ModelVectors, count_vectors
from apps.memory.embeddings.queries import QueryEmbedding, embed_query, start_embedding
from apps.memory.embeddings.search import (
    ConversationMatch,
    SimilarMessage,
    find_similar_messages,
    search_conversations,
)
from apps.memory.ended_texts import REMOVED, cut_ended
from apps.memory.former import FormerMemory, recall_former
from apps.memory.history.selectors import find_states_since, list_caused_operations, list_changes, list_recorded
from apps.memory.known_memories import list_known_memories
from apps.memory.long_term.copies import list_copies
from apps.memory.long_term.curation import combine_values
from apps.memory.long_term.previews import Acceptance, preview_acceptances
from apps.memory.long_term.proposals import reads_as_instruction
from apps.memory.long_term.selectors import get_memories_by_id, get_memory, list_memories
from apps.memory.paraphrases import list_paraphrases
from apps.memory.retrieval import retrieve_relevant_memories
from apps.memory.retrieval.atomic.retrieve import retrieve_atomic_memories
from apps.memory.retrieval.distinct import Shown, tells_all
from apps.memory.retrieval.follow_up import find_earlier
from apps.memory.retrieval.recall import RecalledMemories, recall_memories
from apps.memory.retrieval.rounds import RecalledRound, cut_round
from apps.memory.retrieval.search import FoundMemory, TimeRange, get_relevant_memories, search_memories
from apps.memory.reviewing import AtomicAcceptance, find_reason, preview_acceptance
from apps.memory.setting_aside import list_set_aside
from apps.memory.shared_context.selectors import (
    get_context,
    list_contexts,
    list_entries_at,
    list_session_contexts,
)
from apps.memory.shared_context.types import ContextSnapshot
from apps.memory.timeline.lines import Line, Step
from apps.memory.timeline.reading import (
    Knowledge,
    KnownMemory,
    Timeline,
    TimelineLine,
    read_knowledge,
    read_timeline,
)
from apps.memory.working.selectors import (
    WorkingMemorySnapshot,
    WorkingMemoryState,
    find_working_memory,
    find_working_state,
    get_working_memory,
)

__all__ = [
    "REMOVED",
    "Acceptance",
    "AtomicAcceptance",
    "ContextSnapshot",
    "ConversationMatch",
    "FormerMemory",
    "FoundMemory",
    "Knowledge",
    "KnownMemory",
    "Line",
    "ModelVectors",
    "QueryEmbedding",
    "RecalledMemories",
    "RecalledRound",
    "Shown",
    "SimilarMessage",
    "Step",
    "TimeRange",
    "Timeline",
    "TimelineLine",
    "WorkingMemorySnapshot",
    "WorkingMemoryState",
    "combine_contents",
    "combine_values",
    "count_vectors",
    "cut_ended",
    "cut_round",
    "embed_query",
    "find_active_model",
    "find_earlier",
    "find_reason",
    "find_similar_messages",
    "find_states_since",
    "find_working_memory",
    "find_working_state",
    "get_atomic_memories_by_id",
    "get_context",
    "get_memories_by_id",
    "get_memory",
    "get_relevant_memories",
    "get_working_memory",
    "list_atomic_memories",
    "list_caused_operations",
    "list_changes",
    "list_contexts",
    "list_copies",
    "list_entries_at",
    "list_known_memories",
    "list_memories",
    "list_paraphrases",
    "list_recorded",
    "list_session_contexts",
    "list_set_aside",
    "preview_acceptance",
    "preview_acceptances",
    "read_knowledge",
    "read_timeline",
    "reads_as_instruction",
    "recall_former",
    "recall_memories",
    "retrieve_atomic_memories",
    "retrieve_relevant_memories",
    "search_conversations",
    "search_memories",
    "start_embedding",
    "tells_all",
]
