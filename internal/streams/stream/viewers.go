package stream

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/usage"
)

// ViewerLimit is what decides whether a tenant may have one more viewer.
type ViewerLimit struct {
	// Most is the number of viewers that the plan allows at one time.
	Most int64
	// Elsewhere is the number of viewers of streams on other nodes, as these have written it, and on SRS servers.
	Elsewhere int64
	// Full is the refusal of a viewer beyond Most. Blocked is the refusal of all new viewers, because the included usage is used
	// up; "" if it isn't.
	Full, Blocked string
}

// GetViewerLimit returns the limit of a tenant's viewers. The plan and the usage are up to 10 seconds old.
func (s *Service) GetViewerLimit(ctx context.Context, tenantID string) (l ViewerLimit, err error) {
	err = s.config.Usage.CheckAllowance(ctx, tenantID, usage.ViewerMinutes, usage.EgressBytes)
	if refusal, refused := problem.As(err); refused {
		l.Blocked = refusal.Message
	} else if err != nil {
		return l, err
	}
	most, full, err := s.config.Quotas.Limit(ctx, tenantID, quota.Viewers)
	if err != nil {
		return l, err
	}
	l.Most, l.Full = most, full.Message
	if l.Elsewhere, err = s.countOtherViewers(ctx, db.New(s.config.Pool), tenantID, ""); err != nil {
		return l, err
	}
	return l, nil
}

// countOtherViewers counts the viewers of streams on other nodes and on SRS servers, there without one connection.
func (s *Service) countOtherViewers(ctx context.Context, q *db.Queries, tenantID, except string) (int64, error) {
	n, err := q.CountOtherViewers(ctx, db.CountOtherViewersParams{
		TenantID: tenantID, Node: s.config.Node, Since: s.config.Now().Add(-mediaFresh), ExceptID: except,
	})
	if err != nil {
		return 0, fmt.Errorf("count viewers elsewhere: %w", err)
	}
	return n, nil
}

// play stores a player on an SRS server, if the plan allows one more viewer. A report that is repeated changes nothing.
func (s *Service) play(ctx context.Context, row db.Stream, connection string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := s.config.Usage.CheckAllowanceTx(ctx, tx, row.TenantID, usage.ViewerMinutes, usage.EgressBytes); err != nil {
			return err
		}
		err := s.config.Quotas.CheckTx(ctx, tx, row.TenantID, quota.Viewers, 1, func(ctx context.Context) (int64, error) {
			elsewhere, err := s.countOtherViewers(ctx, q, row.TenantID, connection)
			return elsewhere + int64(s.config.Engine.Viewers(row.TenantID)), err
		})
		if err != nil {
			return err
		}
		err = q.CreatePlay(ctx, db.CreatePlayParams{ID: connection, TenantID: row.TenantID, StreamID: row.ID, Now: s.config.Now()})
		if err != nil {
			return fmt.Errorf("create play: %w", err)
		}
		return nil
	})
}
