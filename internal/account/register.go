package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/audit"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// Statuses of tenants and users that rules depend on.
const (
	TenantTrial     = "TRIAL"
	TenantActive    = "ACTIVE"
	TenantPastDue   = "PAST_DUE"
	TenantSuspended = "SUSPENDED"
	TenantCancelled = "CANCELLED"
	userInvited     = "INVITED"
	userActive      = "ACTIVE"
	userDeactivated = "DEACTIVATED"
)

// Login is a fresh token and whom it stands for.
type Login struct {
	Token     string
	ExpiresAt time.Time
	User      db.User
	Tenant    db.Tenant
}

// Registration is the sign-up form; the door has checked its lengths.
type Registration struct{ TenantName, Name, Email, Password string }

// Origin is where a request without a caller comes from, for the audit log.
type Origin struct{ IP, RequestID string }

// Register creates a tenant with its first user, an OWNER, and logs that user
// in. An e-mail that is taken is a conflict.
func (s *Service) Register(ctx context.Context, r Registration, from Origin) (Login, error) {
	hash, err := s.hasher.hash(ctx, r.Password)
	if err != nil {
		return Login{}, err
	}
	var l Login
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		var err error
		if l.Tenant, err = q.CreateTenant(ctx, db.CreateTenantParams{ID: id.New(id.Tenant), Name: r.TenantName, Now: now}); err != nil {
			return fmt.Errorf("create tenant: %w", err)
		}
		l.User, err = q.CreateUser(ctx, db.CreateUserParams{
			ID: id.New(id.User), TenantID: l.Tenant.ID, Email: CanonicalEmail(r.Email), Name: r.Name,
			PasswordHash: hash, Role: string(Owner), Now: now,
		})
		if postgres.IsUnique(err, "users_email_key") {
			return problem.New(problem.Conflict, "email_taken", "this e-mail address is taken; log in instead")
		}
		if err != nil {
			return fmt.Errorf("create user: %w", err)
		}
		l.User, err = q.RecordLogin(ctx, db.RecordLoginParams{TenantID: l.Tenant.ID, ID: l.User.ID, Now: &now})
		if err != nil {
			return fmt.Errorf("record login: %w", err)
		}
		return audit.Write(ctx, q, now, audit.Entry{
			Actor:    audit.Actor{Type: "user", ID: l.User.ID, IP: from.IP, RequestID: from.RequestID},
			TenantID: l.Tenant.ID, Action: "tenant.register", Entity: "tenant", EntityID: l.Tenant.ID,
			After: map[string]any{"name": l.Tenant.Name, "plan": l.Tenant.Plan},
		})
	})
	if err != nil {
		return Login{}, err
	}
	l.Token, l.ExpiresAt, err = s.issueToken(ctx, l.User)
	return l, err
}

// Login checks a user's password. A wrong password and an unknown e-mail can't
// be told apart, neither by the answer nor by its time.
func (s *Service) Login(ctx context.Context, email, password string) (Login, error) {
	q := db.New(s.pool)
	user, err := q.GetUserByEmail(ctx, CanonicalEmail(email))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Login{}, fmt.Errorf("get user: %w", err)
	}
	ok, err := s.hasher.matches(ctx, password, user.PasswordHash)
	if err != nil {
		return Login{}, err
	}
	if !ok || user.Status != userActive {
		return Login{}, problem.New(problem.Unauthenticated, "invalid_credentials", "e-mail or password is wrong")
	}
	tenant, err := q.GetTenant(ctx, user.TenantID)
	if err != nil {
		return Login{}, fmt.Errorf("get tenant: %w", err)
	}
	if err := CheckTenant(tenant.Status); err != nil {
		return Login{}, err
	}
	now := s.now()
	user, err = q.RecordLogin(ctx, db.RecordLoginParams{TenantID: user.TenantID, ID: user.ID, Now: &now})
	if err != nil {
		return Login{}, fmt.Errorf("record login: %w", err)
	}
	l := Login{User: user, Tenant: tenant}
	l.Token, l.ExpiresAt, err = s.issueToken(ctx, user)
	return l, err
}

// CanonicalEmail is the form in which addresses are kept and compared.
func CanonicalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
