package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"showfloor/internal/commerce/sandbox"
)

const (
	// clockEvery is how often the sandbox of another process is asked for its clock.
	clockEvery = time.Second
	// clockTimeout limits a request for it.
	clockTimeout = 5 * time.Second
	// clockTries is how often a server that starts asks for it without an answer. Then it begins with the real time.
	clockTries = 20
	// clockPause is the time between these.
	clockPause = 100 * time.Millisecond
)

// sandboxClock is the clock of a sandbox in another process. While the sandbox doesn't answer, it continues from the last answer.
type sandboxClock struct {
	client      *http.Client
	apiURL, key string
	now         func() time.Time
	log         *slog.Logger
	ahead       atomic.Int64 // nanoseconds
}

// followSandbox returns the time of the sandbox that PROCESSOR_URL names. Its subscriptions follow a clock that people can move forward.
func (s *server) followSandbox(ctx context.Context) (now func() time.Time) {
	c := &sandboxClock{
		client: &http.Client{Timeout: clockTimeout}, apiURL: s.config.ProcessorURL, key: s.config.ProcessorKey,
		now: s.clock.Now, log: s.log,
	}
	c.begin(ctx)
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { c.run(watching) })
	s.onStop("sandbox's clock", func(context.Context) error {
		stop()
		work.Wait()
		c.client.CloseIdleConnections()
		return nil
	})
	return c.time
}

func (c *sandboxClock) time() time.Time { return c.now().Add(time.Duration(c.ahead.Load())) }

// begin waits for the first answer, because a clock that begins in the past would go back.
func (c *sandboxClock) begin(ctx context.Context) {
	for range clockTries {
		if c.ask(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(clockPause):
		}
	}
	c.log.WarnContext(ctx, "the sandbox doesn't answer; subscriptions begin with the real time", "url", c.apiURL)
}

func (c *sandboxClock) run(ctx context.Context) {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.ask(ctx)
		}
	}
}

// ask reports whether there was an answer.
func (c *sandboxClock) ask(ctx context.Context) bool {
	ahead, err := sandbox.Ahead(ctx, c.client, c.apiURL, c.key)
	if err != nil {
		c.log.DebugContext(ctx, "the sandbox's clock is unknown; the last known one continues", "error", err)
		return false
	}
	c.ahead.Store(int64(ahead))
	return true
}
