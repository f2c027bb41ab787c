-- +goose Up

ALTER TABLE admins ADD COLUMN last_login_at timestamptz;

-- For a suspended tenant: the time of the suspension, the reason, and the status to restore.
ALTER TABLE tenants ADD COLUMN suspended_at timestamptz,
    ADD COLUMN suspension_reason text,
    ADD COLUMN status_before_suspension text CHECK (status_before_suspension IN ('TRIAL', 'ACTIVE', 'PAST_DUE'));

-- Admin lists show the newest first.
CREATE INDEX tenants_created_idx ON tenants (created_at DESC, id DESC);
CREATE INDEX users_created_idx ON users (created_at DESC, id DESC);

-- The audit log of all tenants, and by each of its filters.
CREATE INDEX audit_entries_at_idx ON audit_entries (at DESC, id DESC);
CREATE INDEX audit_entries_tenant_at_idx ON audit_entries (tenant_id, at DESC, id DESC);
CREATE INDEX audit_entries_actor_idx ON audit_entries (actor_id, at DESC, id DESC);
CREATE INDEX audit_entries_impersonator_idx ON audit_entries (impersonator_id, at DESC, id DESC) WHERE impersonator_id IS NOT NULL;
CREATE INDEX audit_entries_action_idx ON audit_entries (action text_pattern_ops, at DESC, id DESC);
CREATE INDEX audit_entries_entity_idx ON audit_entries (entity, at DESC, id DESC);
CREATE INDEX audit_entries_entity_id_idx ON audit_entries (entity_id, at DESC, id DESC);
