package account

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// GetTenant is the caller's tenant.
func (s *Service) GetTenant(ctx context.Context, c tenancy.Caller) (db.Tenant, error) {
	row, err := db.New(s.pool).GetTenant(ctx, c.TenantID)
	if err != nil {
		return row, fmt.Errorf("get tenant: %w", err)
	}
	return row, nil
}

// TenantValues are the values that a tenant may change about itself.
type TenantValues struct {
	Name string
	// LogoURL, PrimaryColor and AccentColor are the look of its pages; nil for none. Colours are #rrggbb.
	LogoURL, PrimaryColor, AccentColor *string
	// EmbedOrigins are the websites that may frame its pages.
	EmbedOrigins []string
}

// normalized writes colours and origins in lower case, and removes repeated origins and ports that are the scheme's own.
func (v TenantValues) normalized() TenantValues {
	for _, color := range []**string{&v.PrimaryColor, &v.AccentColor} {
		if *color != nil {
			*color = new(strings.ToLower(**color))
		}
	}
	origins := make([]string, 0, len(v.EmbedOrigins))
	for _, o := range v.EmbedOrigins {
		o = strings.ToLower(o)
		if scheme, _, _ := strings.Cut(o, "://"); scheme == "https" {
			o = strings.TrimSuffix(o, ":443")
		} else {
			o = strings.TrimSuffix(o, ":80")
		}
		if !slices.Contains(origins, o) {
			origins = append(origins, o)
		}
	}
	v.EmbedOrigins = origins
	return v
}

func valuesOf(t db.Tenant) TenantValues {
	return TenantValues{
		Name: t.Name, LogoURL: t.LogoURL, PrimaryColor: t.PrimaryColor, AccentColor: t.AccentColor, EmbedOrigins: t.EmbedOrigins,
	}
}

// audited are the values in the audit log.
func (v TenantValues) audited() map[string]any {
	return map[string]any{
		"name": v.Name, "logoUrl": v.LogoURL, "primaryColor": v.PrimaryColor, "accentColor": v.AccentColor, "embedOrigins": v.EmbedOrigins,
	}
}

// UpdateTenant changes the caller's tenant. Without a change it writes nothing. change may be called again.
func (s *Service) UpdateTenant(ctx context.Context, c tenancy.Caller, change func(*TenantValues)) (db.Tenant, error) {
	var row db.Tenant
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		before, err := q.LockTenant(ctx, c.TenantID)
		if err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		next := valuesOf(before)
		change(&next)
		next = next.normalized()
		if reflect.DeepEqual(next, valuesOf(before)) {
			row = before
			return nil
		}
		row, err = q.UpdateTenant(ctx, db.UpdateTenantParams{
			ID: c.TenantID, Name: next.Name, LogoURL: next.LogoURL, PrimaryColor: next.PrimaryColor, AccentColor: next.AccentColor,
			EmbedOrigins: next.EmbedOrigins, Now: now,
		})
		if err != nil {
			return fmt.Errorf("update tenant: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "tenant.update", Entity: "tenant", EntityID: c.TenantID,
			Before: valuesOf(before).audited(), After: next.audited(),
		})
	})
	return row, err
}
