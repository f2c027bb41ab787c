// Package push queues pushes to users' devices. Areas add such jobs in the transaction of
// the change that they report. Sending is not part of this package.
package push

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
)

// Queue is the queue of pushes, apart from all else: providers are slow.
const Queue = "push"

// Priority is the urgency with which a device is woken.
type Priority string

const (
	// High wakes the device at once, as for a call.
	High Priority = "high"
	// Normal may wait until the device is awake.
	Normal Priority = "normal"
)

// Reason is the cause of a push.
type Reason string

// The reasons.
const (
	Ringing       Reason = "call.invite"
	Mention       Reason = "chat.mention"
	DirectMessage Reason = "chat.direct"
)

// Args is the job that pushes to all devices of one user.
type Args struct {
	TenantID string `json:"tenantId"`
	// ProjectID is the project whose credentials are used; nil for none.
	ProjectID *string `json:"projectId"`
	// UserID is the tenant's own id of the user.
	UserID string `json:"userId"`
	Reason Reason `json:"reason"`
	Title  string `json:"title,omitempty"`
	Body   string `json:"body,omitempty"`
	// Data is the device's app's; all values are texts.
	Data     map[string]string `json:"data"`
	Priority Priority          `json:"priority"`
	// ExpiresAt is the time after which the push is neither sent nor shown.
	ExpiresAt timestamp.Time `json:"expiresAt"`
}

// Kind names the job.
func (Args) Kind() string { return "push_send" }

// InsertOpts puts the job into the queue of the pushes.
func (Args) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: Queue} }

var _ river.JobArgs = Args{}

// Service keeps the queue clean.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// New makes the service.
func New(pool *pgxpool.Pool, now func() time.Time) *Service { return &Service{pool: pool, now: now} }

// DeleteOld deletes pushes that have expired and are not being sent.
func (s *Service) DeleteOld(ctx context.Context) error {
	return postgres.DeleteInBatches(ctx, "pushes", func(maxRows int32) (int64, error) {
		tag, err := s.pool.Exec(ctx, `
			DELETE FROM river_job WHERE id = ANY (ARRAY(
				SELECT id FROM river_job WHERE queue = $1 AND state IN ('available', 'pending', 'retryable', 'scheduled')
				AND (args ->> 'expiresAt')::timestamptz < $2 ORDER BY id LIMIT $3))`, Queue, s.now(), maxRows)
		if err != nil {
			return 0, fmt.Errorf("delete jobs: %w", err)
		}
		return tag.RowsAffected(), nil
	})
}
