// Package idempotency ensures that a request that is sent twice is executed
// once. It stores the answers of requests with an Idempotency-Key, and lets the
// request of a dead process run again only if it has changed nothing.
//
// A key is taken in a statement of its own, before the request is executed. The
// first transaction that the run commits also marks the key (see
// Run.BeforeCommit). So the database always knows at which of three points a
// process died: before that commit (the key can be taken again), after it (the
// answer is lost, and the client gets an error that says so), or after the
// answer was stored (it is sent again).
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
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
)

const (
	// keepFor is how long a key belongs to its request.
	keepFor = 24 * time.Hour
	// leaseTime is how long a run counts as alive after its last renewal. It
	// renews three times as often.
	leaseTime = 15 * time.Second
	// storeTimeout limits the writes before and after the run, which must not
	// depend on the end of the request's context.
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

// Service stores the keys and answers.
type Service struct{ config Config }

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// Request is the request that a key belongs to.
type Request struct {
	TenantID, Key string
	// Fingerprint distinguishes this request from others under the same key.
	Fingerprint [sha256.Size]byte
	// RunID identifies this attempt to execute it.
	RunID string
}

// Answer is the answer to a request.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// Begin takes the key. It returns the run, which the caller must execute and
// end, or the stored answer of an earlier run. It returns a problem with the
// code idempotency_mismatch if the key belongs to another request,
// idempotency_in_progress if the key's run is still active, and idempotency_lost
// if its run died after a commit.
func (s *Service) Begin(ctx context.Context, r Request) (*Run, *Answer, error) {
	q := db.New(s.config.Pool)
	for {
		now := s.config.Now()
		err := s.take(ctx, db.TakeIdempotencyKeyParams{
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
			continue // released just now, so it is free
		}
		if err != nil {
			return nil, nil, fmt.Errorf("get idempotency key: %w", err)
		}
		answer, err := s.earlier(r, row, now)
		return nil, answer, err
	}
}

// take inserts the key's row. Only the wait for a connection ends when the client hangs up: a
// canceled statement could still be committed, and the key would be reserved by a run that has no
// owner. If the statement's result is unknown, take deletes the row that it may have written.
func (s *Service) take(ctx context.Context, key db.TakeIdempotencyKeyParams) error {
	conn, err := s.config.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("acquire connection: %w", err)
	}
	statementCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	_, err = db.New(conn).TakeIdempotencyKey(statementCtx, key)
	conn.Release()
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		s.releaseUnknown(ctx, key)
	}
	return err
}

// releaseUnknown deletes the row of a run that could not learn whether it has the key. If that
// fails too, or the database writes the row only afterwards, the key is free again after leaseTime.
func (s *Service) releaseUnknown(ctx context.Context, key db.TakeIdempotencyKeyParams) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	deleted, err := db.New(s.config.Pool).ReleaseIdempotencyKey(ctx, db.ReleaseIdempotencyKeyParams{
		TenantID: key.TenantID, Key: key.Key, RunID: key.RunID,
	})
	if err != nil || deleted == 0 {
		s.config.Log.WarnContext(ctx, "idempotency key may stay reserved until its lease ends",
			"error", err, "requestId", key.RunID, "until", key.LeaseUntil)
	}
}

// earlier returns the answer of the run that has the key.
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

// DeleteOld deletes keys that have expired.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepFor)
	return postgres.DeleteInBatches(ctx, "idempotency keys", func(maxRows int32) (int64, error) {
		return q.DeleteIdempotencyKeysBefore(ctx, db.DeleteIdempotencyKeysBeforeParams{Before: before, MaxRows: maxRows})
	})
}

// sealContext binds a sealed answer to its row and run.
func sealContext(tenantID, key, runID string) string {
	return "idempotency_keys/" + tenantID + "/" + runID + "/" + key
}
