-- name: CreateDVRFile :execrows
INSERT INTO dvr_files (id, tenant_id, stream_id, publisher_id, cwd, file, created_at)
VALUES (@id, @tenant_id, @stream_id, @publisher_id, @cwd, @file, @now)
ON CONFLICT (publisher_id, file) DO NOTHING;
