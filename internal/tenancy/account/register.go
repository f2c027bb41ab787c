package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/secondfactor"
)

// The statuses of users.
const (
	userInvited     = "INVITED"
	userActive      = "ACTIVE"
	userDeactivated = "DEACTIVATED"
)

// Login is a new token with its user and tenant.
type Login struct {
	Token     string
	ExpiresAt time.Time
	User      db.User
	Tenant    db.Tenant
	SignIn    db.SignIn
}

// Registration is the sign-up form; the handler has checked its lengths.
type Registration struct{ TenantName, Name, Email, Password string }

// Register creates a tenant with its first user, an OWNER, and logs the user in.
// If the e-mail is taken, the problem is a conflict.
func (s *Service) Register(ctx context.Context, r Registration, from tenancy.Origin) (Login, error) {
	if err := s.requireOpenSignup(ctx); err != nil {
		return Login{}, err
	}
	hash, err := s.hasher.hash(ctx, r.Password)
	if err != nil {
		return Login{}, err
	}
	var l Login
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		var err error
		l, err = s.createTenant(ctx, tx, founder{
			tenantName: r.TenantName, name: r.Name, email: CanonicalEmail(r.Email), passwordHash: hash,
		}, from)
		return err
	})
	if err != nil {
		return Login{}, err
	}
	return s.withToken(ctx, l)
}

// requireOpenSignup refuses new tenants while the platform accepts none.
func (s *Service) requireOpenSignup(ctx context.Context) error {
	if s.signupOpen == nil {
		return nil
	}
	open, err := s.signupOpen(ctx)
	if err == nil && !open {
		err = problem.New(problem.Forbidden, "signup_closed",
			"this platform accepts no new tenants at the moment; ask its operator for an invitation")
	}
	return err
}

// founder is the first user of a tenant.
type founder struct {
	tenantName, name, email, passwordHash string
	// verified: the founder has proved that the e-mail address is its own.
	verified bool
}

// createTenant creates a tenant and its OWNER. The caller issues the token after
// the commit.
func (s *Service) createTenant(ctx context.Context, tx pgx.Tx, f founder, from tenancy.Origin) (Login, error) {
	var l Login
	var err error
	q, now := db.New(tx), s.now()
	if l.Tenant, err = q.CreateTenant(ctx, db.CreateTenantParams{ID: id.New(id.Tenant), Name: f.tenantName, Now: now}); err != nil {
		return l, fmt.Errorf("create tenant: %w", err)
	}
	l.User, err = s.createUser(ctx, q, db.CreateUserParams{
		ID: id.New(id.User), TenantID: l.Tenant.ID, Email: f.email, Name: f.name,
		PasswordHash: f.passwordHash, Role: string(tenancy.Owner), Now: now,
	})
	if err != nil {
		return l, err
	}
	err = audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: from.User(l.User.ID), TenantID: l.Tenant.ID, Action: "tenant.register", Entity: "tenant", EntityID: l.Tenant.ID,
		After: map[string]any{"name": l.Tenant.Name, "plan": l.Tenant.Plan, "emailVerified": f.verified},
	})
	if err != nil {
		return l, err
	}
	if l.SignIn, err = s.BeginSignInTx(ctx, tx, l.User, from); err != nil || s.founding == nil {
		return l, err
	}
	if err := s.founding(ctx, tx, l.Tenant.ID); err != nil {
		return l, err
	}
	if l.Tenant, err = q.GetTenant(ctx, l.Tenant.ID); err != nil {
		return l, fmt.Errorf("get tenant: %w", err)
	}
	return l, nil
}

