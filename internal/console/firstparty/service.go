// Package firstparty holds the platform's own applications: tenants that admins create and manage, and that are never billed.
package firstparty

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/usage"
)

const (
	// period is the time of the figures of the last 30 days.
	period = 30 * 24 * time.Hour
	// recent is the time of the figures of an endpoint.
	recent = 24 * time.Hour
	// How many keys and endpoints a detail has, and how many deliveries of an endpoint are counted.
	detailKeys, detailWebhooks, maxDeliveries = 50, 50, 10_000
)

// Calls counts the API calls of tenants.
type Calls interface {
	// CallsOfTenants returns the number of calls of each of these tenants since the day of a time. A tenant without calls has no entry.
	CallsOfTenants(ctx context.Context, tenantIDs []string, from time.Time) (map[string]int64, error)
}

// Config of a Service.
type Config struct {
	Pool     *pgxpool.Pool
	Accounts *account.Service
	Usage    *usage.Service
	// Calls counts API calls; if nil, the figure is 0.
	Calls Calls
	// Now is the clock.
	Now func() time.Time
}

// Service holds the use cases.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service { return &Service{c} }

// App is a first-party app. Its id is the tenant's.
type App struct {
	ID, Name, Status string
	Description      *string
	Keys             int64
	LastUsedAt       *time.Time
	CreatedBy        string
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// Input describes a new app. KeyScopes is nil for all scopes of a DEVELOPER.
type Input struct {
	Name        string
	Description *string
	KeyName     string
	KeyScopes   []tenancy.Scope
}

// Webhook is an endpoint of an app. Deliveries and Failed are those of the last 24 hours, 10,000 at most.
type Webhook struct {
	db.WebhookEndpoint

	Deliveries, Failed int64
	LastSuccessAt      *time.Time
}

// Stats are an app's resources, and its activity in the last 30 days.
type Stats struct {
	db.GetAppStatsRow

	APICalls                                         int64
	SecondsLive, SecondsWatched, SecondsParticipants int64
}

// Detail is an app with what belongs to it.
type Detail struct {
	App      App
	Stats    Stats
	Keys     []db.APIKey
	Webhooks []Webhook
}

// ListFirstPartyApps returns a page of the apps, newest first, and the number of all of them.
func (s *Service) ListFirstPartyApps(ctx context.Context, size, skip int) (list []App, total int64, err error) {
	q := db.New(s.config.Pool)
	if total, err = q.CountFirstPartyApps(ctx); err != nil {
		return nil, 0, fmt.Errorf("count apps: %w", err)
	}
	rows, err := q.ListFirstPartyApps(ctx, db.ListFirstPartyAppsParams{Now: s.config.Now(), MaxRows: int32(size), Skip: int64(skip)})
	if err != nil {
		return nil, 0, fmt.Errorf("list apps: %w", err)
	}
	for _, row := range rows {
		list = append(list, appOf(row))
	}
	return list, total, nil
}

// CreateFirstPartyApp creates an app with its first API key. Only this call returns the whole key.
func (s *Service) CreateFirstPartyApp(ctx context.Context, c platform.Caller, in Input) (app App, row db.APIKey, key string, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.LockFirstPartyApps(ctx); err != nil {
			return fmt.Errorf("lock apps: %w", err)
		}
		taken, err := q.IsAppNameTaken(ctx, in.Name)
		if err != nil {
			return fmt.Errorf("find app by name: %w", err)
		}
		if taken {
			return problem.Conflicting("there is an app with this name already; choose another one")
		}
		tenant, err := s.config.Accounts.CreateAppTenantTx(ctx, tx, in.Name)
		if err != nil {
			return err
		}
		err = q.CreateFirstPartyApp(ctx, db.CreateFirstPartyAppParams{
			TenantID: tenant.ID, Description: in.Description, CreatedBy: c.AdminID, Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("create app: %w", err)
		}
		err = audit.WriteTx(ctx, q, s.config.Now(), audit.Entry{
			Actor: c.Actor(), TenantID: tenant.ID, Action: "first_party_app.create", Entity: "tenant", EntityID: tenant.ID,
			After: map[string]any{"name": in.Name, "description": in.Description, "plan": tenant.Plan},
		})
		if err != nil {
			return err
		}
		row, key, err = s.config.Accounts.CreateTenantKeyTx(ctx, tx, c.Actor(), tenant.ID, account.APIKeyInput{
			Name: in.KeyName, Scopes: in.KeyScopes,
		})
		if err != nil {
			return err
		}
		app, err = s.get(ctx, q, tenant.ID)
		return err
	})
	return app, row, key, err
}

