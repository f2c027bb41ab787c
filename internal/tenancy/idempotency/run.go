package idempotency

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Run is one attempt to execute a request. It is the postgres.Hook of the
// context in which the request is executed. Keep or Release ends it.
type Run struct {
	service *Service
	request Request
	// committed: a transaction that marks the key has been committed, as far as
	// this process knows. Only the database knows for certain.
	committed atomic.Bool

	mu    sync.Mutex
	ended bool
	renew *time.Timer
}

type keyKey struct{}

// WithKey adds the key of the request to the context.
func WithKey(ctx context.Context, r *Run) context.Context {
	return context.WithValue(ctx, keyKey{}, r.request.Key)
}

// KeyFrom returns the Idempotency-Key of the context's request; empty for none.
func KeyFrom(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}

func (s *Service) newRun(ctx context.Context, r Request) *Run {
	run := &Run{service: s, request: r}
	ctx = context.WithoutCancel(ctx)
	run.mu.Lock()
	defer run.mu.Unlock()
	run.renew = time.AfterFunc(leaseTime/3, func() { run.stayAlive(ctx) })
	return run
}

// stayAlive renews the lease while the request is executed.
func (r *Run) stayAlive(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	s := r.service
	err := db.New(s.config.Pool).RenewIdempotencyKey(ctx, db.RenewIdempotencyKeyParams{
		TenantID: r.request.TenantID, Key: r.request.Key, RunID: r.request.RunID, LeaseUntil: s.config.Now().Add(leaseTime),
	})
	if err != nil {
		s.config.Log.WarnContext(ctx, "lease of an idempotency key not renewed", "error", err, "requestId", r.request.RunID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.renew.Reset(leaseTime / 3)
	}
}

// end stops the renewal. It reports whether this call was the first.
func (r *Run) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.ended
	r.ended = true
	r.renew.Stop()
	return first
}

// BeforeCommit marks the key in the first transaction that the run commits. A
// run that was suspended for longer than its lease has lost its key. It can't
// commit, because another run may have committed.
func (r *Run) BeforeCommit(ctx context.Context, tx pgx.Tx) error {
	if r.committed.Load() || r.over() {
		return nil
	}
	now := r.service.config.Now()
	marked, err := db.New(tx).CommitIdempotencyKey(ctx, db.CommitIdempotencyKeyParams{
		TenantID: r.request.TenantID, Key: r.request.Key, RunID: r.request.RunID, Now: &now,
	})
	if err != nil {
		return fmt.Errorf("mark idempotency key: %w", err)
	}
	if marked == 0 {
		return problem.New(problem.Unavailable, "unavailable",
			"this request stood still for so long that another one took its Idempotency-Key over")
	}
	return nil
}

// AfterCommit records the commit, so that further transactions don't mark the
// key again.
func (r *Run) AfterCommit() { r.committed.Store(true) }

// over reports whether the run has ended. Background work that continues after
// that is not part of the request.
func (r *Run) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// Keep ends the run and stores its answer under the key.
func (r *Run) Keep(ctx context.Context, a Answer) error {
	if !r.end() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	s, status := r.service, int32(a.Status)
	err := db.New(s.config.Pool).AnswerIdempotencyKey(ctx, db.AnswerIdempotencyKeyParams{
		TenantID: r.request.TenantID, Key: r.request.Key, RunID: r.request.RunID,
		Status: &status, ContentType: &a.ContentType,
		Body: s.config.Box.Seal(a.Body, sealContext(r.request.TenantID, r.request.Key, r.request.RunID)),
	})
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	return nil
}

// Release ends the run without storing an answer. The key is free again, unless
// a transaction was committed: then its answer is lost.
func (r *Run) Release(ctx context.Context) error {
	if !r.end() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	// A commit in progress holds the row's lock: the statement waits for it and
	// then sees the mark.
	q := db.New(r.service.config.Pool)
	released, err := q.ReleaseIdempotencyKey(ctx, db.ReleaseIdempotencyKeyParams{
		TenantID: r.request.TenantID, Key: r.request.Key, RunID: r.request.RunID,
	})
	if err == nil && released == 0 {
		err = q.RenewIdempotencyKey(ctx, db.RenewIdempotencyKeyParams{
			TenantID: r.request.TenantID, Key: r.request.Key, RunID: r.request.RunID, LeaseUntil: r.service.config.Now(),
		})
	}
	if err != nil {
		return fmt.Errorf("release idempotency key: %w", err)
	}
	return nil
}
