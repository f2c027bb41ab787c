package idempotency

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/secret"
)

// Reseal seals the kept answers with the box's first master key; see secret.Resealing.
func Reseal(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error) {
	q := db.New(pool)
	return secret.Resealing[db.IdempotencyKey]{
		Table: "idempotency keys",
		List: func(ctx context.Context, after string) ([]db.IdempotencyKey, error) {
			tenantID, key, _ := strings.Cut(after, "/")
			return q.ListIdempotencyKeysToReseal(ctx, db.ListIdempotencyKeysToResealParams{
				AfterTenant: tenantID, AfterKey: key, Header: box.Header(), MaxRows: secret.ResealBatch,
			})
		},
		// Tenants' ids contain no slash.
		Key: func(row db.IdempotencyKey) string { return row.TenantID + "/" + row.Key },
		Replace: func(ctx context.Context, row db.IdempotencyKey) error {
			sealed, err := box.ResealValue(row.Body, sealContext(row.TenantID, row.Key, row.RunID))
			if err != nil {
				return err
			}
			return q.ResealIdempotencyKey(ctx, db.ResealIdempotencyKeyParams{
				TenantID: row.TenantID, Key: row.Key, RunID: row.RunID, Sealed: sealed, Before: row.Body,
			})
		},
	}.Run(ctx, progress)
}
