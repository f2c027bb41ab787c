package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/passwordhash"
)

// hasher hashes passwords. One hash is expensive on purpose, so only a few run at
// a time: during a flood of logins the others wait here, and other requests keep
// their CPU time.
type hasher struct {
	memory uint32
	// slots are the idle workers.
	slots chan *passwordhash.Worker
	// waiting bounds the queue. Logins above its limit are refused with a retry time,
	// so that they don't slow down all others.
	waiting chan struct{}
	// dummy returns a hash for comparisons without a user, so that an unknown e-mail
	// takes as long as a wrong password.
	dummy func() string
}

// maxWaiting is how many logins may wait for a slot; hashing them takes about 1 s.
const maxWaiting = 32

// newHasher makes a hasher with workers that compute one hash at a time each, with
// memory KiB.
func newHasher(memory uint32, workers ...*passwordhash.Worker) *hasher {
	h := &hasher{
		memory: memory, slots: make(chan *passwordhash.Worker, len(workers)), waiting: make(chan struct{}, maxWaiting),
	}
	for _, w := range workers {
		h.slots <- w
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
	w, err := h.enter(ctx)
	if err != nil {
		return "", err
	}
	defer h.leave(w)
	hash, err := w.Create(password, h.memory)
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
	w, err := h.enter(ctx)
	if err != nil {
		return false, err
	}
	defer h.leave(w)
	ok, err := w.Matches(password, hash)
	if err != nil {
		return false, fmt.Errorf("compare password: %w", err)
	}
	return ok && known, nil
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

func errTooManyLogins() error {
	return problem.Limited(time.Second, "too many logins at the moment; try again in a second")
}

// ready refuses a login early that enter would refuse, so that a flood of logins costs as
// little as possible.
func (h *hasher) ready() error {
	if len(h.waiting) == cap(h.waiting) {
		return errTooManyLogins()
	}
	return nil
}

func (h *hasher) enter(ctx context.Context) (*passwordhash.Worker, error) {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return nil, errTooManyLogins()
	}
	select {
	case w := <-h.slots:
		return w, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a hashing slot: %w", ctx.Err())
	}
}

func (h *hasher) leave(w *passwordhash.Worker) { h.slots <- w }
