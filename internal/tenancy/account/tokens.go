package account

import (
	"context"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/signing"
)

// tokenType distinguishes tenant tokens from other tokens signed with the same
// keys.
const tokenType = "tenant"

// claims of a tenant user's token.
type claims struct {
	TenantID string       `json:"tid"`
	Role     tenancy.Role `json:"role"`
	Version  int32        `json:"ver"`
	Type     string       `json:"typ"`
	jwt.RegisteredClaims
}

// parseToken verifies a tenant user's token.
func (s *Service) parseToken(ctx context.Context, token string) (claims, error) {
	var c claims
	if err := s.keys.Parse(ctx, token, &c); err != nil {
		return c, err
	}
	if c.Type != tokenType {
		return c, fmt.Errorf("%w: type %q", signing.ErrInvalid, c.Type)
	}
	return c, nil
}

// issueToken makes a user's token.
func (s *Service) issueToken(ctx context.Context, u db.User) (token string, expiresAt time.Time, err error) {
	now := s.now()
	expiresAt = now.Add(UserTokenLife)
	token, err = s.keys.Sign(ctx, claims{
		TenantID: u.TenantID, Role: tenancy.Role(u.Role), Version: u.TokenVersion, Type: tokenType,
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: u.ID, ID: id.New(id.Token),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expiresAt),
		},
	})
	return token, expiresAt, err
}
