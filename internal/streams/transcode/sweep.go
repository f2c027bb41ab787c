package transcode

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// deadWorker is the reason of jobs whose workers died in each attempt.
const deadWorker = "the server that worked on it ended"

// RecoverNode gives the jobs of this node that a killed process has left to the next turns. Call it before the node takes turns. Each job
// is a transaction of its own.
func (s *Service) RecoverNode(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListTranscodesOfNode(ctx, s.config.Node)
	if err != nil {
		return fmt.Errorf("list transcodes of this node: %w", err)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, s.requeue(ctx, r.ID, r.Attempt, true, deadWorker))
	}
	return errors.Join(errs...)
}

// Sweep gives jobs whose worker sends no heartbeats to the next turns, and adds a turn if jobs are due for which there may be none. Each
// job is a transaction of its own; one that fails doesn't keep the others.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.config.Now()
	if !s.config.Steady(now) {
		return nil // if this node could not write for a while, others could not write their heartbeats either
	}
	q := db.New(s.config.Pool)
	rows, err := q.ListStrandedTranscodes(ctx, now.Add(-heartbeatTimeout))
	if err != nil {
		return fmt.Errorf("list stranded transcodes: %w", err)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, s.requeue(ctx, r.ID, r.Attempt, true, deadWorker))
	}
	forgotten, err := q.HasForgottenTranscodes(ctx, now.Add(-forgottenAfter))
	if err != nil {
		errs = append(errs, fmt.Errorf("look for forgotten transcodes: %w", err))
	}
	if forgotten {
		errs = append(errs, postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.addTurn(ctx, tx, 0) }))
	}
	return errors.Join(errs...)
}
