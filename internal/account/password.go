package account

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"

	"showfloor/internal/problem"
)

// hasher hashes passwords with argon2id. The cost is meant to hurt, so few run
// at a time: a flood of logins waits here and starves nobody else.
type hasher struct {
	params argon2id.Params
	slots  chan struct{}
	// waiting bounds the queue: who comes later is told to try again, instead
	// of making everybody's login slow.
	waiting chan struct{}
	// dummy is compared with when there is no user, so that an unknown e-mail
	// takes as long as a wrong password.
	dummy func() string
}

// maxWaiting is how many logins may wait for a slot: about a second's worth.
const maxWaiting = 32

// passwordMemory is what one hash takes, in KiB: 19 MiB with two passes and one lane are
// OWASP's parameters for argon2id.
const passwordMemory = 19 * 1024

// newHasher hashes so many passwords at a time, each in memory KiB.
func newHasher(parallel int, memory uint32) *hasher {
	h := &hasher{
		params:  argon2id.Params{Memory: memory, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		slots:   make(chan struct{}, parallel),
		waiting: make(chan struct{}, maxWaiting),
	}
	h.dummy = sync.OnceValue(func() string {
		hash, err := argon2id.CreateHash("no user has this password", &h.params)
		if err != nil {
			panic(fmt.Sprintf("hash: %v", err)) // the system's random source is gone
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

// matches compares in constant time; an empty hash never matches but costs the
// same.
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

// HashPassword makes what is kept of a password. When too many wait for it, the
// problem says when to come again.
func (s *Service) HashPassword(ctx context.Context, password string) (string, error) {
	return s.hasher.hash(ctx, password)
}

// PasswordMatches compares in constant time; an empty hash, that of somebody who
// doesn't exist, never matches but costs the same.
func (s *Service) PasswordMatches(ctx context.Context, password, hash string) (bool, error) {
	return s.hasher.matches(ctx, password, hash)
}

func errTooManyLogins() error {
	return problem.Limited(time.Second, "too many logins at the moment; try again in a second")
}

// ready refuses early what enter would refuse: a flood of logins is to cost as
// little as can be.
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
