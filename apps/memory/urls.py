from __future__ import annotations

from django.urls import path

from apps.memory.api import changes, contexts, memories, search, spaces, transfer, working

urlpatterns = [
    path("long-term", memories.LongTermMemoriesView.as_view(), name="memories"),
    path("long-term/batch-delete", memories.BatchDeleteView.as_view(), name="memories-batch-delete"),
    path("long-term/export", transfer.LongTermExportView.as_view(), name="memories-export"),
    path("long-term/import", transfer.LongTermImportView.as_view(), name="memories-import"),
    path("long-term/search", search.SearchView.as_view(), name="memories-search"),
    path("long-term/<str:memory_id>", memories.LongTermMemoryView.as_view(), name="memory"),
    path("long-term/<str:memory_id>/accept", memories.AcceptView.as_view(), name="memory-accept"),
    path("long-term/<str:memory_id>/reject", memories.RejectView.as_view(), name="memory-reject"),
    path("long-term/<str:memory_id>/copies", memories.CopiesView.as_view(), name="memory-copies"),
    path("atomic", memories.AtomicMemoriesView.as_view(), name="atomic-memories"),
    path("atomic/search", search.AtomicSearchView.as_view(), name="atomic-search"),
    path("atomic/<str:atomic_id>", memories.AtomicMemoryView.as_view(), name="atomic-memory"),
    path("atomic/<str:atomic_id>/accept", memories.AtomicAcceptView.as_view(), name="atomic-accept"),
    path("atomic/<str:atomic_id>/reject", memories.AtomicRejectView.as_view(), name="atomic-reject"),
    path("conversations/search", search.ConversationSearchView.as_view(), name="conversations-search"),
    path("contexts", contexts.ContextsView.as_view(), name="shared-contexts"),
    path("contexts/<str:context_id>", contexts.ContextView.as_view(), name="shared-context"),
    path("contexts/<str:context_id>/entries", contexts.ContextEntriesView.as_view(), name="shared-context-entries"),
    path("working/<str:session_id>", working.WorkingMemoryView.as_view(), name="working-memory"),
    path("spaces", spaces.SpacesView.as_view(), name="spaces"),
    path("spaces/<str:space_id>", spaces.SpaceView.as_view(), name="space"),
    path("move", spaces.MoveView.as_view(), name="move"),
    path("changes", changes.ChangesView.as_view(), name="changes"),
    path("changes/<str:operation>/undo", changes.UndoView.as_view(), name="undo"),
]
