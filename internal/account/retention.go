package account

import (
	"context"
	"errors"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
)

// How long what has expired is kept, to say that it has.
const (
	keepForms = time.Hour
	keepLinks = 30 * 24 * time.Hour
)

// DeleteOld deletes sign-up forms, links and what was tried with e-mails, once
// none of it counts.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.pool), s.now()
	return errors.Join(
		postgres.DeleteInBatches("sign-up forms", func(maxRows int32) (int64, error) {
			return q.DeleteSignupFormsBefore(ctx, db.DeleteSignupFormsBeforeParams{Before: now.Add(-keepForms), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches("sign-up tries", func(maxRows int32) (int64, error) {
			return q.DeleteSignupTriesBefore(ctx, db.DeleteSignupTriesBeforeParams{Before: now.Add(-keepForms), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches("user links", func(maxRows int32) (int64, error) {
			return q.DeleteUserLinksBefore(ctx, db.DeleteUserLinksBeforeParams{Before: now.Add(-keepLinks), MaxRows: maxRows})
		}),
	)
}
