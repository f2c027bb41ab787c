// Package account holds tenants, their users and API keys, and the tokens of their
// users.
package account

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/queue"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/passwordhash"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/secondfactor"
	"showfloor/internal/tenancy/signin"
	"showfloor/internal/tenancy/signing"
)

// Lifetimes of tokens.
const (
	UserTokenLife = 12 * time.Hour
	// cacheLife bounds how long a revoked token or key stays valid in other processes;
	// in this one it ends at once.
	cacheLife = time.Second
)

// Service holds the use cases. An exported method makes all its changes in one
// transaction.
type Service struct {
	pool      *pgxpool.Pool
	now       func() time.Time
	log       *slog.Logger
	keys      *signing.Keys
	mails     *mail.Service
	jobs      queue.Inserter
	quotas    *quota.Service
	codeKeys  [][]byte
	publicURL string
	cache     *callerCache
	hasher    *hasher
	signIns   *signin.Service
	factors   *secondfactor.Service
	// impersonators checks the admins who impersonate users; nil before the console is open.
	impersonators Impersonators
	// signupOpen may be nil.
	signupOpen func(ctx context.Context) (bool, error)
	// founding runs in the transaction that creates a tenant.
	founding func(ctx context.Context, tx pgx.Tx, tenantID string) error
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Keys signs and verifies the tokens.
	Keys *signing.Keys
	// Mails sends codes and links. Jobs adds the jobs that look up their recipients.
	Mails *mail.Service
	Jobs  queue.Inserter
	// Quotas enforces the limits of tenants' plans.
	Quotas *quota.Service
	// CodeKeys are keys for hashes of guessable values, such as codes. The first
	// hashes new values; all are tried when a value is checked.
	CodeKeys [][]byte
	// SignIns are the users' logins, and SecondFactors the codes that logins need.
	SignIns       *signin.Service
	SecondFactors *secondfactor.Service
	// SignupOpen reports whether new tenants can sign up; nil means always.
	SignupOpen func(ctx context.Context) (bool, error)
	// PublicURL is the beginning of links in mails, without a slash at the end.
	PublicURL string
	// PasswordMemory is the memory for hashing one password in KiB; 0 means 19 MiB.
	// Tests use less, because each of their users costs two hashes.
	PasswordMemory uint32
	// PasswordCommand is the program that hashes passwords (passwordhash.Serve), with its arguments. Without
	// it, they are hashed in this process.
	PasswordCommand []string
	Log             *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// New makes the service.
func New(c Config) *Service {
	if len(c.CodeKeys) == 0 {
		c.CodeKeys = [][]byte{nil}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{
		pool: c.Pool, keys: c.Keys, now: c.Now, log: c.Log,
		mails: c.Mails, jobs: c.Jobs, quotas: c.Quotas, signupOpen: c.SignupOpen, codeKeys: c.CodeKeys, publicURL: c.PublicURL,
		cache: newCallerCache(c.Now, cacheLife), signIns: c.SignIns, factors: c.SecondFactors,
	}
	// At most half of the cores that this process may use hash passwords; the others keep serving requests.
	workers := make([]*passwordhash.Worker, max(1, runtime.GOMAXPROCS(0)/2))
	for i := range workers {
		workers[i] = passwordhash.NewWorker(c.PasswordCommand, c.Log)
	}
	s.hasher = newHasher(cmp.Or(c.PasswordMemory, passwordhash.StandardMemory), workers...)
	s.hasher.dummy() // computed now, so that the first login isn't slower than others
	return s
}

// OnFounding sets the function that runs in the transaction that creates a tenant, after its first user was created. Call it before
// the first sign-up.
func (s *Service) OnFounding(do func(ctx context.Context, tx pgx.Tx, tenantID string) error) {
	s.founding = do
}
