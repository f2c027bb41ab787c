package stream

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/timestamp"
)

// Show holds what viewers' pages need to know of a stream beside its broadcasts.
type Show struct {
	// ScheduledAt is when the show is planned to start; nil if that isn't known.
	ScheduledAt *time.Time
	// PosterURL is the picture while there is no video; nil for none.
	PosterURL *string
	// ProductIDs are the products on the shelf, in their order; nil for the newest active ones.
	ProductIDs []string
	// PublicReplay reports whether the stream's recordings can be watched without a token; nil for those with products.
	PublicReplay *bool
}

// Products checks the products of shows.
type Products interface {
	// CheckProductsTx returns the problem not_found unless all products are the tenant's.
	CheckProductsTx(ctx context.Context, tx pgx.Tx, tenantID string, ids []string) error
}

// ShowOf returns the values of a stream's row.
func ShowOf(row db.Stream) Show {
	return Show{ScheduledAt: row.ScheduledAt, PosterURL: row.PosterURL, ProductIDs: row.ProductIds, PublicReplay: row.PublicReplay}
}

// normalized rounds the plan to the milliseconds that the API shows, and removes repeated products.
func (s Show) normalized() Show {
	if s.ScheduledAt != nil {
		s.ScheduledAt = new(s.ScheduledAt.Truncate(time.Millisecond))
	}
	if s.ProductIDs != nil {
		ids := make([]string, 0, len(s.ProductIDs))
		for _, id := range s.ProductIDs {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		s.ProductIDs = ids
	}
	return s
}

// equal compares two shows.
func (s Show) equal(o Show) bool {
	return equal(s.ScheduledAt, o.ScheduledAt, time.Time.Equal) && same(s.PosterURL, o.PosterURL) && same(s.PublicReplay, o.PublicReplay) &&
		(s.ProductIDs == nil) == (o.ProductIDs == nil) && slices.Equal(s.ProductIDs, o.ProductIDs)
}

// audited is a show in the audit log.
func (s Show) audited() map[string]any {
	return map[string]any{
		"scheduledAt": timestamp.Optional(s.ScheduledAt), "posterUrl": s.PosterURL,
		"productIds": s.ProductIDs, "publicReplay": s.PublicReplay,
	}
}

func same[T comparable](a, b *T) bool {
	return equal(a, b, func(a, b T) bool { return a == b })
}

func equal[T any](a, b *T, eq func(a, b T) bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return eq(*a, *b)
}
