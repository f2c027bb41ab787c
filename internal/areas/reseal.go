package areas

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/secret"
	"showfloor/internal/outflow/push"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/streams/restream"
	"showfloor/internal/tenancy/idempotency"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/secondfactor"
	"showfloor/internal/tenancy/signing"
)

// Sealed is a kind of rows with values that are encrypted with the master key.
type Sealed struct {
	Name string
	// Reseal encrypts the values with the box's first master key; see
	// secret.Resealing.
	Reseal func(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error)
}

// AllSealed lists all values in the database that are encrypted with the master key. A
// test compares it with the schema.
func AllSealed() []Sealed {
	return []Sealed{
		{"signing keys", signing.Reseal},
		{"webhook endpoints", webhook.Reseal},
		{"restream targets", restream.Reseal},
		{"push credentials", push.Reseal},
		{"mails", mail.Reseal},
		{"idempotency keys", idempotency.Reseal},
		{"second factors", secondfactor.Reseal},
	}
}
