// Package support has the tickets: tenants ask the platform's support, and admins answer.
package support

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/mail"
)

// Settings are the platform's settings that tickets use.
type Settings interface {
	// TicketMails reports whether tickets are mailed, and the address of the support, which may be empty.
	TicketMails(ctx context.Context) (on bool, supportAddress string, err error)
}

// Config of a Service.
type Config struct {
	Pool     *pgxpool.Pool
	Events   *event.Log
	Mails    *mail.Service
	Accounts *account.Service
	Settings Settings
	Files    Files
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
