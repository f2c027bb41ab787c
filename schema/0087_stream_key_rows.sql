-- +goose NO TRANSACTION
-- +goose Up
-- Copies the keys of all streams, counts the streams that have been on air, and makes the indexes. Neither statement locks a row
-- or blocks a writer, and each may be repeated after an interruption. The uses of a key are those in the table of publishers, which
-- keeps 30 days, or else the start of the stream's last broadcast.
INSERT INTO stream_keys (id, tenant_id, stream_id, hash, last4, consumed_at, last_used_at, created_at)
SELECT 'skey_' || substr(s.id, 5), s.tenant_id, s.id, s.key_hash, s.key_last4,
    coalesce(p.first_at, s.started_at), coalesce(p.last_at, s.started_at), s.created_at
FROM streams s LEFT JOIN (
    SELECT stream_id, min(accepted_at) AS first_at, max(accepted_at) AS last_at FROM publishers WHERE source IN ('rtmp', 'srs') GROUP BY 1
) p ON p.stream_id = s.id
ON CONFLICT DO NOTHING;

-- The changes that the trigger has counted so far are in the same snapshot, so no stream is counted twice.
INSERT INTO row_counts (scope, key, n)
SELECT 'aired_streams', a.tenant_id, a.n - coalesce((SELECT sum(c.n) FROM row_numbers c WHERE c.scope = 'aired_streams' AND c.key = a.tenant_id), 0)
FROM (SELECT tenant_id, count(*) AS n FROM streams WHERE status <> 'IDLE' GROUP BY 1) a
ON CONFLICT (scope, key) DO UPDATE SET n = row_counts.n + excluded.n;

DROP INDEX CONCURRENTLY IF EXISTS stream_keys_page_idx;
CREATE INDEX CONCURRENTLY stream_keys_page_idx ON stream_keys (created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS stream_keys_unused_idx;
CREATE INDEX CONCURRENTLY stream_keys_unused_idx ON stream_keys (created_at DESC, id DESC) WHERE consumed_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS stream_keys_used_idx;
CREATE INDEX CONCURRENTLY stream_keys_used_idx ON stream_keys (created_at DESC, id DESC) WHERE consumed_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS stream_keys_tenant_idx;
CREATE INDEX CONCURRENTLY stream_keys_tenant_idx ON stream_keys (tenant_id, created_at DESC, id DESC) INCLUDE (consumed_at);
DROP INDEX CONCURRENTLY IF EXISTS stream_keys_stream_idx;
CREATE INDEX CONCURRENTLY stream_keys_stream_idx ON stream_keys (stream_id, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS stream_keys_last4_idx;
CREATE INDEX CONCURRENTLY stream_keys_last4_idx ON stream_keys (last4, created_at DESC, id DESC);

-- Pages of the streams on air, of those that have been on air, and of those that never were.
DROP INDEX CONCURRENTLY IF EXISTS streams_live_page_idx;
CREATE INDEX CONCURRENTLY streams_live_page_idx ON streams (created_at DESC, id DESC) WHERE status IN ('LIVE', 'RECONNECTING');
DROP INDEX CONCURRENTLY IF EXISTS streams_aired_page_idx;
CREATE INDEX CONCURRENTLY streams_aired_page_idx ON streams (created_at DESC, id DESC) INCLUDE (status) WHERE status <> 'IDLE';
DROP INDEX CONCURRENTLY IF EXISTS streams_idle_page_idx;
CREATE INDEX CONCURRENTLY streams_idle_page_idx ON streams (created_at DESC, id DESC) WHERE status = 'IDLE';
DROP INDEX CONCURRENTLY IF EXISTS streams_tenant_page_idx;
CREATE INDEX CONCURRENTLY streams_tenant_page_idx ON streams (tenant_id, created_at DESC, id DESC) INCLUDE (status);
