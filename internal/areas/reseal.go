package areas

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/idempotency"
	"showfloor/internal/mail"
	"showfloor/internal/secret"
	"showfloor/internal/signing"
	"showfloor/internal/webhook"
)

// Sealed is a kind of rows with values that the master key has encrypted.
type Sealed struct {
	Name string
	// Reseal encrypts them with the box's first master key; see secret.Resealing.
	Reseal func(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error)
}

// AllSealed lists everything in the database that the master key has encrypted. A test
// holds it against the schema.
func AllSealed() []Sealed {
	return []Sealed{
		{"signing keys", signing.Reseal},
		{"webhook endpoints", webhook.Reseal},
		{"mails", mail.Reseal},
		{"idempotency keys", idempotency.Reseal},
	}
}
