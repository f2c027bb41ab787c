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

// EndStrandedArgs is the periodic job that ends the broadcasts of dead nodes.
type EndStrandedArgs struct{}

// Kind names the job.
func (EndStrandedArgs) Kind() string { return "stream_end_stranded" }

type endStranded struct {
	river.WorkerDefaults[EndStrandedArgs]
	streams *stream.Service
}

// Work ends the broadcasts.
func (w *endStranded) Work(ctx context.Context, _ *river.Job[EndStrandedArgs]) error {
	return outcome(w.streams.EndStranded(ctx))
}
