-- name: CountAdmins :one
SELECT count(*) FROM admins;

-- name: CreateAdmin :one
INSERT INTO admins (id, email, password_hash, role, created_at, updated_at)
VALUES (@id, @email, @password_hash, @role, @now, @now) RETURNING *;