// CreateAppTenantTx creates the tenant of a first-party app: ACTIVE, on the plan ENTERPRISE, without users and without a subscription.
func (s *Service) CreateAppTenantTx(ctx context.Context, tx pgx.Tx, name string) (db.Tenant, error) {
	q, now := db.New(tx), s.now()
	tenant, err := q.CreateTenant(ctx, db.CreateTenantParams{ID: id.New(id.Tenant), Name: name, Now: now})
	if err != nil {
		return tenant, fmt.Errorf("create tenant: %w", err)
	}
	if err := q.SetTenantPlan(ctx, db.SetTenantPlanParams{ID: tenant.ID, Plan: "ENTERPRISE", Now: now}); err != nil {
		return tenant, fmt.Errorf("set tenant plan: %w", err)
	}
	if tenant, err = q.SetTenantStatus(ctx, db.SetTenantStatusParams{ID: tenant.ID, Status: tenancy.Active, Now: now}); err != nil {
		return tenant, fmt.Errorf("set tenant status: %w", err)
	}
	return tenant, nil
}

// createUser creates a user and records the first login. If another user has the
// e-mail, the problem is a conflict.
func (s *Service) createUser(ctx context.Context, q *db.Queries, p db.CreateUserParams) (db.User, error) {
	user, err := q.CreateUser(ctx, p)
	if postgres.IsUnique(err, emailIndex) {
		return user, errEmailTaken("log in instead")
	}
	if err != nil {
		return user, fmt.Errorf("create user: %w", err)
	}
	user, err = q.RecordLogin(ctx, db.RecordLoginParams{
		TenantID: user.TenantID, ID: user.ID, TokenVersion: user.TokenVersion, Now: &p.Now,
	})
	if err != nil {
		return user, fmt.Errorf("record login: %w", err)
	}
	return user, nil
}

// emailIndex keeps e-mails unique across all tenants.
const emailIndex = "users_email_key"

func errEmailTaken(advice string) error {
	return problem.Conflicting("this e-mail address is taken; %s", advice)
}

// Credentials are the input of a login. Proof is the code of the second factor; zero for none.
type Credentials struct {
	Email, Password string
	Proof           secondfactor.Proof
}

// Login checks a user's password, and the code if the user has a second factor. A wrong password and an unknown e-mail give the
// same answer, after the same time.
func (s *Service) Login(ctx context.Context, c Credentials, from tenancy.Origin) (Login, error) {
	if err := s.hasher.ready(); err != nil {
		return Login{}, err
	}
	q := db.New(s.pool)
	user, err := q.GetUserByEmail(ctx, CanonicalEmail(c.Email))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Login{}, fmt.Errorf("get user: %w", err)
	}
	ok, err := s.hasher.matches(ctx, c.Password, user.PasswordHash)
	if err != nil {
		return Login{}, err
	}
	if !ok || user.Status != userActive {
		return Login{}, errCredentials()
	}
	tenant, err := q.GetTenant(ctx, user.TenantID)
	if err != nil {
		return Login{}, fmt.Errorf("get tenant: %w", err)
	}
	if err := tenancy.CheckTenant(tenant.Status); err != nil {
		return Login{}, err
	}
	l := Login{User: user, Tenant: tenant}
	var refusal error
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		l.User = user
		verdict, err := s.factors.CheckTx(ctx, tx, user.ID, c.Proof)
		if refusal = verdict.LoginRefusal(); err != nil || refusal != nil {
			return errors.Join(err, s.mailLock(ctx, tx, user, verdict)) // the count of wrong codes commits
		}
		return s.recordLogin(ctx, tx, &l, from)
	})
	if err = errors.Join(err, refusal); err != nil {
		return Login{}, err
	}
	return s.withToken(ctx, l)
}

// recordLogin begins the login of a user whose credentials were right.
func (s *Service) recordLogin(ctx context.Context, tx pgx.Tx, l *Login, from tenancy.Origin) error {
	now := s.now()
	user, err := db.New(tx).RecordLogin(ctx, db.RecordLoginParams{
		TenantID: l.User.TenantID, ID: l.User.ID, TokenVersion: l.User.TokenVersion, Now: &now,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return errCredentials() // the password or the user changed since it was checked
	}
	if err != nil {
		return fmt.Errorf("record login: %w", err)
	}
	l.User = user
	l.SignIn, err = s.BeginSignInTx(ctx, tx, user, from)
	return err
}

func errCredentials() error {
	return problem.New(problem.Unauthenticated, "invalid_credentials", "e-mail or password is wrong")
}

// CanonicalEmail is the form in which addresses are stored and compared.
func CanonicalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }
