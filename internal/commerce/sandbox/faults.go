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

// Request is a request that the API has received.
type Request struct {
	Method, Path string
	// Account is the header Stripe-Account, Key the header Idempotency-Key.
	Account, Key string
	Params       url.Values
}

// requestsKept limits the log of requests.
const requestsKept = 10000

// faults holds the planned faults and the log of requests.
type faults struct {
	mu       sync.Mutex
	down     bool
	delay    time.Duration
	plans    []plan
	requests []Request
	total    int
}

// plan is a fault for the next requests below a path, after a number of spared ones.
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

// met is the set of faults of one request.
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

// loseAnswer closes the connection in the middle of an answer. It sends a part of the
// answer, because clients repeat a request if the connection is closed without any byte.
func loseAnswer(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // an error makes no difference
	panic(http.ErrAbortHandler)
}

// Down makes the API close every connection without an answer, or serve again.
// Pages, controls and deliveries still work.
func (s *Server) Down(down bool) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.down = down
}

// LoseAnswers executes the next n requests below a path ("/v1/refunds"; "" for any)
// and loses their answers.
func (s *Server) LoseAnswers(n int, pathPrefix string) {
	s.faults.plan(plan{prefix: pathPrefix, left: n, lose: true})
}

// LoseAnswerBehind does the same as LoseAnswers for one request, after this many spared ones.
func (s *Server) LoseAnswerBehind(pathPrefix string, spared int) {
	s.faults.plan(plan{prefix: pathPrefix, spared: spared, left: 1, lose: true})
}

// Fail makes the next n requests below a path answer this status without doing
// anything. 429 is the processor's rate limit; other statuses have no JSON body,
// like those of a proxy.
func (s *Server) Fail(n int, pathPrefix string, status int) {
	s.faults.plan(plan{prefix: pathPrefix, left: n, status: status})
}

// FailBehind does the same as Fail for one request, after this many spared ones.
func (s *Server) FailBehind(pathPrefix string, spared, status int) {
	s.faults.plan(plan{prefix: pathPrefix, spared: spared, left: 1, status: status})
}

// Heal ends all planned faults that are left.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.plans = nil
}

// Block makes the next request below a path wait before it does anything. arrived
// receives a value once the request is there. resume lets it continue and may be
// called more than once.
func (s *Server) Block(pathPrefix string) (arrived <-chan struct{}, resume func()) {
	g := &gate{arrived: make(chan struct{}, 1), open: make(chan struct{})}
	s.faults.plan(plan{prefix: pathPrefix, left: 1, gate: g})
	return g.arrived, sync.OnceFunc(func() { close(g.open) })
}

// Delay makes every request wait for d before it does anything; 0 ends that.
func (s *Server) Delay(d time.Duration) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.delay = d
}

// Requests lists the requests to the API, oldest first, including those with faults.
func (s *Server) Requests() []Request {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return append([]Request(nil), s.faults.requests...)
}

// Count returns the number of requests with this method ("" for any) below a path.
func (s *Server) Count(method, pathPrefix string) int {
	n := 0
	for _, r := range s.Requests() {
		if (method == "" || r.Method == method) && strings.HasPrefix(r.Path, pathPrefix) {
			n++
		}
	}
	return n
}
