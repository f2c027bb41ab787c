-- name: GetSpendCap :one
SELECT cap_cents, changes, since FROM spend_caps WHERE tenant_id = @tenant_id;

-- name: SetSpendCap :exec
INSERT INTO spend_caps (tenant_id, cap_cents, changes, since, updated_at) VALUES (@tenant_id, @cap_cents, @changes, @since, @now)
ON CONFLICT (tenant_id) DO UPDATE SET cap_cents = excluded.cap_cents, changes = excluded.changes, since = excluded.since,
    updated_at = excluded.updated_at;
