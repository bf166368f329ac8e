from django.db import migrations

# The text of a message as searches compare it: whatever its width, case and accents of Latin letters, as
# apps/core/text/search_terms.py has it. U+FE0F only tells an emoji from a plain sign.
TEXT = r"""
CREATE FUNCTION message_text(content text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000
AS $function$
SELECT CASE
    WHEN octet_length(content) = char_length(content) THEN lower(content)
    ELSE (
        SELECT replace(replace(CASE
            WHEN plain ~ '[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]'
            THEN normalize(regexp_replace(normalize(plain, NFD), '([a-z])[\u0300-\u036f]+', '\1', 'g'), NFC)
            ELSE plain
        END, U&'\00df', 'ss'), U&'\fe0f', '')
        FROM (SELECT lower(normalize(content, NFKC)) AS plain) AS normalised
    )
END
$function$
"""

# As before, of the normalised text, and what in a word of letters and digits follows a change from one to the other:
# 1605 finds ASR1605. Longer words are digests and keys. At most four such ends a word, as a tsvector has at most 1 MB.
# The path is set because indexes are built and restored with an empty one.
WORDS = r"""
CREATE OR REPLACE FUNCTION message_words(owner bigint, content text) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000
SET search_path FROM CURRENT
AS $function$
WITH normalised AS MATERIALIZED (SELECT left(message_text(left(content, 64000)), 64000) AS said),
words AS MATERIALIZED (
    SELECT word
    FROM normalised, unnest(string_to_array(regexp_replace(
        said, '[^0-9a-z\u00df-\u00f6\u00f8-\u024f\u0370-\u0587\u05d0-\u1fff]+', ' ', 'g'
    ), ' ')) AS word
    WHERE word <> ''
)
SELECT array_to_tsvector(ARRAY(
    SELECT owner || ':' || left(word, 64) FROM words
    UNION
    SELECT owner || ':' || substr(word, ends.place)
    FROM words, LATERAL (
        SELECT place
        FROM generate_series(2, char_length(word)) AS place
        WHERE (substr(word, place - 1, 1) ~ '[0-9]') <> (substr(word, place, 1) ~ '[0-9]')
        ORDER BY place LIMIT 4
    ) AS ends
    WHERE char_length(word) <= 32 AND word ~ '[0-9][^0-9]|[^0-9][0-9]'
    UNION
    SELECT owner || ':' || one || CASE
        WHEN ascii(two) BETWEEN 12353 AND 64255 OR ascii(two) IN (12293, 12295) OR ascii(two) >= 131072 THEN two
        ELSE ''
    END
    FROM normalised, unnest(string_to_array(said, NULL), (string_to_array(said, NULL))[2:]) AS pair (one, two)
    WHERE ascii(one) BETWEEN 12353 AND 64255 OR ascii(one) IN (12293, 12295) OR ascii(one) >= 131072
))
$function$
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("conversations", "0015_same_owner"),
    ]

    operations = [
        migrations.RunSQL(TEXT, reverse_sql="DROP FUNCTION IF EXISTS message_text(text)"),
        migrations.RunSQL(WORDS, reverse_sql=migrations.RunSQL.noop),
        migrations.RunSQL("REINDEX INDEX CONCURRENTLY message_words", reverse_sql=migrations.RunSQL.noop),
    ]
