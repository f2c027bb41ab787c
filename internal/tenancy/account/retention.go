package account

import (
	"context"
	"errors"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// How long sign-up forms and password links are kept after they expired, so that
// their users read "expired" instead of "wrong". Expired invitations are deleted
// at once.
const (
	keepForms = time.Hour
	keepLinks = 30 * 24 * time.Hour
	// keepKeys is how long API keys are kept after they were revoked or expired.
	keepKeys = 30 * 24 * time.Hour
	// keepEnded is how long the hashes of revoked or expired keys are kept after that
	// time.
	keepEnded = 400 * 24 * time.Hour
)

// DeleteOld deletes sign-up forms, sign-up tries, password links, API keys,
// invitations and known networks that have expired, and API keys that were
// revoked.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.pool), s.now()
	return errors.Join(
		postgres.DeleteInBatches(ctx, "sign-up forms", func(maxRows int32) (int64, error) {
			return q.DeleteSignupFormsBefore(ctx, db.DeleteSignupFormsBeforeParams{Before: now.Add(-keepForms), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "sign-up tries", func(maxRows int32) (int64, error) {
			return q.DeleteSignupTriesBefore(ctx, db.DeleteSignupTriesBeforeParams{Before: now.Add(-keepForms), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "password links", func(maxRows int32) (int64, error) {
			return q.DeletePasswordLinksBefore(ctx, db.DeletePasswordLinksBeforeParams{Before: now.Add(-keepLinks), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "API keys", func(maxRows int32) (int64, error) {
			return q.DeleteAPIKeysBefore(ctx, db.DeleteAPIKeysBeforeParams{Before: now.Add(-keepKeys), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "ended API keys", func(maxRows int32) (int64, error) {
			return q.DeleteEndedAPIKeysBefore(ctx, db.DeleteEndedAPIKeysBeforeParams{Before: now.Add(-keepEnded), MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "invitations", func(maxRows int32) (int64, error) {
			return q.DeleteInvitationsBefore(ctx, db.DeleteInvitationsBeforeParams{Before: now, MaxRows: maxRows})
		}),
		postgres.DeleteInBatches(ctx, "known networks", func(maxRows int32) (int64, error) {
			return q.DeleteKnownNetworksBefore(ctx, db.DeleteKnownNetworksBeforeParams{Before: now.Add(-keepNetworks), MaxRows: maxRows})
		}),
	)
}
