package webhook

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/secret"
)

// Reseal encrypts the secrets of endpoints with the box's first master key; see
// secret.Resealing.
func Reseal(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error) {
	q := db.New(pool)
	return secret.Resealing[db.WebhookEndpoint]{
		Table: "webhook endpoints",
		List: func(ctx context.Context, after string) ([]db.WebhookEndpoint, error) {
			return q.ListEndpointsToReseal(ctx, db.ListEndpointsToResealParams{
				After: after, Header: box.Header(), MaxRows: secret.ResealBatch,
			})
		},
		Key: func(row db.WebhookEndpoint) string { return row.ID },
		Replace: func(ctx context.Context, row db.WebhookEndpoint) error {
			current, err := box.ResealValue(row.Secret, sealContext(row.ID))
			if err != nil {
				return err
			}
			previous, err := box.ResealValue(row.PreviousSecret, sealContext(row.ID))
			if err != nil {
				return err
			}
			return q.ResealEndpoint(ctx, db.ResealEndpointParams{
				ID: row.ID, Secret: current, PreviousSecret: previous, SecretBefore: row.Secret, PreviousBefore: row.PreviousSecret,
			})
		},
	}.Run(ctx, progress)
}
