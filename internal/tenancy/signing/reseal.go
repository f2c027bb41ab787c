package signing

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/secret"
)

// Reseal seals the signing keys with the box's first master key; see secret.Resealing.
func Reseal(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error) {
	q := db.New(pool)
	return secret.Resealing[db.SigningKey]{
		Table: "signing keys",
		List: func(ctx context.Context, after string) ([]db.SigningKey, error) {
			return q.ListSigningKeysToReseal(ctx, db.ListSigningKeysToResealParams{
				After: after, Header: box.Header(), MaxRows: secret.ResealBatch,
			})
		},
		Key: func(row db.SigningKey) string { return row.ID },
		Replace: func(ctx context.Context, row db.SigningKey) error {
			sealed, err := box.ResealValue(row.PrivateKey, sealContext(row.ID))
			if err != nil {
				return err
			}
			return q.ResealSigningKey(ctx, db.ResealSigningKeyParams{ID: row.ID, Sealed: sealed, Before: row.PrivateKey})
		},
	}.Run(ctx, progress)
}
