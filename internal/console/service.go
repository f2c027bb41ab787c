package console

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/restream"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/compliance"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/secondfactor"
	"showfloor/internal/tenancy/signin"
	"showfloor/internal/tenancy/signing"
	"showfloor/internal/tenancy/usage"
)

// Stopper ends a tenant's activities in its area, in the caller's transaction.
type Stopper interface {
	StopTenantTx(ctx context.Context, tx pgx.Tx, tenantID string) error
}

// Service holds the use cases. Each exported method makes all of its changes in
// one transaction.
type Service struct {
	pool       *pgxpool.Pool
	accounts   *account.Service
	streams    *stream.Service
	recordings *recording.Service
	restreams  *restream.Service
	stoppers   []Stopper
	quotas     *quota.Service
	usage      *usage.Service
	compliance *compliance.Service
	keys       *signing.Keys
	mails      *mail.Service
	signIns    *signin.Service
	factors    *secondfactor.Service
	now        func() time.Time
	log        *slog.Logger
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Accounts hashes passwords. Admins and tenants' users share its limit of
	// concurrent hashing.
	Accounts   *account.Service
	Streams    *stream.Service
	Recordings *recording.Service
	Restreams  *restream.Service
	// Stoppers are the areas that end a suspended tenant's activities.
	Stoppers []Stopper
	// Quotas has the plans, and Usage their allowances.
	Quotas *quota.Service
	Usage  *usage.Service
	// Compliance has the tenants' records.
	Compliance *compliance.Service
	// Keys sign and verify admins' tokens.
	Keys *signing.Keys
	// Mails sends admins notices about their second factor; nil for none.
	Mails *mail.Service
	// SignIns are the admins' logins, and SecondFactors the codes that logins need.
	SignIns       *signin.Service
	SecondFactors *secondfactor.Service
	Log           *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{
		pool: c.Pool, accounts: c.Accounts, streams: c.Streams, recordings: c.Recordings, restreams: c.Restreams,
		stoppers: c.Stoppers, quotas: c.Quotas, usage: c.Usage, compliance: c.Compliance,
		keys: c.Keys, mails: c.Mails, signIns: c.SignIns, factors: c.SecondFactors, now: c.Now, log: c.Log,
	}
}
