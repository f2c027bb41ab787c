package sandbox

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Request is a request that came to the API.
type Request struct {
	Method, Path string
	// Account is the header Stripe-Account, Key the header Idempotency-Key.
	Account, Key string
	Params       url.Values
}

// requestsKept bounds the log of requests.
const requestsKept = 10000

// faults are made on demand.
type faults struct {
	mu       sync.Mutex
	down     bool
	delay    time.Duration
	plans    []plan
	requests []Request
	total    int
}

// plan is what is to happen to the next requests below a path, behind some that are
// left alone.
type plan struct {
	prefix string
	spared int
	left   int
	status int
	lose   bool
	gate   *gate
}

type gate struct {
	arrived chan struct{}
	open    chan struct{}
}

// met is what happens to one request.
type met struct {
	down, lose bool
	status     int
}

func (f *faults) meet(ctx context.Context, r Request) met {
	f.mu.Lock()
	f.total++
	if f.requests = append(f.requests, r); len(f.requests) > 2*requestsKept {
		f.requests = append([]Request(nil), f.requests[requestsKept:]...)
	}
	m, delay := met{down: f.down}, f.delay
	var wait *gate
	for i := range f.plans {
		p := &f.plans[i]
		if p.left == 0 || !strings.HasPrefix(r.Path, p.prefix) {
			continue
		}
		if p.spared > 0 {
			p.spared--
			break
		}
		p.left--
		m.lose, m.status, wait = p.lose, p.status, p.gate
		break
	}
	f.mu.Unlock()
	if wait != nil {
		select {
		case wait.arrived <- struct{}{}:
		default:
		}
		select {
		case <-wait.open:
		case <-ctx.Done():
		}
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
	return m
}

func (f *faults) isDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

func (f *faults) plan(p plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plans = append(f.plans, p)
}

// loseAnswer cuts the connection in the middle of an answer. Part of it goes out:
// a connection that is closed without a word makes clients repeat the request.
func loseAnswer(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // it is lost either way
	panic(http.ErrAbortHandler)
}

// Down makes the API drop every connection, or serve again. Pages, controls and
// deliveries go on.
func (s *Server) Down(down bool) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.down = down
}

// LoseAnswers makes the next n requests below a path ("/v1/refunds"; "" for any)
// do their work and lose their answers.
func (s *Server) LoseAnswers(n int, pathPrefix string) {
	s.faults.plan(plan{prefix: pathPrefix, left: n, lose: true})
}

// Fail makes the next n requests below a path answer this status without doing
// anything. 429 is the processor's rate limit; other statuses come without a JSON
// body, as from a proxy.
func (s *Server) Fail(n int, pathPrefix string, status int) {
	s.faults.plan(plan{prefix: pathPrefix, left: n, status: status})
}

// FailBehind is Fail for one request, behind this many that are served.
func (s *Server) FailBehind(pathPrefix string, spared, status int) {
	s.faults.plan(plan{prefix: pathPrefix, spared: spared, left: 1, status: status})
}

// Block makes the next request below a path wait before it does anything.
// arrived gets a value once it is there; resume lets it go on and may be called
// more than once.
func (s *Server) Block(pathPrefix string) (arrived <-chan struct{}, resume func()) {
	g := &gate{arrived: make(chan struct{}, 1), open: make(chan struct{})}
	s.faults.plan(plan{prefix: pathPrefix, left: 1, gate: g})
	return g.arrived, sync.OnceFunc(func() { close(g.open) })
}

// Delay makes every request wait before it does anything; 0 ends that.
func (s *Server) Delay(d time.Duration) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.delay = d
}

// Requests lists the requests to the API, the oldest first, those with faults too.
func (s *Server) Requests() []Request {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return append([]Request(nil), s.faults.requests...)
}

// Count counts requests with this method ("" for any) below a path.
func (s *Server) Count(method, pathPrefix string) int {
	n := 0
	for _, r := range s.Requests() {
		if (method == "" || r.Method == method) && strings.HasPrefix(r.Path, pathPrefix) {
			n++
		}
	}
	return n
}
