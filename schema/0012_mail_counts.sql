-- +goose Up
-- For counts of a tenant's invitations, and of the invitations to one address.
CREATE INDEX mails_tenant_idx ON mails (tenant_id, kind, created_at);
CREATE INDEX mails_recipient_idx ON mails (recipient, kind, created_at);
