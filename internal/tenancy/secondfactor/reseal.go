package secondfactor

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/secret"
)

// Reseal seals the secrets with the box's first master key; see secret.Resealing.
func Reseal(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error) {
	q := db.New(pool)
	return secret.Resealing[db.SecondFactor]{
		Table: "second factors",
		List: func(ctx context.Context, after string) ([]db.SecondFactor, error) {
			return q.ListSecondFactorsToReseal(ctx, db.ListSecondFactorsToResealParams{
				After: after, Header: box.Header(), MaxRows: secret.ResealBatch,
			})
		},
		Key: func(row db.SecondFactor) string { return row.HolderID },
		Replace: func(ctx context.Context, row db.SecondFactor) error {
			sealed, err := box.ResealValue(row.Secret, sealContext(row.HolderID))
			if err != nil {
				return err
			}
			err = q.ResealSecondFactor(ctx, db.ResealSecondFactorParams{HolderID: row.HolderID, Sealed: sealed, Before: row.Secret})
			if err != nil {
				return fmt.Errorf("reseal second factor: %w", err)
			}
			return nil
		},
	}.Run(ctx, progress)
}
