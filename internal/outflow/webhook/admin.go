package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/latency"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

const (
	// maxListed is how many of an endpoint's deliveries admins can list and count. Counting them all would read millions of rows.
	maxListed = 10_000
	// recent is the time that the figures for admins cover.
	recent = 24 * time.Hour
	// failingEndpoints is how many failing endpoints a summary has.
	failingEndpoints = 20
)

// Page is a part of a list.
type Page struct{ Size, Skip int }

// PlatformEndpoint is an endpoint as admins see it. Deliveries and Failed are those of the last 24 hours, 10,000 at most.
// LastSuccessAt is nil for none.
type PlatformEndpoint struct {
	db.WebhookEndpoint

	TenantName         string
	Deliveries, Failed int64
	LastSuccessAt      *time.Time
}

// ListPlatformEndpoints returns a page of all tenants' endpoints, or of one tenant's, newest first, and the number of all of them.
func (s *Service) ListPlatformEndpoints(ctx context.Context, tenantID *string, p Page) (list []PlatformEndpoint, total int64, err error) {
	q := db.New(s.config.Pool)
	counts, err := q.CountPlatformEndpoints(ctx, tenantID)
	if err != nil {
		return nil, 0, fmt.Errorf("count endpoints: %w", err)
	}
	for _, c := range counts {
		total += c.N
	}
	if int64(p.Skip) >= total {
		return nil, total, nil
	}
	rows, err := q.ListPlatformEndpoints(ctx, db.ListPlatformEndpointsParams{
		Tenant: tenantID, MaxRows: int32(p.Size), Skip: int64(p.Skip), MaxCount: maxListed,
		FirstID: id.Earliest(id.Delivery, s.config.Now().Add(-recent)),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list endpoints: %w", err)
	}
	for _, r := range rows {
		list = append(list, PlatformEndpoint{r.WebhookEndpoint, r.TenantName, r.Deliveries, r.Failed, unlessEpoch(r.LastSuccessAt)})
	}
	return list, total, nil
}

// unlessEpoch returns nil for 1970, with which queries stand for no time.
func unlessEpoch(at time.Time) *time.Time {
	if at.Unix() == 0 {
		return nil
	}
	return &at
}

// ListEndpointDeliveries returns a page of the deliveries of any tenant's endpoint, newest first, and the number of all that can be listed.
func (s *Service) ListEndpointDeliveries(ctx context.Context, endpointID string, p Page) (list []Delivery, total int64, err error) {
	q := db.New(s.config.Pool)
	if _, err := q.FindEndpointTenant(ctx, endpointID); err != nil {
		return nil, 0, found(err)
	}
	if total, err = q.CountEndpointDeliveries(ctx, db.CountEndpointDeliveriesParams{EndpointID: endpointID, MaxRows: maxListed}); err != nil {
		return nil, 0, fmt.Errorf("count deliveries: %w", err)
	}
	size := min(int64(p.Size), total-int64(p.Skip))
	if size <= 0 {
		return nil, total, nil
	}
	rows, err := q.ListEndpointDeliveries(ctx, db.ListEndpointDeliveriesParams{
		EndpointID: endpointID, MaxRows: int32(size), Skip: int64(p.Skip),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list deliveries: %w", err)
	}
	for _, r := range rows {
		list = append(list, newDelivery(r.WebhookDelivery, r.Event, r.Payload))
	}
	return list, total, nil
}

// PlatformDelivery is a delivery of any tenant, without its payload.
type PlatformDelivery struct {
	db.WebhookDelivery

	Event, TenantName, URL string
}

// Statuses lists the states of a delivery.
func Statuses() []string {
	return []string{statusPending, statusDelivered, statusRetrying, statusFailed}
}

// ListRecentDeliveries returns the newest deliveries of all tenants, with a status if one is given.
func (s *Service) ListRecentDeliveries(ctx context.Context, status *string, limit int) (list []PlatformDelivery, err error) {
	q := db.New(s.config.Pool)
	var rows []db.ListPlatformDeliveriesRow
	switch {
	case status == nil:
		rows, err = q.ListPlatformDeliveries(ctx, int32(limit))
	case *status == statusDelivered:
		var arrived []db.ListPlatformArrivalsRow
		arrived, err = q.ListPlatformArrivals(ctx, int32(limit))
		for _, r := range arrived {
			rows = append(rows, db.ListPlatformDeliveriesRow(r))
		}
	default:
		var others []db.ListPlatformDeliveriesByStatusRow
		others, err = q.ListPlatformDeliveriesByStatus(ctx, db.ListPlatformDeliveriesByStatusParams{Status: *status, MaxRows: int32(limit)})
		for _, r := range others {
			rows = append(rows, db.ListPlatformDeliveriesRow(r))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list deliveries of all tenants: %w", err)
	}
	for _, r := range rows {
		list = append(list, PlatformDelivery{newDelivery(r.WebhookDelivery, r.Event, nil).WebhookDelivery, r.Event, r.TenantName, r.URL})
	}
	return list, nil
}

// RetryAnyDelivery is RetryWebhookDelivery for an admin: for any tenant's delivery, unless the tenant is suspended.
func (s *Service) RetryAnyDelivery(ctx context.Context, actor audit.Actor, deliveryID string) (Delivery, error) {
	row, err := db.New(s.config.Pool).FindDeliveryTenant(ctx, deliveryID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Delivery{}, problem.Missing("delivery")
	case err != nil:
		return Delivery{}, fmt.Errorf("find delivery: %w", err)
	case row.Status == tenancy.Suspended:
		return Delivery{}, problem.Conflicting("the tenant is suspended; unsuspend it first")
	}
	return s.retry(ctx, actor, row.TenantID, deliveryID)
}

// Summary is the figures of all tenants' deliveries of the last 24 hours.
type Summary struct {
	At time.Time
	// Active and Disabled are numbers of endpoints.
	Active, Disabled int64
	// Pending, Retrying and Failed are deliveries that have not arrived.
	Pending, Retrying, Failed int64
	// Attempts are those of the last 24 whole hours, and since; FailedAttempts is a part of them.
	Attempts, FailedAttempts int64
	Took                     latency.Counts
	// OldestDueAt is when the oldest overdue attempt was due; nil for none.
	OldestDueAt *time.Time
	Failing     []FailingEndpoint
}

// FailingEndpoint is an endpoint with failed attempts.
type FailingEndpoint struct {
	db.WebhookEndpoint

	TenantName     string
	FailedAttempts int64
	LastError      *string
	LastSuccessAt  *time.Time
}

// GetSummary returns the figures.
func (s *Service) GetSummary(ctx context.Context) (sum Summary, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	sum.At = now
	endpoints, err := q.CountPlatformEndpoints(ctx, nil)
	if err != nil {
		return sum, fmt.Errorf("count endpoints: %w", err)
	}
	for _, e := range endpoints {
		if e.Status == endpointActive {
			sum.Active += e.N
		} else {
			sum.Disabled += e.N
		}
	}
	if sum.Pending, sum.Retrying, sum.Failed, err = s.CountUnarrived(ctx, now.Add(-recent)); err != nil {
		return sum, err
	}
	since := now.Add(-recent).UTC().Truncate(time.Hour)
	hours, err := q.ListWebhookAttempts(ctx, since)
	if err != nil {
		return sum, fmt.Errorf("list attempts: %w", err)
	}
	for _, h := range hours {
		sum.Attempts, sum.FailedAttempts = sum.Attempts+h.Attempts, sum.FailedAttempts+h.Failed
		sum.Took.Merge(h.Took)
	}
	due, err := q.FindOldestDueAttempt(ctx, now)
	switch {
	case err == nil:
		sum.OldestDueAt = &due
	case !errors.Is(err, pgx.ErrNoRows):
		return sum, fmt.Errorf("find oldest due attempt: %w", err)
	}
	failing, err := q.ListFailingEndpoints(ctx, db.ListFailingEndpointsParams{Since: since, MaxRows: failingEndpoints})
	if err != nil {
		return sum, fmt.Errorf("list failing endpoints: %w", err)
	}
	for _, f := range failing {
		sum.Failing = append(sum.Failing, FailingEndpoint{f.WebhookEndpoint, f.TenantName, f.Failed, f.LastError, unlessEpoch(f.LastSuccessAt)})
	}
	return sum, nil
}

// CountUnarrived counts the deliveries of all tenants since a time that have not arrived, by the status that tenants see.
func (s *Service) CountUnarrived(ctx context.Context, since time.Time) (pending, retrying, failed int64, err error) {
	rows, err := db.New(s.config.Pool).CountUnarrivedDeliveries(ctx, id.Earliest(id.Delivery, since))
	if err != nil {
		return 0, 0, 0, fmt.Errorf("count deliveries that have not arrived: %w", err)
	}
	for _, r := range rows {
		switch r.Status {
		case statusPending:
			pending = r.N
		case statusRetrying:
			retrying = r.N
		case statusFailed:
			failed = r.N
		}
	}
	return pending, retrying, failed, nil
}

// MaskURL replaces the password and the query's values in a URL by ***, since tenants put secrets there. An unreadable URL is replaced
// entirely.
func MaskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "***"
	}
	if u.User != nil {
		u.User = url.User("***")
	}
	var query []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, valued := strings.Cut(pair, "=")
		switch {
		case pair == "":
		case valued:
			query = append(query, name+"=***")
		default:
			query = append(query, "***")
		}
	}
	u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
	masked := strings.Replace(u.String(), "%2A%2A%2A@", "***@", 1)
	if len(query) > 0 {
		masked += "?" + strings.Join(query, "&")
	}
	return masked
}
