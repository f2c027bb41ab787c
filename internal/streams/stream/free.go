package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// CodeStreamInUse is the code of the problem for a stream that another publisher publishes.
const CodeStreamInUse = "stream_in_use"

// ErrInUse is the problem for a stream that another publisher publishes.
func ErrInUse() error {
	return problem.New(problem.Conflict, CodeStreamInUse, "the stream is being published already")
}

// CheckFreeTx returns the problem not_found unless the tenant has the stream, stream_in_use if an encoder publishes it, and
// stream_stopped for some minutes after it was stopped. tx may also be the pool.
func (s *Service) CheckFreeTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) error {
	found, err := db.New(tx).GetStream(ctx, db.GetStreamParams{TenantID: tenantID, ID: streamID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Missing("stream")
	case err != nil:
		return fmt.Errorf("get stream: %w", err)
	}
	if found.Stream.PublisherID != nil { // the broadcast of a session that has just ended may still be there
		own, err := s.IsBroadcastTx(ctx, tx, tenantID, streamID)
		if err != nil {
			return err
		}
		if !own {
			return ErrInUse()
		}
	}
	refusal, refused := problem.As(mayPublish(found.Stream, tenancy.Active, s.config.Now()))
	if refused {
		return problem.New(problem.Conflict, refusal.Code, "%s", refusal.Message)
	}
	return nil
}

// IsBroadcastTx reports whether the publisher of one of the tenant's streams is the broadcast of a session. tx may also be the pool.
func (s *Service) IsBroadcastTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) (bool, error) {
	q := db.New(tx)
	found, err := q.GetStream(ctx, db.GetStreamParams{TenantID: tenantID, ID: streamID})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && found.Stream.PublisherID == nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get stream: %w", err)
	}
	p, err := q.GetPublisher(ctx, *found.Stream.PublisherID)
	if err != nil {
		return false, fmt.Errorf("get publisher: %w", err)
	}
	return p.Source == SourceSession, nil
}

// checkTakeover refuses the broadcast of a session while an encoder publishes the locked stream. Other publishers take over.
func checkTakeover(ctx context.Context, q *db.Queries, a Attempt, row db.Stream) error {
	if a.Source != SourceSession || row.PublisherID == nil || *row.PublisherID == a.PublisherID {
		return nil
	}
	p, err := q.GetPublisher(ctx, *row.PublisherID)
	if err != nil {
		return fmt.Errorf("get publisher: %w", err)
	}
	if p.Source != SourceSession {
		return ErrInUse()
	}
	return nil
}
