package webhook

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jackc/pgx/v5"

	"showfloor/internal/base/postgres"
)

const (
	// shareJobsFrom is how many deliveries a fan-out must start in one transaction for them to share jobs. Fewer get a job each,
	// so that all workers and nodes can take them at once.
	shareJobsFrom = 50
	// jobDeliveries is how many deliveries share a job.
	jobDeliveries = 10
)

// DeliverBatch makes the first attempts of several deliveries at the same time, as Deliver does. A delivery that needs a
// further attempt gets a job of its own, and so does one that could not begin within 5 s because too many
// others were in progress.
//
// first: this is the first run of the job. A later run, after an error or the death of the worker, makes no attempts: it
// gives each delivery a job of its own, unless it has one.
func (s *Service) DeliverBatch(ctx context.Context, deliveryIDs []string, first bool) error {
	if !first {
		return s.enqueueEach(ctx, deliveryIDs)
	}
	room, cancel := context.WithTimeout(ctx, s.lineTime)
	defer cancel()
	done, begun := make(chan error, len(deliveryIDs)), 0
	for begun < len(deliveryIDs) && s.takeSlot(room) {
		deliveryID := deliveryIDs[begun]
		begun++
		go func() {
			defer func() { <-s.batchSlots }()
			done <- s.deliverOrPutOff(ctx, deliveryID)
		}()
	}
	var errs []error
	if begun < len(deliveryIDs) {
		errs = append(errs, s.enqueueEach(ctx, deliveryIDs[begun:]))
	}
	for range begun {
		errs = append(errs, <-done)
	}
	return errors.Join(errs...)
}

// takeSlot waits for a slot, and returns false if ctx ends first.
func (s *Service) takeSlot(ctx context.Context) bool {
	select {
	case s.batchSlots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// deliverOrPutOff is Deliver, and gives the delivery a job of its own if it needs another attempt. It returns a panic as an
// error.
func (s *Service) deliverOrPutOff(ctx context.Context, deliveryID string) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	again, err := s.Deliver(ctx, deliveryID)
	if err != nil || again.IsZero() {
		return err
	}
	return s.putOff(ctx, deliveryID, again)
}

// enqueueEach gives each delivery a job of its own.
func (s *Service) enqueueEach(ctx context.Context, deliveryIDs []string) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error { return s.enqueue(ctx, tx, deliveryIDs...) })
}
