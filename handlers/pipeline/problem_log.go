package pipeline

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"showfloor/gen/api"
	"showfloor/internal/base/postgres"
)

const (
	// warningPause is the least time between two warnings about one cause.
	warningPause = time.Minute
	// maxCauses limits the causes that are remembered. There are about ten.
	maxCauses = 100
)

// failureLog logs requests that the server failed to carry out. A 500 is a bug of
// ours and logged as an error each time. A 503 means that the database, the
// processor or another part is away, which concerns every request until it is back:
// it is logged as a warning once a minute for each cause. A 501 is not a failure.
type failureLog struct {
	log *slog.Logger

	mu     sync.Mutex
	causes map[string]*warned
}

// warned holds when a cause was last logged and how many requests it has failed
// since.
type warned struct {
	at    time.Time
	since int
}

func newFailureLog(log *slog.Logger) *failureLog {
	return &failureLog{log: log, causes: map[string]*warned{}}
}

// failed logs the failure of a request. body is the request's answer.
func (f *failureLog) failed(ctx context.Context, err error, body api.Problem, route string) {
	switch {
	case body.Status < http.StatusInternalServerError, body.Status == http.StatusNotImplemented:
	case body.Status == http.StatusServiceUnavailable:
		if n, first := f.count(body.Code + " " + postgres.Cause(err)); first {
			f.log.WarnContext(ctx, "requests are answered with 503", "code", body.Code, "error", err, "requests", n,
				"requestId", body.RequestID, "route", route)
		}
	default:
		f.log.ErrorContext(ctx, "request failed", "error", err, "requestId", body.RequestID, "route", route)
	}
}

// count adds a request that failed because of cause. due reports whether a warning
// is to be logged now; requests is the number of failures since the last one.
func (f *failureLog) count(cause string) (requests int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.causes[cause]
	if w == nil {
		if len(f.causes) >= maxCauses {
			clear(f.causes)
		}
		w = &warned{}
		f.causes[cause] = w
	}
	w.since++
	if time.Since(w.at) < warningPause {
		return 0, false
	}
	requests, *w = w.since, warned{at: time.Now()}
	return requests, true
}
