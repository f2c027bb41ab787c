// Package announcement has the news that admins write for tenants.
package announcement

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/internal/base/queue"
	"showfloor/internal/tenancy/account"
)

// Config of a Service.
type Config struct {
	Pool     *pgxpool.Pool
	Jobs     queue.Inserter
	Accounts *account.Service
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. Each exported method makes all of its changes in one transaction.
type Service struct{ config Config }

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// MailArgs is the job that mails a published announcement.
type MailArgs struct {
	AnnouncementID string `json:"announcementId" river:"unique"`
}

// Kind names the job.
func (MailArgs) Kind() string { return "announcement_mail" }

// InsertOpts ensures that an announcement has only one unfinished job.
func (MailArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: queue.Unfinished()}
}
