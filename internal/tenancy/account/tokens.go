package account

import (
	"context"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/signin"
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
	// SignIn is the login to which the token belongs. Tokens of earlier releases and of admins who impersonate have none.
	SignIn string `json:"sid,omitempty"`
	// Act is the admin who acts with the token (RFC 8693, section 4.1); nil for none.
	Act *actClaim `json:"act,omitempty"`
	// ReadOnly is set for an admin who impersonates a user of a suspended tenant.
	ReadOnly bool `json:"ro,omitempty"`
	jwt.RegisteredClaims
}

// actClaim is an admin with the login with which the admin made the token.
type actClaim struct {
	Subject string `json:"sub"`
	SignIn  string `json:"sid,omitempty"`
	Version int32  `json:"ver"`
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

// BeginSignInTx stores a login of a user whose row the caller's transaction has locked or just written. After the commit, IssueToken
// makes its token. Every login of a user begins here.
func (s *Service) BeginSignInTx(ctx context.Context, tx pgx.Tx, u db.User, from tenancy.Origin) (db.SignIn, error) {
	return s.signIns.BeginTx(ctx, tx, signin.Holder{ID: u.ID, TokenVersion: u.TokenVersion}, from, UserTokenLife)
}

// IssueToken makes the token of a user's login.
func (s *Service) IssueToken(ctx context.Context, u db.User, in db.SignIn) (token string, expiresAt time.Time, err error) {
	token, err = s.keys.Sign(ctx, claims{
		TenantID: u.TenantID, Role: tenancy.Role(u.Role), Version: u.TokenVersion, Type: tokenType, SignIn: in.ID,
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: u.ID, ID: in.ID,
			IssuedAt: jwt.NewNumericDate(in.CreatedAt), ExpiresAt: jwt.NewNumericDate(in.ExpiresAt),
		},
	})
	return token, in.ExpiresAt, err
}

// withToken adds the token of the login.
func (s *Service) withToken(ctx context.Context, l Login) (Login, error) {
	var err error
	l.Token, l.ExpiresAt, err = s.IssueToken(ctx, l.User, l.SignIn)
	return l, err
}
