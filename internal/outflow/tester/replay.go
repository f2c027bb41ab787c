package tester

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

const (
	// maxReplays is the maximum number of concurrent replays of a tenant.
	maxReplays = 10
	// keptBody is how much of an answer's body is returned, in bytes.
	keptBody = 4 << 10
	// keptFailure is the maximum length of a failure's text in bytes.
	keptFailure = 500
)

// Replay is the result of a replayed request.
type Replay struct {
	// Status is nil if there was no answer.
	Status  *int
	Headers []Header
	Body    []byte
	Took    time.Duration
	// Failure is why there was no complete answer; empty if there was one.
	Failure string
}

// ReplayCapture sends a captured request to a URL, once. If the URL can't be
// reached, that is a result with a Failure; a forbidden URL is refused with a
// problem.
func (s *Service) ReplayCapture(ctx context.Context, c tenancy.Caller, token, captureID, target string) (Replay, error) {
	if err := outbound.CheckURL("url", target); err != nil {
		return Replay{}, err
	}
	leave, ok := s.replays.enter(c.TenantID)
	if !ok {
		return Replay{}, problem.Limited(time.Second, "%d replays are under way; wait for one to end", maxReplays)
	}
	defer leave()
	captured, err := s.startReplay(ctx, c, token, captureID, target)
	if err != nil {
		return Replay{}, err
	}
	req, err := newReplay(ctx, captured, target)
	if err != nil {
		return Replay{}, err
	}
	start := s.config.Now()
	replay, err := s.send(req)
	replay.Took = s.config.Now().Sub(start)
	return replay, err
}

// startReplay reads the captured request and writes an audit entry for the replay.
func (s *Service) startReplay(ctx context.Context, c tenancy.Caller, token, captureID, target string) (Captured, error) {
	var captured Captured
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, err := q.GetCapture(ctx, db.GetCaptureParams{TenantID: c.TenantID, Token: token, ID: captureID, Since: s.since()})
		if err := found(err, "captured request"); err != nil {
			return err
		}
		if row.Method == http.MethodConnect {
			return problem.Conflicting("a CONNECT asks for a tunnel and can't be replayed")
		}
		if captured, err = newCaptured(row); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "capture.replay", Entity: "capture", EntityID: captureID,
			After: map[string]any{"url": target},
		})
	})
	return captured, err
}

// newReplay makes the captured request for the target.
func newReplay(ctx context.Context, c Captured, target string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, target, bytes.NewReader(c.Body))
	if err != nil {
		return nil, problem.BadField("url", "can't be called")
	}
	req.Header.Set("User-Agent", "") // prevents Go's default if the request had none
	connection := map[string]bool{}
	for _, h := range c.Headers {
		if h.Name == "Connection" {
			for name := range strings.SplitSeq(h.Value, ",") {
				connection[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
			}
		}
	}
	for _, h := range c.Headers {
		if connection[h.Name] || !travels(h.Name) {
			continue
		}
		value, err := h.raw()
		if err != nil {
			return nil, err
		}
		if h.Name == "User-Agent" {
			req.Header.Del(h.Name)
		}
		req.Header[h.Name] = append(req.Header[h.Name], value)
	}
	return req, nil
}

// travels reports whether a header belongs to the request itself, and not to its
// connection or to proxies on its way.
func travels(name string) bool {
	switch name {
	case "Host", "Content-Length", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Forwarded", "X-Real-Ip", "Via", "Http2-Settings":
		return false
	}
	return !strings.HasPrefix(name, "Proxy-") && !strings.HasPrefix(name, "X-Forwarded-")
}

func (s *Service) send(req *http.Request) (Replay, error) {
	replay := Replay{Headers: []Header{}}
	resp, err := s.config.Client.Do(req)
	switch {
	case errors.Is(err, outbound.ErrPrivate):
		return replay, problem.BadField("url", "%s", outbound.ErrPrivate)
	case err != nil && req.Context().Err() != nil:
		return replay, fmt.Errorf("replay: %w", req.Context().Err()) // the caller has disconnected
	case err != nil:
		replay.Failure = outbound.Text([]byte(outbound.Describe(err)), keptFailure)
		return replay, nil
	}
	defer resp.Body.Close()
	replay.Status, replay.Headers = &resp.StatusCode, headers(resp.Header)
	replay.Body, err = io.ReadAll(io.LimitReader(resp.Body, keptBody))
	if err != nil {
		replay.Failure = outbound.Text([]byte(outbound.Describe(err)), keptFailure)
	}
	return replay, nil
}

// counter counts the replays in progress by tenant. Tenants without one take no
// memory.
type counter struct {
	mu   sync.Mutex
	most int
	n    map[string]int
}

func newCounter(most int) *counter { return &counter{most: most, n: map[string]int{}} }

// enter counts one more replay, unless the tenant has the maximum. The caller must
// call leave once.
func (c *counter) enter(tenantID string) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[tenantID] >= c.most {
		return nil, false
	}
	c.n[tenantID]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.n[tenantID]--; c.n[tenantID] == 0 {
			delete(c.n, tenantID)
		}
	}, true
}
