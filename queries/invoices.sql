-- name: ListInvoicesOfProcessor :many
-- Those of the named ones that we have.
SELECT * FROM invoices WHERE tenant_id = @tenant_id AND processor_invoice_id = ANY (@processor_invoice_ids::text[]);

-- name: CreateInvoice :exec
INSERT INTO invoices (id, tenant_id, processor_invoice_id, subscription_id, number, status, currency, subtotal_cents, tax_cents, total_cents,
    paid_cents, due_cents, refunded_cents, failed_attempts, period_start, period_end, due_at, paid_at, voided_at, hosted_url, pdf_url, lines,
    created_at, updated_at, overage)
VALUES (@id, @tenant_id, @processor_invoice_id, @subscription_id, @number, @status, @currency, @subtotal_cents, @tax_cents, @total_cents,
    @paid_cents, @due_cents, @refunded_cents, @failed_attempts, @period_start, @period_end, @due_at, @paid_at, @voided_at, @hosted_url, @pdf_url, @lines,
    @created_at, @updated_at, @overage);

-- name: HasUnpaidOverage :one
-- Whether a charge of overage failed, is overdue, or is not expected any more.
SELECT EXISTS (SELECT 1 FROM invoices WHERE tenant_id = @tenant_id AND overage
    AND (status = 'UNCOLLECTIBLE' OR status = 'OPEN' AND (failed_attempts > 0 OR due_at < @now::timestamptz)));

-- name: UpdateInvoice :exec
UPDATE invoices SET subscription_id = @subscription_id, number = @number, status = @status, currency = @currency, subtotal_cents = @subtotal_cents,
    tax_cents = @tax_cents, total_cents = @total_cents, paid_cents = @paid_cents, due_cents = @due_cents, refunded_cents = @refunded_cents,
    failed_attempts = @failed_attempts, period_start = @period_start, period_end = @period_end, due_at = @due_at, paid_at = @paid_at,
    voided_at = @voided_at, hosted_url = @hosted_url, pdf_url = @pdf_url, lines = @lines, overage = @overage, updated_at = @updated_at
WHERE tenant_id = @tenant_id AND id = @id;

-- name: GetNewestInvoice :one
SELECT * FROM invoices WHERE tenant_id = @tenant_id AND status <> 'DRAFT' ORDER BY created_at DESC, id DESC LIMIT 1;

-- name: ListInvoices :many
-- Newest first, after the invoice of the cursor.
SELECT i.* FROM invoices i
WHERE i.tenant_id = @tenant_id AND i.status <> 'DRAFT'
  AND (sqlc.narg('cursor')::text IS NULL
    OR (i.created_at, i.id) < (SELECT c.created_at, c.id FROM invoices c WHERE c.tenant_id = @tenant_id AND c.id = sqlc.narg('cursor')))
ORDER BY i.created_at DESC, i.id DESC LIMIT @max_rows;

-- name: ListPlatformInvoices :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. Newest first. Finds the page along an index before it reads rows.
WITH page AS MATERIALIZED (
    SELECT f.id FROM invoices f
    WHERE (sqlc.narg('status')::text IS NULL OR f.status = sqlc.narg('status'))
      AND (sqlc.narg('tenant_id')::text IS NULL OR f.tenant_id = sqlc.narg('tenant_id'))
    ORDER BY f.created_at DESC, f.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT sqlc.embed(i), t.name AS tenant_name FROM page JOIN invoices i ON i.id = page.id JOIN tenants t ON t.id = i.tenant_id
ORDER BY i.created_at DESC, i.id DESC;

-- name: CountPlatformInvoices :one
-- @sqlc-vet-disable tenant
-- The kept number of invoices of one tenant or of all, for the platform's operators.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c WHERE c.scope = 'invoices_by_status'
    AND c.key IN (SELECT coalesce(sqlc.narg('tenant_id')::text, '') || '/' || s.status FROM unnest(@statuses::text[]) AS s (status));

-- name: SumOpenInvoices :many
-- @sqlc-vet-disable tenant
-- Open and overdue amounts by currency, for the platform's operators.
SELECT currency, count(*) AS n, sum(due_cents)::bigint AS cents,
    count(*) FILTER (WHERE due_at < @now::timestamptz)::bigint AS overdue_n,
    coalesce(sum(due_cents) FILTER (WHERE due_at < @now::timestamptz), 0)::bigint AS overdue_cents
FROM invoices WHERE status = 'OPEN' GROUP BY currency ORDER BY currency;

-- name: SumPaidOfTenants :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants. The amounts of their invoices that were paid since a time.
SELECT i.tenant_id, i.currency, sum(i.paid_cents)::bigint AS cents FROM invoices i
WHERE i.tenant_id = ANY (@tenant_ids::text[]) AND i.paid_at >= @since::timestamptz AND i.paid_cents > 0 GROUP BY 1, 2;
