package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/tenancy/signing"
)

// RotateKeysArgs is the periodic job that replaces old signing keys.
type RotateKeysArgs struct{}

// Kind names the job.
func (RotateKeysArgs) Kind() string { return "signing_rotate" }

type rotateKeys struct {
	river.WorkerDefaults[RotateKeysArgs]
	keys *signing.Keys
}

// Work rotates the keys if they are old enough.
func (w *rotateKeys) Work(ctx context.Context, _ *river.Job[RotateKeysArgs]) error {
	return outcome(w.keys.RotateDue(ctx))
}
