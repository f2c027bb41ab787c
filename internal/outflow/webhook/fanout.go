package webhook

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
)

const (
	// fanOutPoll is how often RunFanOut looks for events without having been woken: events of a commit
	// that got no answer, and of a process that was killed.
	fanOutPoll = 5 * time.Second
	// fanOutAgain is when RunFanOut looks again after an error, or if events are left.
	fanOutAgain = time.Second
)

// RunFanOut writes deliveries after each commit of events until ctx ends. Any number of processes may
// run it. It logs errors and panics, and then waits for a second.
func (s *Service) RunFanOut(ctx context.Context) {
	poll := time.NewTimer(fanOutPoll)
	defer poll.Stop()
	committed := s.config.Events.Committed()
	for {
		woken, pause := committed, fanOutPoll
		left, err := s.fanOutRecovered(ctx)
		if err != nil && ctx.Err() == nil {
			s.config.Log.ErrorContext(ctx, "the deliveries of events could not be written; trying again in a second", "error", err)
			woken = nil
		}
		if err != nil || left {
			pause = fanOutAgain
		}
		poll.Reset(pause)
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-poll.C:
		}
	}
}

// fanOutRecovered calls fanOut and returns a panic as an error.
func (s *Service) fanOutRecovered(ctx context.Context) (left bool, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return s.fanOut(ctx)
}

// FanOut writes the deliveries of all waiting events, except of tenants whose events another process
// is taking. If that process doesn't see the newest events any more, RunFanOut finds them a second later.
//
// Tenants take turns: in each round, each tenant with waiting events gets some of its deliveries. A
// transaction writes about 500 deliveries at most, of up to 50 tenants. If the deliveries of a
// tenant can't be written, FanOut logs the error and leaves the tenant out for 1 s, which doubles
// with each failure up to a minute. It returns an error only if the last round wrote nothing, and
// none of single tenants.
func (s *Service) FanOut(ctx context.Context) error {
	_, err := s.fanOut(ctx)
	return err
}

// fanOut is FanOut, and reports whether events are left: of tenants that it leaves out, or whose events another
// process is taking.
func (s *Service) fanOut(ctx context.Context) (left bool, err error) {
	for {
		taken, left, err := s.fanOutRound(ctx)
		if taken == 0 || ctx.Err() != nil {
			return left, err
		}
	}
}

// fanOutRound gives each tenant with waiting events one turn. It returns the number of events that it took, and whether
// any were waiting.
func (s *Service) fanOutRound(ctx context.Context) (taken int, waiting bool, err error) {
	for after, more := "", true; more; {
		var tenantIDs []string
		tenantIDs, more, err = event.ListWaitingTenants(ctx, s.config.Pool, after)
		if err != nil || len(tenantIDs) == 0 {
			return taken, waiting, err
		}
		waiting = true
		after = tenantIDs[len(tenantIDs)-1]
		healthy, failed := s.fanOutPauses.split(tenantIDs, s.config.Now())
		n, err := s.fanOutTogether(ctx, healthy, failed)
		taken += n
		if err != nil {
			return taken, waiting, err
		}
	}
	return taken, waiting, nil
}

// fanOutTogether gives each tenant one turn. The healthy tenants share transactions. If the 500
// deliveries of a transaction are too few for all of them, the others share the next one, so that a
// tenant with a backlog doesn't hold back the rest. If a transaction fails, each remaining tenant gets
// one of its own, as failed tenants do.
func (s *Service) fanOutTogether(ctx context.Context, healthy, failed []string) (taken int, err error) {
	for len(healthy) > 0 {
		n, served, err := s.FanOutTenants(ctx, healthy...)
		if ctx.Err() != nil || postgres.IsUnavailable(err) {
			return taken, err
		}
		if err != nil {
			failed = append(healthy, failed...)
			break
		}
		if n == 0 { // other processes are taking the events
			break
		}
		taken += n
		healthy = slices.DeleteFunc(healthy, func(tenantID string) bool { return slices.Contains(served, tenantID) })
	}
	n, err := s.fanOutEach(ctx, failed)
	return taken + n, err
}

// fanOutEach gives each tenant a transaction of its own. A tenant whose transaction fails gets a pause.
func (s *Service) fanOutEach(ctx context.Context, tenantIDs []string) (taken int, err error) {
	for _, tenantID := range tenantIDs {
		n, _, err := s.FanOutTenants(ctx, tenantID)
		switch {
		case ctx.Err() != nil || postgres.IsUnavailable(err):
			return taken, err
		case err != nil:
			pause := s.fanOutPauses.add(tenantID, s.config.Now())
			s.config.Log.ErrorContext(ctx, "the deliveries of a tenant's events could not be written; the tenant is left out for a while",
				"tenantId", tenantID, "pause", pause, "error", err)
		case n > 0:
			s.fanOutPauses.remove(tenantID)
		}
		taken += n
	}
	return taken, nil
}

// FanOutTenants writes deliveries of the first waiting events of these tenants in one transaction. It
// returns the number of events, and the tenants that they belong to. 0 means that there are none or
// that another process is taking them.
func (s *Service) FanOutTenants(ctx context.Context, tenantIDs ...string) (taken int, served []string, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		list, err := event.TakeTx(ctx, tx, tenantIDs, s.config.Now())
		taken, served = len(list), nil
		if err != nil || taken == 0 {
			return err
		}
		for _, e := range list {
			if !slices.Contains(served, e.TenantID) {
				served = append(served, e.TenantID)
			}
		}
		return s.createDeliveries(ctx, tx, list)
	})
	if err != nil {
		return 0, nil, fmt.Errorf("fan out events: %w", err)
	}
	return taken, served, nil
}

// createDeliveries writes the deliveries of events, given in the order of their positions, and adds
// the jobs of deliveries that wait for no earlier one.
func (s *Service) createDeliveries(ctx context.Context, tx pgx.Tx, events []event.Taken) error {
	var list []lineDelivery
	for _, e := range events {
		for _, endpointID := range e.EndpointIds {
			list = append(list, lineDelivery{
				id: id.New(id.Delivery), tenantID: e.TenantID, endpointID: endpointID, eventID: e.EventID, subject: e.Subject, sequence: e.Sequence,
			})
		}
	}
	if len(list) == 0 { // all endpoints were deleted
		return nil
	}
	var start []string
	var behind []lineDelivery // of lines that may have older deliveries
	for _, head := range linkLines(list) {
		if head.sequence == 1 {
			start = append(start, head.id)
		} else {
			behind = append(behind, head)
		}
	}
	q := db.New(tx)
	free, err := joinLines(ctx, q, behind)
	if err != nil {
		return err
	}
	if err := q.CreateWebhookDeliveries(ctx, newDeliveries(list, s.config.Now())); err != nil {
		return fmt.Errorf("create deliveries: %w", err)
	}
	return s.enqueueFirst(ctx, tx, append(start, free...)...)
}
