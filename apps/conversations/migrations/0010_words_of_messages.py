from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# What a message is found by, each after its owner's number, so that a search reads nothing of others: its words, and of
# Chinese, Japanese and Korean every two neighbouring characters, with the last one of a run by itself. The characters
# are those of apps/core/text/search_terms.py. What stands after 64,000 characters is not found, as a tsvector has at
# most 1 MB; nobody can send half as much at once. The cost keeps the planner from splitting every message anew instead
# of using the index.
CREATE = r"""
CREATE FUNCTION message_words(owner bigint, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000
AS $function$
SELECT array_to_tsvector(ARRAY(
    SELECT owner || ':' || left(word, 64)
    FROM unnest(string_to_array(regexp_replace(
        lower(left(content, 64000)), '[^0-9a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0587\u05d0-\u1fff]+', ' ', 'g'
    ), ' ')) AS word
    WHERE word <> ''
    UNION
    SELECT owner || ':' || one || CASE
        WHEN ascii(two) BETWEEN 12353 AND 64255 OR ascii(two) IN (12293, 12295) OR ascii(two) >= 131072 THEN two
        ELSE ''
    END
    FROM unnest(
        string_to_array(left(content, 64000), NULL), (string_to_array(left(content, 64000), NULL))[2:]
    ) AS pair (one, two)
    WHERE ascii(one) BETWEEN 12353 AND 64255 OR ascii(one) IN (12293, 12295) OR ascii(one) >= 131072
))
$function$
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
