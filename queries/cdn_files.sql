-- name: StartCdnFile :exec
-- Without an effect if the file is known.
INSERT INTO cdn_files (hash, source, chunks, started_at) VALUES (@hash, @source, @chunks, @now) ON CONFLICT (hash) DO NOTHING;

-- name: FindCdnFile :one
SELECT * FROM cdn_files WHERE hash = @hash;

-- name: LockCdnFile :one
SELECT * FROM cdn_files WHERE hash = @hash FOR UPDATE;

-- name: AdvanceCdnFile :exec
UPDATE cdn_files SET done = @done, finished_at = CASE WHEN @done::integer = chunks THEN @now::timestamptz END WHERE hash = @hash;
