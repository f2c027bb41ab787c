-- +goose Up
-- A row for each stream key that was issued. streams.key_hash stays the key with which a stream is published: a key whose hash is
-- in its stream's row is ACTIVE, an older one is ROTATED, one with revoked_at is REVOKED. The tables of streams and tenants aren't
-- referenced: the check would lock each stream's row until 0087 has copied the keys of all streams.
CREATE TABLE stream_keys (
    id             text PRIMARY KEY,
    tenant_id      text NOT NULL,
    stream_id      text NOT NULL,
    hash           bytea NOT NULL UNIQUE,
    last4          text NOT NULL,
    -- The first and the last accepted publish. last_used_at may be a minute older than the last one.
    consumed_at    timestamptz,
    last_used_at   timestamptz,
    revoked_at     timestamptz,
    revoked_reason text,
    created_at     timestamptz NOT NULL
) WITH (fillfactor = 80);

-- The health of streams on air, a point every 10 seconds: the last hour of each stream.
CREATE TABLE stream_health_points (
    stream_id  text NOT NULL,
    at         timestamptz NOT NULL,
    state      text NOT NULL,
    video_kbps integer NOT NULL,
    audio_kbps integer NOT NULL,
    fps        double precision NOT NULL,
    viewers    integer NOT NULL,
    PRIMARY KEY (stream_id, at)
);
CREATE INDEX stream_health_points_at_idx ON stream_health_points (at);

-- Measurements of streams on air, as their nodes write them for the other nodes. Their loss does no harm.
CREATE UNLOGGED TABLE stream_inspections (
    stream_id text PRIMARY KEY,
    node      text NOT NULL,
    seen_at   timestamptz NOT NULL,
    figures   jsonb NOT NULL
) WITH (fillfactor = 50);

-- Kept numbers of rows (see 0048), by tenant: of stream keys, of those that were used, and of streams that have been on air.
-- TG_ARGV[0] is the sign.
-- +goose StatementBegin
CREATE FUNCTION count_stream_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n)
    SELECT 'stream_keys', tenant_id, count(*) * TG_ARGV[0]::integer FROM changed GROUP BY 2
    UNION ALL
    SELECT 'used_stream_keys', tenant_id, count(*) * TG_ARGV[0]::integer FROM changed WHERE consumed_at IS NOT NULL GROUP BY 2;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- TG_ARGV[0] is the scope.
-- +goose StatementBegin
CREATE FUNCTION count_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n) VALUES (TG_ARGV[0], NEW.tenant_id, 1);
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER stream_keys_made AFTER INSERT ON stream_keys REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_stream_keys('1');
CREATE TRIGGER stream_keys_gone AFTER DELETE ON stream_keys REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_stream_keys('-1');
CREATE TRIGGER stream_keys_used AFTER UPDATE ON stream_keys FOR EACH ROW
    WHEN (OLD.consumed_at IS NULL AND NEW.consumed_at IS NOT NULL) EXECUTE FUNCTION count_one('used_stream_keys');

-- The locks of these tables are held until the end of this file, which reads no rows.
SET LOCAL lock_timeout = '200ms';
-- The hash of the key with which an encoder publishes; null for other publishers, and for those from before this migration.
ALTER TABLE publishers ADD COLUMN key_hash bytea;
-- The stream's key is refused since this time; null if it isn't revoked.
ALTER TABLE streams ADD COLUMN key_revoked_at timestamptz;
CREATE TRIGGER streams_aired AFTER UPDATE OF status ON streams FOR EACH ROW
    WHEN (OLD.status = 'IDLE' AND NEW.status <> 'IDLE') EXECUTE FUNCTION count_one('aired_streams');
