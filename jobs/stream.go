package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/streams/stream"
)

// expireReconnect ends a broadcast whose encoder didn't reconnect in time.
type expireReconnect struct {
	river.WorkerDefaults[stream.ExpireReconnectArgs]
	streams *stream.Service
	clock
}

// Work ends the broadcast, or snoozes until the window ends.
func (w *expireReconnect) Work(ctx context.Context, job *river.Job[stream.ExpireReconnectArgs]) error {
	return w.until(w.streams.ExpireReconnect(ctx, job.Args.StreamID))
}
