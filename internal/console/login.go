package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/signin"
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
	// SignIn is the login to which the token belongs; tokens of earlier releases have none.
	SignIn string `json:"sid,omitempty"`
	jwt.RegisteredClaims
}

// Login is a new token and its admin.
type Login struct {
	Token     string
	ExpiresAt time.Time
	Admin     db.Admin
	SignIn    db.SignIn
}

func errCredentials() error {
	return problem.New(problem.Unauthenticated, "invalid_credentials", "e-mail or password is wrong")
}

// LoginAdmin checks an admin's password, and the code if the admin has a second factor. Neither the answer nor its time shows
// whether the password is wrong or the e-mail address is unknown.
func (s *Service) LoginAdmin(ctx context.Context, c account.Credentials, from tenancy.Origin) (Login, error) {
	admin, err := db.New(s.pool).GetAdminByEmail(ctx, account.CanonicalEmail(c.Email))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Login{}, fmt.Errorf("get admin: %w", err)
	}
	ok, err := s.accounts.PasswordMatches(ctx, c.Password, admin.PasswordHash)
	if err != nil {
		return Login{}, err
	}
	if !ok {
		return Login{}, errCredentials()
	}
	l := Login{}
	var refusal error
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		verdict, err := s.factors.CheckTx(ctx, tx, admin.ID, c.Proof)
		if refusal = verdict.LoginRefusal(); err != nil || refusal != nil {
			return errors.Join(err, s.mailLock(ctx, tx, admin, verdict)) // the count of wrong codes commits
		}
		row, err := q.RecordAdminLogin(ctx, db.RecordAdminLoginParams{ID: admin.ID, TokenVersion: admin.TokenVersion, Now: &now})
		if errors.Is(err, pgx.ErrNoRows) {
			return errCredentials() // the password was changed since it was checked
		}
		if err != nil {
			return fmt.Errorf("record admin login: %w", err)
		}
		l.Admin = row
		if l.SignIn, err = s.BeginSignInTx(ctx, tx, row, from); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor:  platform.Caller{AdminID: admin.ID, IP: from.IP, RequestID: from.RequestID}.Actor(),
			Action: "admin.login", Entity: "admin", EntityID: admin.ID,
		})
	})
	if err = errors.Join(err, refusal); err != nil {
		return Login{}, err
	}
	l.Token, l.ExpiresAt, err = s.IssueToken(ctx, l.Admin, l.SignIn)
	return l, err
}

// BeginSignInTx stores a login of an admin whose row the caller's transaction has locked or just written. After the commit, IssueToken
// makes its token. Every login of an admin begins here.
func (s *Service) BeginSignInTx(ctx context.Context, tx pgx.Tx, admin db.Admin, from tenancy.Origin) (db.SignIn, error) {
	return s.signIns.BeginTx(ctx, tx, signin.Holder{ID: admin.ID, TokenVersion: admin.TokenVersion}, from, TokenLife)
}

// IssueToken makes the token of an admin's login.
func (s *Service) IssueToken(ctx context.Context, admin db.Admin, in db.SignIn) (token string, expiresAt time.Time, err error) {
	token, err = s.keys.Sign(ctx, claims{
		Role: platform.Role(admin.Role), Version: admin.TokenVersion, Type: tokenType, SignIn: in.ID,
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: admin.ID, ID: in.ID,
			IssuedAt: jwt.NewNumericDate(in.CreatedAt), ExpiresAt: jwt.NewNumericDate(in.ExpiresAt),
		},
	})
	return token, in.ExpiresAt, err
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
	return s.checkLogin(ctx, c.Subject, c.SignIn, c.Version)
}

// checkLogin returns the admin of a login that has not ended.
func (s *Service) checkLogin(ctx context.Context, adminID, signInID string, version int32) (platform.Caller, error) {
	row, err := db.New(s.pool).GetAdminForToken(ctx, db.GetAdminForTokenParams{ID: adminID, SignInID: signInID})
	if errors.Is(err, pgx.ErrNoRows) {
		return platform.Caller{}, account.ErrBadCredential()
	}
	if err != nil {
		return platform.Caller{}, fmt.Errorf("get admin: %w", err)
	}
	if row.TokenVersion != version || signInID != "" && row.LastSeenAt == nil {
		return platform.Caller{}, problem.New(problem.Unauthenticated, "token_revoked", "this token was ended; log in again")
	}
	if row.LastSeenAt != nil {
		s.signIns.Seen(ctx, signInID, *row.LastSeenAt)
	}
	return platform.Caller{
		AdminID: adminID, Email: row.Email, Role: platform.Role(row.Role), SignInID: signInID, TokenVersion: version,
	}, nil
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
