package restream

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/secret"
)

// keepRoutes is how long routes are kept after their end, and deleted targets.
const keepRoutes = 365 * 24 * time.Hour

// DeleteOld deletes routes a year after their end, and deleted targets without routes.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepRoutes)
	err := postgres.DeleteInBatches(ctx, "restream routes", func(maxRows int32) (int64, error) {
		return q.DeleteRestreamRoutesBefore(ctx, db.DeleteRestreamRoutesBeforeParams{Before: before, MaxRows: maxRows})
	})
	if err != nil {
		return err
	}
	return postgres.DeleteInBatches(ctx, "restream targets", func(maxRows int32) (int64, error) {
		return q.DeleteRestreamTargetsBefore(ctx, db.DeleteRestreamTargetsBeforeParams{Before: before, MaxRows: maxRows})
	})
}

// Reseal encrypts the addresses of targets with the box's first master key; see secret.Resealing.
func Reseal(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error) {
	q := db.New(pool)
	return secret.Resealing[db.RestreamTarget]{
		Table: "restream targets",
		List: func(ctx context.Context, after string) ([]db.RestreamTarget, error) {
			return q.ListTargetsToReseal(ctx, db.ListTargetsToResealParams{After: after, Header: box.Header(), MaxRows: secret.ResealBatch})
		},
		Key: func(row db.RestreamTarget) string { return row.ID },
		Replace: func(ctx context.Context, row db.RestreamTarget) error {
			current, err := box.ResealValue(row.Address, sealContext(row.ID))
			if err != nil {
				return err
			}
			return q.ResealTarget(ctx, db.ResealTargetParams{ID: row.ID, Address: current, AddressBefore: row.Address})
		},
	}.Run(ctx, progress)
}
