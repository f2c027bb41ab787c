package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/audit"
)

// maxFailing is how long an endpoint may fail without a success in between.
const maxFailing = 5 * 24 * time.Hour

// Why an endpoint is disabled.
const (
	goneReason     = "answered 410 Gone"
	failingReason  = "every attempt failed for five days"
	disabledReason = "disabled by the tenant"
)

// changesHealth tells whether an attempt says anything new about its endpoint.
func changesHealth(d db.ListDeliveriesForAttemptRow, o outcome, now time.Time) bool {
	if o.failure == "" || o.gone || d.FailingSince == nil {
		return o.gone || (o.failure == "") != (d.FailingSince == nil)
	}
	return now.Sub(*d.FailingSince) >= maxFailing
}

// noteHealth keeps since when an endpoint fails, and disables it when that has
// been for too long or it asked for it.
func (s *Service) noteHealth(ctx context.Context, tx pgx.Tx, d db.ListDeliveriesForAttemptRow, o outcome, now time.Time) error {
	q := db.New(tx)
	var err error
	switch {
	case !changesHealth(d, o, now):
	case o.gone:
		return s.disable(ctx, tx, d, goneReason, nil)
	case o.failure == "":
		err = q.NoteWebhookSuccess(ctx, db.NoteWebhookSuccessParams{TenantID: d.TenantID, ID: d.EndpointID})
	case d.FailingSince == nil:
		err = q.NoteWebhookFailure(ctx, db.NoteWebhookFailureParams{TenantID: d.TenantID, ID: d.EndpointID, Now: now})
	default:
		return s.disable(ctx, tx, d, failingReason, new(now.Add(-maxFailing)))
	}
	if err != nil {
		return fmt.Errorf("note health of endpoint: %w", err)
	}
	return nil
}

// disable stops an endpoint; with failingBefore only if it has failed since then.
func (s *Service) disable(
	ctx context.Context, tx pgx.Tx, d db.ListDeliveriesForAttemptRow, why string, failingBefore *time.Time,
) error {
	q, now := db.New(tx), s.config.Now()
	n, err := q.DisableWebhookEndpoint(ctx, db.DisableWebhookEndpointParams{
		TenantID: d.TenantID, ID: d.EndpointID, DisabledReason: &why, FailingBefore: failingBefore, Now: now,
	})
	if err != nil {
		return fmt.Errorf("disable endpoint: %w", err)
	}
	if n == 0 {
		return nil
	}
	return audit.Write(ctx, q, now, audit.Entry{
		Actor: audit.System("webhooks"), TenantID: d.TenantID,
		Action: "webhook.disable", Entity: endpointEntity, EntityID: d.EndpointID, Reason: why,
	})
}
