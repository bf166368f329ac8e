from django.db import migrations

from apps.core.same_owner import TieToOwner


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("memory", "0014_through_programs"), ("conversations", "0015_same_owner")]

    operations = [
        TieToOwner(
            owned=["atomicmemory", "longtermmemory", "sharedcontext"],
            references={
                "atomicembedding": ["memory"],
                "atomicmemory": ["session", "message", "superseded_by", "left_of"],
                "change": ["session", "message"],
                "contextentry": ["context", "message"],
                "conversationembedding": ["chat", "message"],
                "longtermembedding": ["memory"],
                "longtermmemory": ["session", "message", "superseded_by"],
                "sharedcontext": ["session", "message"],
                "workingmemory": ["session"],
                "workingmemoryrevision": ["session"],
            },
        ),
    ]
