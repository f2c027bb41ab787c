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

// disconnect closes a publisher's connection on an SRS server.
type disconnect struct {
	river.WorkerDefaults[stream.DisconnectArgs]
	streams *stream.Service
}

// Work closes the connection. A server that can't be reached is tried again.
func (w *disconnect) Work(ctx context.Context, job *river.Job[stream.DisconnectArgs]) error {
	return w.streams.Disconnect(ctx, job.Args.PublisherID)
}
