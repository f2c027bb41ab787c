package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"showfloor/internal/tenancy/passwordhash"
)

// hasher hashes passwords. One hash is expensive on purpose, so only a few run at
// a time: during a flood of logins the others wait here, and other requests keep
// their CPU time.
type hasher struct {
	memory uint32
	// slots has an element for each idle worker.
	slots chan struct{}
	mu    sync.Mutex // protects idle
	// idle holds the idle workers, the one used last at the end. It is used first: so
	// the processes of the others end when fewer are needed.
	idle []*passwordhash.Worker
	// queue bounds the time for which logins wait.
	queue loginQueue
	// dummy returns a hash for comparisons without a user, so that an unknown e-mail
	// takes as long as a wrong password.
	dummy func() string
}

// newHasher makes a hasher with workers that compute one hash at a time each, with
// memory KiB.
func newHasher(memory uint32, workers ...*passwordhash.Worker) *hasher {
	h := &hasher{
		memory: memory, slots: make(chan struct{}, len(workers)),
		queue: loginQueue{workers: len(workers), average: firstAverage},
	}
	for _, w := range workers {
		h.release(w)
	}
	h.dummy = sync.OnceValue(func() string {
		hash, err := passwordhash.NewWorker(nil, nil).Create("no user has this password", memory)
		if err != nil {
			panic(fmt.Sprintf("hash: %v", err)) // the system's random source has failed
		}
		return hash
	})
	return h
}

func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	hash, err := onWorker(ctx, h, func(w *passwordhash.Worker) (string, error) { return w.Create(password, h.memory) })
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return hash, nil
}

// matches compares in constant time. An empty hash never matches but takes the
// same time.
func (h *hasher) matches(ctx context.Context, password, hash string) (bool, error) {
	known := hash != ""
	if !known {
		hash = h.dummy()
	}
	ok, err := onWorker(ctx, h, func(w *passwordhash.Worker) (bool, error) { return w.Matches(password, hash) })
	if err != nil {
		return false, fmt.Errorf("compare password: %w", err)
	}
	return ok && known, nil
}

// onWorker waits for an idle worker and returns what compute returns with it. If ctx
// ends, onWorker returns its error at once, and the worker is idle again when compute
// has returned.
func onWorker[T any](ctx context.Context, h *hasher, compute func(*passwordhash.Worker) (T, error)) (T, error) {
	var none T
	w, err := h.acquire(ctx)
	if err != nil {
		return none, err
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		start := time.Now()
		value, err := compute(w)
		h.queue.observe(time.Since(start))
		h.release(w)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		return none, fmt.Errorf("wait for a hash: %w", ctx.Err())
	}
}

// HashPassword returns the hash to store for a password. If too many logins wait,
// the problem says when to retry.
func (s *Service) HashPassword(ctx context.Context, password string) (string, error) {
	return s.hasher.hash(ctx, password)
}

// PasswordMatches compares in constant time. An empty hash, for a user who doesn't
// exist, never matches but takes the same time.
func (s *Service) PasswordMatches(ctx context.Context, password, hash string) (bool, error) {
	return s.hasher.matches(ctx, password, hash)
}

// ready refuses a login early that acquire would refuse, so that a flood of logins costs as
// little as possible.
func (h *hasher) ready() error { return h.queue.ready() }

// acquire waits for an idle worker. Call release when it has computed.
func (h *hasher) acquire(ctx context.Context) (*passwordhash.Worker, error) {
	if err := h.queue.join(); err != nil {
		return nil, err
	}
	defer h.queue.leave()
	select {
	case <-h.slots:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a hashing slot: %w", ctx.Err())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.idle) - 1
	w := h.idle[last]
	h.idle = h.idle[:last]
	return w, nil
}

func (h *hasher) release(w *passwordhash.Worker) {
	h.mu.Lock()
	h.idle = append(h.idle, w)
	h.mu.Unlock()
	h.slots <- struct{}{}
}
