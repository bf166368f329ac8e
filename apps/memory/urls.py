from __future__ import annotations

from django.urls import path

from apps.memory.api import atomic, changes, contexts, long_term, search, transfer, working

urlpatterns = [
    path("long-term", long_term.LongTermMemoriesView.as_view(), name="memories"),
    path("long-term/batch-delete", long_term.BatchDeleteView.as_view(), name="memories-batch-delete"),
    path("long-term/export", transfer.LongTermExportView.as_view(), name="memories-export"),
    path("long-term/import", transfer.LongTermImportView.as_view(), name="memories-import"),
    path("long-term/search", long_term.SearchView.as_view(), name="memories-search"),
    path("long-term/<str:memory_id>", long_term.LongTermMemoryView.as_view(), name="memory"),
    path("long-term/<str:memory_id>/accept", long_term.AcceptView.as_view(), name="memory-accept"),
    path("long-term/<str:memory_id>/reject", long_term.RejectView.as_view(), name="memory-reject"),
    path("long-term/<str:memory_id>/copies", long_term.CopiesView.as_view(), name="memory-copies"),
    path("atomic", atomic.AtomicMemoriesView.as_view(), name="atomic-memories"),
    path("atomic/search", atomic.AtomicSearchView.as_view(), name="atomic-search"),
    path("atomic/<str:atomic_id>", atomic.AtomicMemoryView.as_view(), name="atomic-memory"),
    path("atomic/<str:atomic_id>/accept", atomic.AtomicAcceptView.as_view(), name="atomic-accept"),
    path("atomic/<str:atomic_id>/reject", atomic.AtomicRejectView.as_view(), name="atomic-reject"),
    path("conversations/search", search.ConversationSearchView.as_view(), name="conversations-search"),
    path("contexts", contexts.ContextsView.as_view(), name="shared-contexts"),
    path("contexts/<str:context_id>", contexts.ContextView.as_view(), name="shared-context"),
    path("contexts/<str:context_id>/entries", contexts.ContextEntriesView.as_view(), name="shared-context-entries"),
    path("working/<str:session_id>", working.WorkingMemoryView.as_view(), name="working-memory"),
    path("changes", changes.ChangesView.as_view(), name="changes"),
    path("changes/<str:operation>/undo", changes.UndoView.as_view(), name="undo"),
]
