package report

import (
	"context"
	"fmt"
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/tenancy/apicall"
)

// Developers is how tenants use the API.
type Developers struct {
	From, To time.Time

	apicall.Calls

	ActiveTenants, ActiveKeys, NewKeys, NewWebhooks int64
	// Days has each day, oldest first.
	Days       []DeveloperDay
	Operations []apicall.OperationCalls
	Tenants    []CallingTenant
}

// DeveloperDay is one day (UTC).
type DeveloperDay struct {
	apicall.DayCalls

	NewKeys int64
}

// CallingTenant is one of the tenants with the most calls. Keys are the API keys that were used.
type CallingTenant struct {
	apicall.TenantCalls

	Name, Plan string
	Keys       int64
}

// topCallers is the number of operations and of tenants in the report.
const topCallers = 20

// GetDevelopers returns the report of the last days, today included.
func (s *Service) GetDevelopers(ctx context.Context, days int) (d Developers, err error) {
	q := db.New(s.pool)
	d.From, d.To = span(s.now(), days)
	calls, err := s.calls.GetOverview(ctx, d.From, topCallers)
	if err != nil {
		return d, err
	}
	d.ActiveTenants, d.Operations = calls.ActiveTenants, calls.Operations
	index := map[time.Time]int{}
	for at := d.From; !at.After(d.To); at = at.Add(day) {
		index[at] = len(d.Days)
		d.Days = append(d.Days, DeveloperDay{DayCalls: apicall.DayCalls{Day: at}})
	}
	for _, c := range calls.Days {
		if i, known := index[c.Day]; known {
			d.Days[i].DayCalls = c
			d.All, d.ClientErrors, d.ServerErrors = d.All+c.All, d.ClientErrors+c.ClientErrors, d.ServerErrors+c.ServerErrors
		}
	}
	keys, err := q.CountKeysByDay(ctx, db.CountKeysByDayParams{FirstID: id.Earliest(id.APIKey, d.From.Add(-idSlack)), Since: d.From})
	if err != nil {
		return d, fmt.Errorf("count new keys: %w", err)
	}
	for _, k := range keys {
		d.NewKeys += k.N
		if i, known := index[k.Day.UTC()]; known {
			d.Days[i].NewKeys = k.N
		}
	}
	if d.ActiveKeys, err = q.CountUsedKeys(ctx, d.From); err != nil {
		return d, fmt.Errorf("count used keys: %w", err)
	}
	d.NewWebhooks, err = q.CountNewEndpoints(ctx, db.CountNewEndpointsParams{
		FirstID: id.Earliest(id.Webhook, d.From.Add(-idSlack)), Since: d.From,
	})
	if err != nil {
		return d, fmt.Errorf("count new endpoints: %w", err)
	}
	d.Tenants, err = callingTenants(ctx, q, calls.Tenants, d.From)
	return d, err
}

// callingTenants adds names, plans and keys to tenants.
func callingTenants(ctx context.Context, q *db.Queries, calls []apicall.TenantCalls, from time.Time) (list []CallingTenant, err error) {
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = c.TenantID
	}
	tenants, err := q.ListReportTenants(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list tenants: %w", err)
	}
	keys, err := q.CountUsedKeysOfTenants(ctx, db.CountUsedKeysOfTenantsParams{TenantIds: ids, Since: from})
	if err != nil {
		return nil, fmt.Errorf("count used keys of tenants: %w", err)
	}
	rows, used := map[string]db.ListReportTenantsRow{}, map[string]int64{}
	for _, t := range tenants {
		rows[t.ID] = t
	}
	for _, k := range keys {
		used[k.TenantID] = k.N
	}
	for _, c := range calls {
		if t, known := rows[c.TenantID]; known {
			list = append(list, CallingTenant{TenantCalls: c, Name: t.Name, Plan: t.Plan, Keys: used[c.TenantID]})
		}
	}
	return list, nil
}

// Percent returns a part in percent with one decimal.
func Percent(part, all int64) float64 {
	if all <= 0 {
		return 0
	}
	return math.Round(1000*float64(part)/float64(all)) / 10
}
