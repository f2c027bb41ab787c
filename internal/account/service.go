// Package account holds tenants, their users and API keys, and the tokens that
// both call with.
package account

import (
	"cmp"
	"log/slog"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/mail"
	"showfloor/internal/quota"
	"showfloor/internal/signing"
)

// Lifetimes of tokens.
const (
	UserTokenLife = 12 * time.Hour
	// cacheLife bounds how long a revoked token or key goes on in other
	// processes; in this one it ends at once.
	cacheLife = time.Second
)

// Service holds the use cases. What an exported method changes, it changes in
// one transaction.
type Service struct {
	pool      *pgxpool.Pool
	now       func() time.Time
	log       *slog.Logger
	keys      *signing.Keys
	mails     *mail.Service
	jobs      mail.Inserter
	quotas    *quota.Service
	codeKeys  [][]byte
	publicURL string
	cache     *callerCache
	hasher    *hasher
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Keys sign and verify the tokens.
	Keys *signing.Keys
	// Mails sends codes and links; Jobs adds what finds out whom to send them to.
	Mails *mail.Service
	Jobs  mail.Inserter
	// Quotas keep tenants within the limits of their plans.
	Quotas *quota.Service
	// CodeKeys hash what is too guessable for a hash without a key: the first what is
	// new, each what is checked.
	CodeKeys [][]byte
	// PublicURL begins the links in mails; without a slash at the end.
	PublicURL string
	// PasswordMemory is what hashing one password takes, in KiB; 19 MiB when it is 0.
	// Tests take less, since each user that they make costs two hashes.
	PasswordMemory uint32
	Log            *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// New prepares the service.
func New(c Config) *Service {
	if len(c.CodeKeys) == 0 {
		c.CodeKeys = [][]byte{nil}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{
		pool: c.Pool, keys: c.Keys, now: c.Now, log: c.Log,
		mails: c.Mails, jobs: c.Jobs, quotas: c.Quotas, codeKeys: c.CodeKeys, publicURL: c.PublicURL,
		cache: newCallerCache(c.Now, cacheLife),
		// Half of the cores at most hash passwords, the rest goes on serving.
		hasher: newHasher(max(1, runtime.NumCPU()/2), cmp.Or(c.PasswordMemory, passwordMemory)),
	}
	s.hasher.dummy() // now, so that the first login takes no longer than others
	return s
}
