package push

import (
	"github.com/riverqueue/river"

	"showfloor/internal/base/timestamp"
)

// The queues of pushes. Each has workers of its own, so that calls wait for nothing else.
const (
	// Queue has the pushes of calls.
	Queue = "push"
	// MessageQueue has those of chat messages.
	MessageQueue = "push_messages"
	// NotifyQueue has the batches of notifications to many users.
	NotifyQueue = "push_notify"
)

// Queues returns the number of workers of each queue.
func (*Service) Queues() map[string]int {
	return map[string]int{Queue: 32, MessageQueue: 16, NotifyQueue: notifyWorkers}
}

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
	Ringing Reason = "call.invite"
	// RingingOver withdraws a ringing push, because the callee has answered or declined. CallMissed also shows that there was a call.
	RingingOver   Reason = "call.cancel"
	CallMissed    Reason = "call.missed"
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
	// MessageID is the chat message; a repeated push of it replaces the first one on the device.
	MessageID string `json:"messageId,omitempty"`

	// Tries is the number of runs after which devices were still waiting, and Waiting are those. The job writes both itself.
	Tries   int     `json:"tries,omitempty"`
	Waiting []int64 `json:"waiting,omitempty"`
}

// Kind names the job.
func (Args) Kind() string { return "push_send" }

// InsertOpts selects the queue.
func (a Args) InsertOpts() river.InsertOpts {
	if a.isCall() {
		return river.InsertOpts{Queue: Queue}
	}
	return river.InsertOpts{Queue: MessageQueue}
}

func (a Args) isCall() bool { return a.Reason == Ringing || a.withdraws() }

// withdraws reports whether the push ends the ringing.
func (a Args) withdraws() bool { return a.Reason == RingingOver || a.Reason == CallMissed }

// BatchArgs is the job that sends one batch of a notification.
type BatchArgs struct {
	TenantID string `json:"tenantId"`
	BatchID  int64  `json:"batchId"`
}

// Kind names the job.
func (BatchArgs) Kind() string { return "push_send_batch" }

// batchAttempts is more than the number of failures of this server, a minute apart, within the life of a notification.
const batchAttempts = 2000

// InsertOpts selects the queue.
func (BatchArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: NotifyQueue, MaxAttempts: batchAttempts}
}

var (
	_ river.JobArgs = Args{}
	_ river.JobArgs = BatchArgs{}
)
