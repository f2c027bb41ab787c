package bandwidth

import (
	"context"
	"time"

	"showfloor/internal/console/cdnlog"
	"showfloor/internal/tenancy/usage"
)

// owners returns the owners of resources.
func (s *Service) owners(ctx context.Context, ids []string) (map[string]usage.Owner, error) {
	if len(ids) == 0 {
		return nil, nil //nolint:nilnil // a map without entries
	}
	return s.usage.Owners(ctx, ids)
}

// intervals returns the usage of sums: the bytes that a tenant pays for, and which of them a CDN sent. Sums without an owner count for the
// platform only.
func intervals(source string, sums map[cdnlog.Key]int64, owners map[string]usage.Owner) (list []usage.Interval) {
	for k, n := range sums {
		if n == 0 {
			continue
		}
		owner := owners[k.ResourceID]
		x := usage.Interval{Owner: owner, Source: "cdn " + source, Meter: usage.CDNBytes, Amount: n}
		x.From = time.Unix(k.Hour, 0).UTC()
		x.To = x.From.Add(time.Hour)
		if owner.TenantID != "" {
			x.ResourceID = k.ResourceID
			billed := x
			billed.Meter = usage.EgressBytes
			list = append(list, billed)
		}
		list = append(list, x)
	}
	return list
}
