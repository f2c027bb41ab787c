package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/signing"
)

// TokenLife is the life of an admin's token.
const TokenLife = 8 * time.Hour

// tokenType distinguishes admins' tokens from other kinds that the same keys sign.
const tokenType = "admin"

// claims of an admin's token.
type claims struct {
	Role    platform.Role `json:"role"`
	Version int32         `json:"ver"`
	Type    string        `json:"typ"`
	jwt.RegisteredClaims
}

// Login is a new token and its admin.
type Login struct {
	Token     string
	ExpiresAt time.Time
	Admin     db.Admin
}

func errCredentials() error {
	return problem.New(problem.Unauthenticated, "invalid_credentials", "e-mail or password is wrong")
}

// LoginAdmin checks an admin's password. Neither the answer nor its time shows
// whether the password is wrong or the e-mail address is unknown.
func (s *Service) LoginAdmin(ctx context.Context, email, password string, from tenancy.Origin) (Login, error) {
	admin, err := db.New(s.pool).GetAdminByEmail(ctx, account.CanonicalEmail(email))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Login{}, fmt.Errorf("get admin: %w", err)
	}
	ok, err := s.accounts.PasswordMatches(ctx, password, admin.PasswordHash)
	if err != nil {
		return Login{}, err
	}
	if !ok {
		return Login{}, errCredentials()
	}
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		row, err := q.RecordAdminLogin(ctx, db.RecordAdminLoginParams{ID: admin.ID, TokenVersion: admin.TokenVersion, Now: &now})
		if errors.Is(err, pgx.ErrNoRows) {
			return errCredentials() // the password was changed since it was checked
		}
		if err != nil {
			return fmt.Errorf("record admin login: %w", err)
		}
		admin = row
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor:  platform.Caller{AdminID: admin.ID, IP: from.IP, RequestID: from.RequestID}.Actor(),
			Action: "admin.login", Entity: "admin", EntityID: admin.ID,
		})
	})
	if err != nil {
		return Login{}, err
	}
	return s.issueToken(ctx, admin)
}

func (s *Service) issueToken(ctx context.Context, admin db.Admin) (Login, error) {
	now := s.now()
	l := Login{Admin: admin, ExpiresAt: now.Add(TokenLife)}
	var err error
	l.Token, err = s.keys.Sign(ctx, claims{
		Role: platform.Role(admin.Role), Version: admin.TokenVersion, Type: tokenType,
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: admin.ID, ID: id.New(id.Token),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(l.ExpiresAt),
		},
	})
	return l, err
}

// Authenticate returns the admin to whom this token belongs. It caches nothing, so
// every server refuses a revoked token at once; this is affordable because admins
// are few. handlers sets the caller's IP and RequestID.
func (s *Service) Authenticate(ctx context.Context, bearer string) (platform.Caller, error) {
	var c claims
	err := s.keys.Parse(ctx, bearer, &c)
	if err == nil && c.Type != tokenType {
		err = fmt.Errorf("%w: type %q", signing.ErrInvalid, c.Type)
	}
	if errors.Is(err, signing.ErrInvalid) {
		s.log.Debug("admin token refused", "error", err)
		return platform.Caller{}, account.ErrBadCredential()
	}
	if err != nil {
		return platform.Caller{}, err
	}
	admin, err := db.New(s.pool).GetAdmin(ctx, c.Subject)
	if errors.Is(err, pgx.ErrNoRows) {
		return platform.Caller{}, account.ErrBadCredential()
	}
	if err != nil {
		return platform.Caller{}, fmt.Errorf("get admin: %w", err)
	}
	if admin.TokenVersion != c.Version {
		return platform.Caller{}, problem.New(problem.Unauthenticated, "token_revoked", "this token was ended; log in again")
	}
	return platform.Caller{AdminID: admin.ID, Role: platform.Role(admin.Role)}, nil
}

// GetCurrentAdmin returns the admin who calls.
func (s *Service) GetCurrentAdmin(ctx context.Context, c platform.Caller) (db.Admin, error) {
	admin, err := db.New(s.pool).GetAdmin(ctx, c.AdminID)
	if errors.Is(err, pgx.ErrNoRows) {
		return admin, problem.Missing("admin")
	}
	if err != nil {
		return admin, fmt.Errorf("get admin: %w", err)
	}
	return admin, nil
}
