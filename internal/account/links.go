package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/problem"
	"showfloor/internal/secret"
)

// Purposes of links, and how long each counts.
const (
	purposeInvite = "invite"
	purposeReset  = "reset"

	// InviteLife is how long an invitation can be accepted.
	InviteLife = 7 * 24 * time.Hour
	// ResetLife is how long a link to set a new password counts.
	ResetLife = time.Hour
)

// linkTokenLength is the number of random base62 characters of a token: 256 bits.
const linkTokenLength = 43

// putLink makes the user's one link for a purpose; one that was made before ends.
func (s *Service) putLink(
	ctx context.Context, q *db.Queries, u db.User, purpose, requestID string, expires time.Time,
) (token string, err error) {
	token = secret.Text(linkTokenLength)
	err = q.PutUserLink(ctx, db.PutUserLinkParams{
		ID: id.New(id.UserLink), TenantID: u.TenantID, UserID: u.ID, Purpose: purpose, TokenHash: hashToken(token),
		RequestID: requestID, ExpiresAt: expires, Now: s.now(),
	})
	if err != nil {
		return "", fmt.Errorf("put user link: %w", err)
	}
	return token, nil
}

// findLink finds what a token stands for, and refuses one that doesn't count.
func (s *Service) findLink(ctx context.Context, token, purpose, userStatus string) (db.GetUserLinkByTokenRow, error) {
	row, err := db.New(s.pool).GetUserLinkByToken(ctx, db.GetUserLinkByTokenParams{TokenHash: hashToken(token), Purpose: purpose})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, errInvalidLink()
	}
	if err != nil {
		return row, fmt.Errorf("get user link: %w", err)
	}
	return row, checkLink(row.UserLink, row.UserStatus == userStatus, s.now())
}

// checkLink tells whether a link counts; the user must be as its purpose wants.
func checkLink(l db.UserLink, fits bool, now time.Time) error {
	switch {
	case l.UsedAt != nil || !fits:
		return errInvalidLink()
	case !l.ExpiresAt.After(now):
		return problem.New(problem.Invalid, "link_expired", "this link has expired; ask for a new one")
	}
	return nil
}

func errInvalidLink() error {
	return problem.New(problem.Invalid, "invalid_link", "this link is wrong, was used, or was replaced by a newer one")
}

// useLink locks the link's user and marks the link as used: once, however many
// try at the same time.
func (s *Service) useLink(ctx context.Context, q *db.Queries, l db.UserLink, userStatus string) (db.User, error) {
	user, err := q.LockUser(ctx, db.LockUserParams{TenantID: l.TenantID, ID: l.UserID})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && user.Status != userStatus {
		return user, errInvalidLink() // removed or changed meanwhile
	}
	if err != nil {
		return user, fmt.Errorf("lock user: %w", err)
	}
	n, err := q.UseUserLink(ctx, db.UseUserLinkParams{TenantID: l.TenantID, TokenHash: l.TokenHash, Now: new(s.now())})
	if err != nil {
		return user, fmt.Errorf("use link: %w", err)
	}
	if n == 0 {
		return user, errInvalidLink()
	}
	return user, nil
}

func hashToken(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}
