package mediajob

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

// RecoverNode requeues the RUNNING jobs of this node after a restart. Call it before the node takes runs. Each job is a
// transaction of its own.
func (s *Service) RecoverNode(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListMediaJobsOfNode(ctx, s.config.Node)
	if err != nil {
		return fmt.Errorf("list jobs of this node: %w", err)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, s.requeue(ctx, r.ID, r.Attempt, serverStopped))
	}
	return errors.Join(errs...)
}

// Sweep requeues the RUNNING jobs whose worker sends no heartbeats, fails those of silent outside programs, and adds a run if QUEUED ones
// may have none. Each job is a transaction of its own; one that fails doesn't keep the others. If no job is QUEUED or
// RUNNING, it makes one query.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.config.Now()
	if !s.config.Steady(now) {
		return nil // if this node could not write for a while, others could not write their heartbeats either
	}
	q := db.New(s.config.Pool)
	unfinished, err := q.HasUnfinishedMediaJobs(ctx)
	if err != nil {
		return fmt.Errorf("look for unfinished jobs: %w", err)
	}
	if !unfinished {
		return nil
	}
	rows, err := q.ListStrandedMediaJobs(ctx, now.Add(-heartbeatTimeout))
	if err != nil {
		return fmt.Errorf("list stranded jobs: %w", err)
	}
	var errs []error
	for _, r := range rows {
		errs = append(errs, s.requeue(ctx, r.ID, r.Attempt, serverStopped))
	}
	errs = append(errs, s.failSilent(ctx))
	forgotten, err := q.ListForgottenMediaJobs(ctx, now.Add(-forgottenAfter))
	if err != nil {
		errs = append(errs, fmt.Errorf("look for forgotten jobs: %w", err))
	}
	for _, kind := range forgotten {
		once := &river.InsertOpts{Queue: queueOf(kind), UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: forgottenPeriod}}
		errs = append(errs, postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.insertJob(ctx, tx, RunArgs{kind}, once) }))
	}
	return errors.Join(errs...)
}
