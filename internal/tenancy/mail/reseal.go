package mail

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/secret"
)

// Reseal seals the waiting mails with the box's first master key; see
// secret.Resealing.
func Reseal(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error) {
	q := db.New(pool)
	return secret.Resealing[db.Mail]{
		Table: "mails",
		List: func(ctx context.Context, after string) ([]db.Mail, error) {
			return q.ListMailsToReseal(ctx, db.ListMailsToResealParams{After: after, Header: box.Header(), MaxRows: secret.ResealBatch})
		},
		Key: func(row db.Mail) string { return row.ID },
		Replace: func(ctx context.Context, row db.Mail) error {
			sealed, err := box.ResealValue(row.Content, sealContext(row.ID))
			if err != nil {
				return err
			}
			return q.ResealMail(ctx, db.ResealMailParams{ID: row.ID, Sealed: sealed, Before: row.Content})
		},
	}.Run(ctx, progress)
}
