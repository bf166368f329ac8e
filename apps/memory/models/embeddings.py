"""Vectors of messages and memories, each with the model that made it (V1, V2)."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField, HnswIndex, VectorField

from apps.accounts.models import of_user
from apps.conversations.models import Role, of_message, of_session
from apps.core.llm.embedding import DIMENSIONS
from apps.core.same_owner import share_owner
from apps.memory.models.memories import AtomicMemory, LongTermMemory

EMBEDDING_DIMENSIONS = DIMENSIONS


class EmbeddingModel(models.Model):
    """A model that vectors were made with (V2). Search uses the active one; `reembed` fills the building one, and when
    that takes its place deletes the vectors of the retired one.
    """

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        BUILDING = "building", _("building")
        RETIRED = "retired", _("retired")

    name = models.CharField(_("name"), max_length=200, unique=True)
    state = models.CharField(_("state"), max_length=10, choices=State.choices)
    created_at = models.DateTimeField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        db_table = "embedding_model"
        verbose_name = _("embedding model")
        verbose_name_plural = _("embedding models")
        constraints = [
            models.UniqueConstraint(fields=["state"], name="embedding_model_one_per_state"),
        ]

    def __str__(self) -> str:
        return self.name


_HNSW = {"m": 16, "ef_construction": 64}


class IndexedVector(models.Model):
    """A vector that may be in its table's vector index; `in_index`: whether it is.

    That of people who have so few that all are compared is not: a row in it costs more to write than everything else of
    it, and 4 KB of memory (`apps.memory.vectors.embedders`).
    """

    in_index = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta:
        abstract = True


class ConversationEmbedding(IndexedVector):
    """The vector of a message or of one part of a long one (V1, V3). `created_at` is when the message was said.

    `digest` (SHA-256 of the text) finds the vector that the same text of this person got before: repeats cost nothing.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    chat = of_session("conversation_embeddings")
    user = of_user("conversation_embeddings")
    message = of_message("conversation_embeddings")
    part = models.PositiveSmallIntegerField(_("part"), default=0)
    content = models.TextField(_("content"))
    digest = models.BinaryField(max_length=32, editable=False)
    message_type = models.CharField(_("message type"), max_length=10, choices=Role.choices)
    model = models.ForeignKey(
        EmbeddingModel, verbose_name=_("model"), on_delete=models.PROTECT, related_name="conversation_embeddings"
    )
    embedding = VectorField(_("embedding"), dimensions=EMBEDDING_DIMENSIONS)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)

    class Meta:
        db_table = "conversation_embeddings"
        verbose_name = _("message embedding")
        verbose_name_plural = _("message embeddings")
        ordering = ["-created_at", "-id"]
        constraints = [
            *share_owner("conversation_embeddings", "chat", "message"),
            models.UniqueConstraint(fields=["message", "model", "part"], name="conversation_embedding_once"),
        ]
        indexes = [
            models.Index(fields=["user", "model", "chat", "message_type"], name="conversation_embedding_user"),
            models.Index(fields=["user", "model", "digest"], name="conversation_embedding_digest"),
            models.Index(fields=["user", "model", "in_index"], name="conversation_embedding_indexed"),
            # Rows are wide: what the panel lists them by is read from here alone.
            models.Index(
                fields=["user", "-created_at", "-id"],
                include=["message_type", "model", "part"],
                name="conversation_embedding_list",
            ),
            models.Index(
                fields=["user", "created_at"],
                name="conversation_embedding_age",
                condition=models.Q(message_type__in=[Role.USER, Role.ASSISTANT]),
            ),
            HnswIndex(
                OpClass(Cast("embedding", HalfVectorField(dimensions=EMBEDDING_DIMENSIONS)), name="halfvec_cosine_ops"),
                name="conversation_embedding_hnsw",
                condition=models.Q(in_index=True),
                **_HNSW,
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class MemoryEmbedding(IndexedVector):
    """What vectors of both kinds of memory have in common; one vector a memory and model.

    Half precision: a table of half the size, and cosines that differ by less than 0.001.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE)
    model = models.ForeignKey(EmbeddingModel, verbose_name=_("model"), on_delete=models.PROTECT)
    embedding = HalfVectorField(_("embedding"), dimensions=EMBEDDING_DIMENSIONS)

    class Meta:
        abstract = True


class AtomicEmbedding(MemoryEmbedding):
    """The vector of an atomic memory's content (A4)."""

    memory = models.ForeignKey(
        AtomicMemory, verbose_name=_("memory"), db_constraint=False, on_delete=models.CASCADE, related_name="embeddings"
    )

    class Meta:
        db_table = "atomic_embedding"
        verbose_name = _("embedding of an atomic memory")
        verbose_name_plural = _("embeddings of atomic memories")
        constraints = [
            *share_owner("atomic_embedding", "memory"),
            models.UniqueConstraint(fields=["memory", "model"], name="atomic_embedding_once"),
        ]
        indexes = [
            models.Index(fields=["user", "model", "in_index"], name="atomic_embedding_user"),
            HnswIndex(
                name="atomic_embedding_hnsw",
                fields=["embedding"],
                opclasses=["halfvec_cosine_ops"],
                condition=models.Q(in_index=True),
                **_HNSW,
            ),
        ]

    def __str__(self) -> str:
        return str(self.memory_id)


class LongTermEmbedding(MemoryEmbedding):
    """The vector of a long-term memory's key and value (K9)."""

    memory = models.ForeignKey(
        LongTermMemory,
        verbose_name=_("memory"),
        db_constraint=False,
        on_delete=models.CASCADE,
        related_name="embeddings",
    )

    class Meta:
        db_table = "long_term_embedding"
        verbose_name = _("embedding of a long-term memory")
        verbose_name_plural = _("embeddings of long-term memories")
        constraints = [
            *share_owner("long_term_embedding", "memory"),
            models.UniqueConstraint(fields=["memory", "model"], name="long_term_embedding_once"),
        ]
        indexes = [
            models.Index(fields=["user", "model", "in_index"], name="long_term_embedding_user"),
            HnswIndex(
                name="long_term_embedding_hnsw",
                fields=["embedding"],
                opclasses=["halfvec_cosine_ops"],
                condition=models.Q(in_index=True),
                **_HNSW,
            ),
        ]

    def __str__(self) -> str:
        return str(self.memory_id)
