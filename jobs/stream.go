package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/stream"
)

// expireReconnect ends a broadcast whose encoder stayed away.
type expireReconnect struct {
	river.WorkerDefaults[stream.ExpireReconnectArgs]
	streams *stream.Service
}

// Work ends the broadcast, or waits on.
func (w *expireReconnect) Work(ctx context.Context, job *river.Job[stream.ExpireReconnectArgs]) error {
	return until(w.streams.ExpireReconnect(ctx, job.Args.StreamID))
}
