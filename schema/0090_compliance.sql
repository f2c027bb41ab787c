-- +goose Up
-- One record for each tenant that an admin has reviewed.
CREATE TABLE compliance_records (
    tenant_id         text PRIMARY KEY REFERENCES tenants (id),
    verification      text NOT NULL CHECK (verification IN ('UNVERIFIED', 'PENDING', 'VERIFIED', 'REJECTED')),
    risk_level        text NOT NULL CHECK (risk_level IN ('LOW', 'MEDIUM', 'HIGH')),
    country           text,
    data_region       text,
    dpa_signed_at     timestamptz,
    terms_version     text,
    terms_accepted_at timestamptz,
    legal_hold        boolean NOT NULL,
    next_review_at    timestamptz,
    notes             text,
    reviewed_at       timestamptz NOT NULL,
    reviewed_by       text NOT NULL
);
CREATE INDEX compliance_records_hold_idx ON compliance_records (tenant_id) WHERE legal_hold;

-- The tenants on legal hold. Statements of retention leave the rows of these tenants:
-- tenant_id <> ALL (ARRAY(SELECT held_tenants())), which PostgreSQL evaluates once for each statement.
-- +goose StatementBegin
CREATE FUNCTION held_tenants() RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT tenant_id FROM compliance_records WHERE legal_hold;
$$;
-- +goose StatementEnd
