from django.db import migrations

# Up to `exact_rows` rows are compared one by one: nothing can be missed. So are those of a person whose vectors are not
# all in the index (`apps.memory.vectors.embedders` puts those of large collections into it). Beyond, the index answers;
# its iterative scan goes on until enough rows of this user are found (docs/models.md). Either way the distance in the
# answer is computed from the full vectors, and a message in parts counts once.
CREATE = """
CREATE FUNCTION match_conversations(query_embedding vector, match_count integer, filter jsonb DEFAULT '{}')
RETURNS TABLE (
    id uuid, chat_id uuid, content text, message_type text, created_at timestamptz, similarity double precision
)
LANGUAGE plpgsql STABLE
SET hnsw.iterative_scan = 'strict_order'
SET hnsw.ef_search = 200
SET hnsw.max_scan_tuples = 1000000
SET plan_cache_mode = 'force_custom_plan'
AS $function$
#variable_conflict use_column
DECLARE
    exact_rows CONSTANT integer := coalesce(nullif(current_setting('jiyi.exact_rows', true), ''), '10000')::integer;
    owner CONSTANT bigint := (filter ->> 'user_id')::bigint;
    chat CONSTANT uuid := (filter ->> 'chat_id')::uuid;
    kind CONSTANT text := filter ->> 'message_type';
    since CONSTANT timestamptz := filter ->> 'since';
    until CONSTANT timestamptz := filter ->> 'until';
    -- with the key, even if null, only what is seen from that space (P2)
    hidden CONSTANT uuid[] := CASE WHEN filter ? 'space' THEN ARRAY(
        SELECT id FROM chat_session
        WHERE user_id = owner AND space_id IS NOT NULL AND space_id IS DISTINCT FROM (filter ->> 'space')::uuid
    ) ELSE '{}' END;
    farthest CONSTANT double precision := 1 - (filter ->> 'threshold')::double precision;
    unknown text;
    compared bigint;
    matching integer;
    exact boolean;
    fetched integer := 2 * match_count + 20;
    nearest uuid[];
    messages integer;
BEGIN
    SELECT string_agg(key, ', ') INTO unknown FROM jsonb_object_keys(filter) AS key
    WHERE key NOT IN ('user_id', 'chat_id', 'message_type', 'threshold', 'model', 'since', 'until', 'space');
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'match_conversations: there is no filter %', unknown USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF owner IS NULL THEN
        RAISE EXCEPTION 'match_conversations: the filter needs a user_id' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT model.id INTO compared FROM embedding_model AS model
    WHERE CASE WHEN filter ->> 'model' IS NULL THEN model.state = 'active' ELSE model.name = filter ->> 'model' END;
    IF compared IS NULL AND filter ->> 'model' IS NOT NULL THEN
        RAISE EXCEPTION 'match_conversations: there is no model %', filter ->> 'model'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;

    SELECT count(*) INTO matching FROM (
        SELECT FROM conversation_embeddings AS entry
        WHERE entry.user_id = owner AND entry.model_id = compared
            AND (chat IS NULL OR entry.chat_id = chat) AND (kind IS NULL OR entry.message_type = kind)
            AND entry.chat_id <> ALL (hidden)
            AND (since IS NULL OR entry.created_at >= since) AND (until IS NULL OR entry.created_at <= until)
        LIMIT exact_rows + 1
    ) AS counted;

    exact := matching <= exact_rows;
    IF NOT exact THEN
        SELECT EXISTS (
            SELECT FROM conversation_embeddings AS entry
            WHERE entry.user_id = owner AND entry.model_id = compared AND NOT entry.in_index
        ) INTO exact;
    END IF;

    IF exact THEN
        RETURN QUERY
        SELECT entry.id, entry.chat_id, entry.content, entry.message_type::text, entry.created_at, 1 - best.distance
        FROM (
            SELECT DISTINCT ON (near.message_id) near.id, near.distance FROM (
                SELECT entry.id, entry.message_id, entry.embedding <=> query_embedding AS distance
                FROM conversation_embeddings AS entry
                WHERE entry.user_id = owner AND entry.model_id = compared
                    AND (chat IS NULL OR entry.chat_id = chat) AND (kind IS NULL OR entry.message_type = kind)
                    AND entry.chat_id <> ALL (hidden)
                    AND (since IS NULL OR entry.created_at >= since) AND (until IS NULL OR entry.created_at <= until)
            ) AS near
            WHERE farthest IS NULL OR near.distance <= farthest
            ORDER BY near.message_id, near.distance, near.id
        ) AS best
        JOIN conversation_embeddings AS entry ON entry.id = best.id
        ORDER BY best.distance, best.id
        LIMIT match_count;
        RETURN;
    END IF;

    LOOP  -- parts of long messages may take many of the places: until enough messages are among the nearest
        SELECT array_agg(near.id), count(DISTINCT near.message_id) INTO nearest, messages FROM (
            SELECT entry.id, entry.message_id FROM conversation_embeddings AS entry
            WHERE entry.user_id = owner AND entry.model_id = compared AND entry.in_index
                AND (chat IS NULL OR entry.chat_id = chat) AND (kind IS NULL OR entry.message_type = kind)
                AND entry.chat_id <> ALL (hidden)
                AND (since IS NULL OR entry.created_at >= since) AND (until IS NULL OR entry.created_at <= until)
            ORDER BY entry.embedding::halfvec(1536) <=> query_embedding::halfvec(1536)
            LIMIT fetched
        ) AS near;
        EXIT WHEN messages >= match_count OR cardinality(nearest) < fetched;
        fetched := 4 * fetched;
    END LOOP;
    RETURN QUERY
    SELECT best.id, best.chat_id, best.content, best.message_type::text, best.created_at, 1 - best.distance
    FROM (
        SELECT DISTINCT ON (entry.message_id) entry.*, entry.embedding <=> query_embedding AS distance
        FROM conversation_embeddings AS entry
        WHERE entry.id = ANY(nearest)
        ORDER BY entry.message_id, distance, entry.id
    ) AS best
    WHERE farthest IS NULL OR best.distance <= farthest
    ORDER BY best.distance, best.id
    LIMIT match_count;
END
$function$
"""

# Settings of pgvector can be given to a function, except by a superuser, only in a session that has used it.
USE_PGVECTOR = "SELECT '[1]'::vector"


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]

    operations = [
        migrations.RunSQL(
            [USE_PGVECTOR, CREATE], reverse_sql="DROP FUNCTION match_conversations(vector, integer, jsonb)"
        ),
    ]
