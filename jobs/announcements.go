package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"showfloor/internal/console/announcement"
)

// mailAnnouncement mails a published announcement to its audience.
type mailAnnouncement struct {
	river.WorkerDefaults[announcement.MailArgs]
	announcements *announcement.Service
}

// Timeout is for thousands of tenants. A later attempt continues after the last tenant.
func (*mailAnnouncement) Timeout(*river.Job[announcement.MailArgs]) time.Duration {
	return 10 * time.Minute
}

// Work mails the tenants that are left.
func (w *mailAnnouncement) Work(ctx context.Context, job *river.Job[announcement.MailArgs]) error {
	return w.announcements.Mail(ctx, job.Args.AnnouncementID)
}
