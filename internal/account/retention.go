package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// How long what has expired is kept, to say that it has.
const (
	keepForms = time.Hour
	keepLinks = 30 * 24 * time.Hour
)

// deleteBatch is how many rows one statement deletes.
const deleteBatch = 5000

// DeleteOld deletes sign-up forms, links and what was tried with e-mails, once
// none of it counts. What it has deleted when it fails stays deleted.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.pool), s.now()
	return errors.Join(
		inBatches("sign-up forms", func() (int64, error) {
			return q.DeleteSignupFormsBefore(ctx, db.DeleteSignupFormsBeforeParams{Before: now.Add(-keepForms), MaxRows: deleteBatch})
		}),
		inBatches("sign-up tries", func() (int64, error) {
			return q.DeleteSignupTriesBefore(ctx, db.DeleteSignupTriesBeforeParams{Before: now.Add(-keepForms), MaxRows: deleteBatch})
		}),
		inBatches("user links", func() (int64, error) {
			return q.DeleteUserLinksBefore(ctx, db.DeleteUserLinksBeforeParams{Before: now.Add(-keepLinks), MaxRows: deleteBatch})
		}),
	)
}

// inBatches deletes until there are fewer than a batch.
func inBatches(what string, del func() (int64, error)) error {
	for {
		n, err := del()
		if err != nil {
			return fmt.Errorf("delete old %s: %w", what, err)
		}
		if n < deleteBatch {
			return nil
		}
	}
}
