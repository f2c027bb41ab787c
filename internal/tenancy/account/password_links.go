package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
)

// PasswordLinkLife is how long a link to set a new password is valid.
const PasswordLinkLife = time.Hour

// linkTokenLength is the number of random base62 characters in the token of a
// mailed link: 256 bits.
const linkTokenLength = 43

// putPasswordLink creates the user's link to set a new password and returns its
// token. An older link of the user becomes invalid.
func (s *Service) putPasswordLink(
	ctx context.Context, q *db.Queries, u db.User, requestID string, expires time.Time,
) (token string, err error) {
	token = secret.Text(linkTokenLength)
	err = q.PutPasswordLink(ctx, db.PutPasswordLinkParams{
		ID: id.New(id.PasswordLink), TenantID: u.TenantID, UserID: u.ID, TokenHash: hashToken(token),
		RequestID: requestID, ExpiresAt: expires, Now: s.now(),
	})
	if err != nil {
		return "", fmt.Errorf("put password link: %w", err)
	}
	return token, nil
}

// findPasswordLink returns the link of a token if it is valid now.
func (s *Service) findPasswordLink(ctx context.Context, token string) (db.PasswordLink, error) {
	row, err := db.New(s.pool).GetPasswordLinkByToken(ctx, hashToken(token))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (row.PasswordLink.UsedAt != nil || row.UserStatus != userActive) {
		return row.PasswordLink, errInvalidLink()
	}
	if err != nil {
		return row.PasswordLink, fmt.Errorf("get password link: %w", err)
	}
	return row.PasswordLink, checkLinkExpiry(row.PasswordLink.ExpiresAt, s.now())
}

// usePasswordLink locks the link's user and marks the link as used. Of several
// concurrent calls only one succeeds.
func (s *Service) usePasswordLink(ctx context.Context, q *db.Queries, l db.PasswordLink) (db.User, error) {
	user, err := q.LockUser(ctx, db.LockUserParams{TenantID: l.TenantID, ID: l.UserID})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && user.Status != userActive {
		return user, errInvalidLink() // removed or deactivated meanwhile
	}
	if err != nil {
		return user, fmt.Errorf("lock user: %w", err)
	}
	n, err := q.UsePasswordLink(ctx, db.UsePasswordLinkParams{TenantID: l.TenantID, TokenHash: l.TokenHash, Now: new(s.now())})
	if err != nil {
		return user, fmt.Errorf("use password link: %w", err)
	}
	if n == 0 {
		return user, errInvalidLink()
	}
	return user, nil
}

// checkLinkExpiry refuses a link or invitation that has expired.
func checkLinkExpiry(expires, now time.Time) error {
	if expires.After(now) {
		return nil
	}
	return problem.New(problem.Invalid, "link_expired", "this link has expired; ask for a new one")
}

func errInvalidLink() error {
	return problem.New(problem.Invalid, "invalid_link", "this link is wrong, was used, or was replaced by a newer one")
}

func hashToken(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}
