package usage

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// Level is a tenant's value of a meter at a time, such as the bytes that it stores.
type Level struct {
	TenantID string
	// Value is more than 0.
	Value int64
}

// RecordStorage stores how many bytes tenants store at a time. Only the highest value of each hour is kept, so a value may be
// stored repeatedly.
func (s *Service) RecordStorage(ctx context.Context, at time.Time, list []Level) error {
	for len(list) > 0 {
		some := list[:min(len(list), maxRows)]
		list = list[len(some):]
		p := db.RaiseUsageLevelsParams{Meter: string(StorageBytes), At: at}
		for _, l := range some {
			p.TenantIds, p.Levels = append(p.TenantIds, l.TenantID), append(p.Levels, l.Value)
		}
		if err := db.New(s.pool).RaiseUsageLevels(ctx, p); err != nil {
			return fmt.Errorf("raise usage levels: %w", err)
		}
	}
	return nil
}

// levels returns the highest levels of tenants in the hours since one and before another one.
func levels(ctx context.Context, q *db.Queries, tenantIDs []string, since, until time.Time) (map[string]Amounts, error) {
	found, err := q.ListUsageLevels(ctx, db.ListUsageLevelsParams{TenantIds: tenantIDs, Since: since, Until: until})
	if err != nil {
		return nil, fmt.Errorf("list usage levels: %w", err)
	}
	list := map[string]Amounts{}
	for _, x := range found {
		if list[x.TenantID] == nil {
			list[x.TenantID] = Amounts{}
		}
		list[x.TenantID][Meter(x.Meter)] = x.Highest
	}
	return list, nil
}
