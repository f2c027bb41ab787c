package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
	"showfloor/internal/tenancy/quota"
)

// endpointEntity is the entity of an endpoint in the audit log.
const endpointEntity = "webhook"

// EndpointInput describes a new endpoint.
type EndpointInput struct {
	URL string
	// Events to deliver, names of the API's EventName; empty for all.
	Events []string
}

// ListWebhooks pages through the tenant's endpoints, newest first.
func (s *Service) ListWebhooks(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]db.WebhookEndpoint, error) {
	rows, err := db.New(s.config.Pool).ListWebhookEndpoints(ctx, db.ListWebhookEndpointsParams{
		TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list webhook endpoints: %w", err)
	}
	return rows, nil
}

// GetWebhook returns one endpoint.
func (s *Service) GetWebhook(ctx context.Context, c tenancy.Caller, endpointID string) (db.WebhookEndpoint, error) {
	row, err := db.New(s.config.Pool).GetWebhookEndpoint(ctx, db.GetWebhookEndpointParams{TenantID: c.TenantID, ID: endpointID})
	return row, found(err)
}

// found distinguishes a missing endpoint from a failed query.
func found(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Missing("webhook endpoint")
	}
	return fmt.Errorf("get webhook endpoint: %w", err)
}

// CreateWebhook registers an endpoint and returns its signing secret. Only this
// call shows the secret, which is stored encrypted. Endpoints, disabled ones
// included, count towards the plan's maxWebhookEndpoints: 403 plan_limit above it.
// A tenant can create 1,000 endpoints in 24 hours: 429 rate_limited above that.
func (s *Service) CreateWebhook(
	ctx context.Context, c tenancy.Caller, in EndpointInput,
) (row db.WebhookEndpoint, secret string, err error) {
	if err := outbound.CheckURL("url", in.URL); err != nil {
		return row, "", err
	}
	secret = newSecret()
	endpointID := id.New(id.Webhook)
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		err := s.config.Quotas.CheckTx(ctx, tx, c.TenantID, quota.WebhookEndpoints, 1, func(ctx context.Context) (int64, error) {
			return q.CountWebhookEndpoints(ctx, c.TenantID)
		})
		if err != nil {
			return err
		}
		creation := func(ctx context.Context, since time.Time, skipped int32) (time.Time, error) {
			return q.GetWebhookEndpointCreation(ctx, db.GetWebhookEndpointCreationParams{TenantID: c.TenantID, Since: since, Skipped: skipped})
		}
		err = s.config.Quotas.CheckDayTx(ctx, tx, c.TenantID, quota.WebhookEndpoints, creation)
		if err != nil {
			return err
		}
		row, err = q.CreateWebhookEndpoint(ctx, db.CreateWebhookEndpointParams{
			ID: endpointID, TenantID: c.TenantID, URL: in.URL, Events: eventList(in.Events),
			Secret: s.config.Box.Seal([]byte(secret), sealContext(endpointID)), Now: now,
		})
		if err != nil {
			return fmt.Errorf("create webhook endpoint: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook.create", Entity: endpointEntity, EntityID: endpointID,
			After: map[string]any{"url": row.URL, "events": row.Events},
		})
	})
	return row, secret, err
}

// DeleteWebhook deletes an endpoint. Its open deliveries fail when they are due.
func (s *Service) DeleteWebhook(ctx context.Context, c tenancy.Caller, endpointID string) (db.WebhookEndpoint, error) {
	var row db.WebhookEndpoint
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		var err error
		row, err = q.DeleteWebhookEndpoint(ctx, db.DeleteWebhookEndpointParams{TenantID: c.TenantID, ID: endpointID, Now: &now})
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("webhook endpoint")
		}
		if err != nil {
			return fmt.Errorf("delete webhook endpoint: %w", err)
		}
		if err := compliance.RefuseHeldTx(ctx, tx, c.TenantID); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "webhook.delete", Entity: endpointEntity, EntityID: endpointID,
			Before: map[string]any{"url": row.URL, "events": row.Events},
		})
	})
	return row, err
}

// eventList is a list of events as it is stored: without duplicates, sorted.
func eventList(events []string) []string {
	if len(events) == 0 {
		return []string{} // not nil, which the database would store as NULL
	}
	return slices.Compact(slices.Sorted(slices.Values(events)))
}

// sealContext binds an encrypted secret to its row.
func sealContext(endpointID string) string { return "webhook_endpoints/" + endpointID }
