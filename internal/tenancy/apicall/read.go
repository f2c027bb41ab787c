package apicall

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/latency"
	"showfloor/internal/base/postgres"
)

// keepDays is how long counts are kept.
const keepDays = 400

// Calls are numbers of calls; those that were answered with a 4xx and a 5xx are parts of All.
type Calls struct{ All, ClientErrors, ServerErrors int64 }

// DayCalls are the calls of one day, and the number of tenants that made them.
type DayCalls struct {
	Calls

	Day     time.Time
	Tenants int64
}

// OperationCalls are the calls of one operation.
type OperationCalls struct {
	Calls

	Operation   string
	Median, P95 time.Duration
}

// TenantCalls are the calls of one tenant.
type TenantCalls struct {
	Calls

	TenantID string
	LastAt   time.Time
}

// Overview is the calls of a period.
type Overview struct {
	// Days has only days with calls, oldest first.
	Days []DayCalls
	// Operations and Tenants have those with the most calls first.
	Operations []OperationCalls
	Tenants    []TenantCalls
	// ActiveTenants is the number of tenants that made a call.
	ActiveTenants int64
}

// CallsOfTenants returns the number of calls of each of these tenants since the day (UTC) of a time. A tenant without calls has no entry.
func (s *Service) CallsOfTenants(ctx context.Context, tenantIDs []string, from time.Time) (map[string]int64, error) {
	rows, err := db.New(s.pool).SumCallsOfTenants(ctx, db.SumCallsOfTenantsParams{TenantIds: tenantIDs, Since: from.UTC().Truncate(day)})
	if err != nil {
		return nil, fmt.Errorf("sum calls of tenants: %w", err)
	}
	calls := make(map[string]int64, len(rows))
	for _, r := range rows {
		calls[r.TenantID] = r.Calls
	}
	return calls, nil
}

// ListActiveTenants returns the tenants with a call since a time.
func (s *Service) ListActiveTenants(ctx context.Context, since time.Time) ([]string, error) {
	ids, err := db.New(s.pool).ListCallingTenants(ctx, db.ListCallingTenantsParams{Day: since.UTC().Truncate(day), Since: since})
	if err != nil {
		return nil, fmt.Errorf("list calling tenants: %w", err)
	}
	return ids, nil
}

// GetOverview returns the calls since the day (UTC) of a time, with as many operations and tenants as limit says.
func (s *Service) GetOverview(ctx context.Context, from time.Time, limit int) (o Overview, err error) {
	q, since := db.New(s.pool), from.UTC().Truncate(day)
	days, err := q.SumCallsByDay(ctx, since)
	if err != nil {
		return o, fmt.Errorf("sum calls by day: %w", err)
	}
	for _, r := range days {
		o.Days = append(o.Days, DayCalls{Calls{r.Calls, r.ClientErrors, r.ServerErrors}, r.Day.UTC(), r.Tenants})
	}
	if o.Operations, err = readOperations(ctx, q, since, limit); err != nil {
		return o, err
	}
	tenants, err := q.SumCallsByTenant(ctx, db.SumCallsByTenantParams{Since: since, MaxRows: int32(limit)})
	if err != nil {
		return o, fmt.Errorf("sum calls by tenant: %w", err)
	}
	for _, r := range tenants {
		o.Tenants = append(o.Tenants, TenantCalls{Calls{All: r.Calls, ClientErrors: r.ClientErrors}, r.TenantID, r.LastAt})
		o.ActiveTenants = r.Tenants
	}
	return o, nil
}

func readOperations(ctx context.Context, q *db.Queries, since time.Time, limit int) (list []OperationCalls, err error) {
	rows, err := q.SumCallsByOperation(ctx, db.SumCallsByOperationParams{Since: since, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("sum calls by operation: %w", err)
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Operation
	}
	times, err := q.ListTimesOfOperations(ctx, db.ListTimesOfOperationsParams{Since: since, Operations: names})
	if err != nil {
		return nil, fmt.Errorf("list times of operations: %w", err)
	}
	took := map[string]*latency.Counts{}
	for _, r := range times {
		if took[r.Operation] == nil {
			took[r.Operation] = &latency.Counts{}
		}
		took[r.Operation].Merge(r.Took)
	}
	for _, r := range rows {
		o := OperationCalls{Calls: Calls{r.Calls, r.ClientErrors, r.ServerErrors}, Operation: r.Operation}
		if c := took[r.Operation]; c != nil {
			o.Median, o.P95 = c.Quantile(.5), c.Quantile(.95)
		}
		list = append(list, o)
	}
	return list, nil
}

// DeleteOld deletes counts of days more than 400 days ago.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, before := db.New(s.pool), s.now().AddDate(0, 0, -keepDays)
	return postgres.DeleteInBatches(ctx, "API calls", func(maxRows int32) (int64, error) {
		return q.DeleteAPICallsBefore(ctx, db.DeleteAPICallsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
