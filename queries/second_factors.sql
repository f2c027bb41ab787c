-- name: GetSecondFactor :one
-- @sqlc-vet-disable tenant
-- A holder is a user or an admin; its id is unique among all tenants.
SELECT f.*, (SELECT count(*) FROM recovery_codes r WHERE r.holder_id = f.holder_id) AS codes_left
FROM second_factors f WHERE f.holder_id = @holder_id;

-- name: LockSecondFactor :one
-- @sqlc-vet-disable tenant
-- As GetSecondFactor.
SELECT * FROM second_factors WHERE holder_id = @holder_id FOR UPDATE;

-- name: PutSecondFactor :exec
-- @sqlc-vet-disable tenant
-- As GetSecondFactor. Replaces one that isn't confirmed.
INSERT INTO second_factors (holder_id, secret, created_at) VALUES (@holder_id, @secret, @now)
ON CONFLICT (holder_id) DO UPDATE SET secret = @secret, created_at = @now WHERE second_factors.confirmed_at IS NULL;

-- name: ConfirmSecondFactor :exec
-- @sqlc-vet-disable tenant
-- As GetSecondFactor.
UPDATE second_factors SET confirmed_at = @now WHERE holder_id = @holder_id;

-- name: SetSecondFactorTries :exec
-- @sqlc-vet-disable tenant
-- As GetSecondFactor.
UPDATE second_factors SET last_step = @last_step, wrong_codes = @wrong_codes, wrong_since = @wrong_since WHERE holder_id = @holder_id;

-- name: DeleteSecondFactor :exec
-- @sqlc-vet-disable tenant
-- As GetSecondFactor. Deletes the recovery codes too.
DELETE FROM second_factors WHERE holder_id = @holder_id;

-- name: DeleteUnconfirmedSecondFactors :execrows
-- @sqlc-vet-disable tenant
-- Those that were begun and not confirmed, of all tenants.
DELETE FROM second_factors WHERE holder_id IN (
    SELECT f.holder_id FROM second_factors f WHERE f.confirmed_at IS NULL AND f.created_at < @before ORDER BY f.created_at LIMIT @max_rows);

-- name: CreateRecoveryCodes :exec
-- @sqlc-vet-disable tenant
-- As GetSecondFactor.
INSERT INTO recovery_codes (holder_id, code_hash) SELECT @holder_id, unnest(@code_hashes::bytea[]);

-- name: DeleteRecoveryCodes :exec
-- @sqlc-vet-disable tenant
-- As GetSecondFactor.
DELETE FROM recovery_codes WHERE holder_id = @holder_id;

-- name: UseRecoveryCode :execrows
-- @sqlc-vet-disable tenant
-- As GetSecondFactor.
DELETE FROM recovery_codes WHERE holder_id = @holder_id AND code_hash = @code_hash;

-- name: ListSecondFactorsToReseal :many
-- @sqlc-vet-disable tenant
-- Rows whose secret is sealed with another master key than the header's.
SELECT * FROM second_factors
WHERE holder_id > @after AND substring(secret FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea
ORDER BY holder_id LIMIT @max_rows;

-- name: ResealSecondFactor :exec
-- @sqlc-vet-disable tenant
-- Does nothing if the secret was replaced meanwhile.
UPDATE second_factors SET secret = @sealed WHERE holder_id = @holder_id AND secret = @before;