// GetFirstPartyApp returns an app with its figures, newest keys and endpoints.
func (s *Service) GetFirstPartyApp(ctx context.Context, appID string) (d Detail, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	if d.App, err = s.get(ctx, q, appID); err != nil {
		return d, err
	}
	if d.Stats, err = s.stats(ctx, q, appID); err != nil {
		return d, err
	}
	if d.Keys, err = s.config.Accounts.ListAPIKeys(ctx, tenancy.Caller{TenantID: appID}, nil, detailKeys); err != nil {
		return d, err
	}
	rows, err := q.ListAppWebhooks(ctx, db.ListAppWebhooksParams{
		TenantID: appID, FirstID: id.Earliest(id.Delivery, now.Add(-recent)), MaxCount: maxDeliveries, MaxRows: detailWebhooks,
	})
	if err != nil {
		return d, fmt.Errorf("list webhooks: %w", err)
	}
	for _, r := range rows {
		d.Webhooks = append(d.Webhooks, Webhook{r.WebhookEndpoint, r.Deliveries, r.Failed, unlessEpoch(r.LastSuccessAt)})
	}
	return d, nil
}

func (s *Service) stats(ctx context.Context, q *db.Queries, appID string) (Stats, error) {
	now := s.config.Now()
	row, err := q.GetAppStats(ctx, appID)
	if err != nil {
		return Stats{}, fmt.Errorf("get app stats: %w", err)
	}
	out := Stats{GetAppStatsRow: row}
	used, err := s.config.Usage.Sum(ctx, appID, now.Add(-period), now)
	if err != nil {
		return out, err
	}
	out.SecondsLive, out.SecondsWatched = used[usage.StreamMinutes], used[usage.ViewerMinutes]
	out.SecondsParticipants = used[usage.ParticipantMinutes]
	if s.config.Calls == nil {
		return out, nil
	}
	calls, err := s.config.Calls.CallsOfTenants(ctx, []string{appID}, now.Add(-period))
	out.APICalls = calls[appID]
	return out, err
}

// CreateFirstPartyAppKey creates another API key. Only this call returns the whole key.
func (s *Service) CreateFirstPartyAppKey(
	ctx context.Context, c platform.Caller, appID string, in account.APIKeyInput,
) (row db.APIKey, key string, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		app, err := s.get(ctx, db.New(tx), appID)
		if err != nil {
			return err
		}
		if err := tenancy.CheckTenant(app.Status); err != nil {
			return err
		}
		row, key, err = s.config.Accounts.CreateTenantKeyTx(ctx, tx, c.Actor(), appID, in)
		return err
	})
	return row, key, err
}

// RevokeFirstPartyAppKey revokes a key and all keys that were created with it. Revoking again has no effect.
func (s *Service) RevokeFirstPartyAppKey(ctx context.Context, c platform.Caller, appID, keyID string) (row db.APIKey, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if _, err := s.get(ctx, db.New(tx), appID); err != nil {
			return err
		}
		row, err = s.config.Accounts.RevokeTenantKeyTx(ctx, tx, c.Actor(), appID, keyID)
		return err
	})
	s.config.Accounts.ForgetCallers()
	return row, err
}

// ImpersonateFirstPartyApp makes a token with which the admin acts as the app.
func (s *Service) ImpersonateFirstPartyApp(ctx context.Context, c platform.Caller, appID string) (account.Impersonated, error) {
	var out account.Impersonated
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		app, err := s.get(ctx, db.New(tx), appID)
		if err != nil {
			return err
		}
		if err := tenancy.CheckTenant(app.Status); err != nil {
			return err
		}
		out, err = s.config.Accounts.ImpersonateTx(ctx, tx, c.Actor(), appID, nil, "")
		return err
	})
	if err != nil {
		return account.Impersonated{}, err
	}
	return s.config.Accounts.IssueImpersonation(ctx, account.Impersonator{
		AdminID: c.AdminID, SignInID: c.SignInID, TokenVersion: c.TokenVersion,
	}, out)
}

// get returns an app. A tenant that is no app is a not_found, as an unknown id.
func (s *Service) get(ctx context.Context, q *db.Queries, appID string) (App, error) {
	rows, err := q.ListFirstPartyApps(ctx, db.ListFirstPartyAppsParams{Now: s.config.Now(), TenantID: &appID, MaxRows: 1})
	if err != nil {
		return App{}, fmt.Errorf("get app: %w", err)
	}
	if len(rows) == 0 {
		return App{}, problem.Missing("app")
	}
	return appOf(rows[0]), nil
}

func appOf(r db.ListFirstPartyAppsRow) App {
	return App{
		ID: r.TenantID, Name: r.Name, Status: r.Status, Description: r.Description, Keys: r.KeyCount, LastUsedAt: unlessEpoch(r.LastUsedAt),
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

// unlessEpoch returns nil for 1970, with which queries stand for no time.
func unlessEpoch(at time.Time) *time.Time {
	if at.Unix() == 0 {
		return nil
	}
	return &at
}
