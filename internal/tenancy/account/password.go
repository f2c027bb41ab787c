package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"

	"showfloor/internal/base/problem"
)

// hasher hashes passwords with argon2id. One hash is expensive on purpose, so only
// a few run at a time: during a flood of logins the others wait here, and other
// requests keep their CPU time.
type hasher struct {
	params argon2id.Params
	slots  chan struct{}
	// waiting bounds the queue. Logins above its limit are refused with a retry time,
	// so that they don't slow down all others.
	waiting chan struct{}
	// dummy returns a hash for comparisons without a user, so that an unknown e-mail
	// takes as long as a wrong password.
	dummy func() string
}

// maxWaiting is how many logins may wait for a slot; hashing them takes about 1 s.
const maxWaiting = 32

// passwordMemory is the memory of one hash in KiB. 19 MiB with two passes and one
// lane are OWASP's parameters for argon2id.
const passwordMemory = 19 * 1024

// newHasher makes a hasher that computes up to parallel hashes at a time, each
// with memory KiB.
func newHasher(parallel int, memory uint32) *hasher {
	h := &hasher{
		params:  argon2id.Params{Memory: memory, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		slots:   make(chan struct{}, parallel),
		waiting: make(chan struct{}, maxWaiting),
	}
	h.dummy = sync.OnceValue(func() string {
		hash, err := argon2id.CreateHash("no user has this password", &h.params)
		if err != nil {
			panic(fmt.Sprintf("hash: %v", err)) // the system's random source has failed
		}
		return hash
	})
	return h
}

func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if err := h.enter(ctx); err != nil {
		return "", err
	}
	defer h.leave()
	hash, err := argon2id.CreateHash(password, &h.params)
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
	if err := h.enter(ctx); err != nil {
		return false, err
	}
	defer h.leave()
	ok, err := argon2id.ComparePasswordAndHash(password, hash)
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

func (h *hasher) enter(ctx context.Context) error {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return errTooManyLogins()
	}
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a hashing slot: %w", ctx.Err())
	}
}

func (h *hasher) leave() { <-h.slots }
