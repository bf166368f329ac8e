from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# The words of a message, each after its owner's number, so that a search reads nothing of others. Chinese, Japanese and
# Korean are left out: they are found as substrings. The characters are those of apps/core/text/search_terms.py. What
# stands after 64,000 characters is not found, as a tsvector has at most 1 MB; nobody can send half as much at once. The
# cost keeps the planner from splitting every message anew instead of using the index.
CREATE = r"""
CREATE FUNCTION message_words(owner bigint, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000
RETURN array_to_tsvector(ARRAY(
    SELECT owner || ':' || left(word, 64)
    FROM unnest(string_to_array(regexp_replace(
        lower(left(content, 64000)), '[^0-9a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0587\u05d0-\u1fff]+', ' ', 'g'
    ), ' ')) AS word
    WHERE word <> ''
))
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("conversations", "0009_pinned_and_archived"),
    ]

    operations = [
        migrations.RunSQL(CREATE, reverse_sql="DROP FUNCTION message_words(bigint, text)"),
        AddIndexConcurrently(
            model_name="message",
            index=GinIndex(
                models.Func("user", "content", function="message_words"), name="message_words"
            ),
        ),
    ]
