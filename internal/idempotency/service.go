// Package idempotency lets a request that is sent twice be carried out once: it
// keeps what requests with an Idempotency-Key came to, and sees to it that a
// request whose process died is run again exactly when it has changed nothing.
//
// A key is taken in a statement of its own, before the request is run. The first
// transaction that the run commits marks the key as well (see Run.BeforeCommit),
// so that the database always knows which of three gaps a death fell into:
// before that commit (the key can be taken again), after it (the answer is lost,
// and the sender is told so), or after the answer was kept (it is sent again).
package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
	"showfloor/internal/secret"
)

const (
	// keepFor is how long a key stands for its request.
	keepFor = 24 * time.Hour
	// leaseTime is how long a run is taken to be alive after it last said so;
	// it does so three times as often.
	leaseTime = 15 * time.Second
	// storeTimeout bounds what is written after the run, when the request's own
	// end must not matter any more.
	storeTimeout = 5 * time.Second
)

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	Box  *secret.Box
	Log  *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service keeps the keys.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// Request is what a key stands for.
type Request struct {
	TenantID, Key string
	// Fingerprint tells this request from others under the same key.
	Fingerprint [sha256.Size]byte
	// RunID names this attempt to carry it out.
	RunID string
}

// Answer is what a request came to.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// Begin takes the key. It returns the run that the caller is to carry out and to
// end, or the answer of an earlier one. A key that stands for another request is
// a problem with the code idempotency_mismatch; one whose run goes on,
// idempotency_in_progress; one whose run died after it had changed something,
// idempotency_lost.
func (s *Service) Begin(ctx context.Context, r Request) (*Run, *Answer, error) {
	q := db.New(s.config.Pool)
	for {
		now := s.config.Now()
		_, err := q.TakeIdempotencyKey(ctx, db.TakeIdempotencyKeyParams{
			TenantID: r.TenantID, Key: r.Key, Fingerprint: r.Fingerprint[:], RunID: r.RunID,
			Now: now, LeaseUntil: now.Add(leaseTime), Forgotten: now.Add(-keepFor),
		})
		if err == nil {
			return s.newRun(ctx, r), nil, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, nil, fmt.Errorf("take idempotency key: %w", err)
		}
		row, err := q.GetIdempotencyKey(ctx, db.GetIdempotencyKeyParams{TenantID: r.TenantID, Key: r.Key})
		if errors.Is(err, pgx.ErrNoRows) {
			continue // given up this moment: it is free
		}
		if err != nil {
			return nil, nil, fmt.Errorf("get idempotency key: %w", err)
		}
		answer, err := s.earlier(r, row, now)
		return nil, answer, err
	}
}

// earlier is what the run that has the key came to.
func (s *Service) earlier(r Request, row db.IdempotencyKey, now time.Time) (*Answer, error) {
	switch {
	case !bytes.Equal(row.Fingerprint, r.Fingerprint[:]):
		return nil, problem.New(problem.Unprocessable, "idempotency_mismatch",
			"this Idempotency-Key was used for another request; take a new key for each request, and send it again with the same body only")
	case row.Status != nil:
		body, err := s.config.Box.Open(row.Body, sealContext(row.TenantID, row.Key, row.RunID))
		if err != nil {
			return nil, fmt.Errorf("open kept answer: %w", err)
		}
		return &Answer{Status: int(*row.Status), ContentType: *row.ContentType, Body: body}, nil
	case row.CommittedAt != nil && !row.LeaseUntil.After(now):
		return nil, problem.New(problem.Conflict, "idempotency_lost",
			"the request with this Idempotency-Key was carried out, at least in part, but its answer was lost in a fault; "+
				"look at what it was to change before you send it again with a new key")
	default:
		p := problem.New(problem.Conflict, "idempotency_in_progress",
			"the first request with this Idempotency-Key is still running; send it again in a moment")
		p.RetryAfter = time.Second
		return nil, p
	}
}

// DeleteOld deletes keys that stand for nothing any more.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepFor)
	return postgres.DeleteInBatches("idempotency keys", func(maxRows int32) (int64, error) {
		return q.DeleteIdempotencyKeysBefore(ctx, db.DeleteIdempotencyKeysBeforeParams{Before: before, MaxRows: maxRows})
	})
}

// sealContext binds a sealed answer to its row and run.
func sealContext(tenantID, key, runID string) string {
	return "idempotency_keys/" + tenantID + "/" + runID + "/" + key
}
