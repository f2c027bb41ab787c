package bandwidth

import (
	"context"
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/usage"
)

// maxTenants is the number of tenants in an overview.
const maxTenants = 20

// TenantTraffic is the bytes of a tenant, and its share of all tenants' in percent with one decimal.
type TenantTraffic struct {
	db.ListTrafficOfTenantsRow

	Percent float64
}

// Overview is the platform's bytes.
type Overview struct {
	From, To time.Time
	// Received, Sent and Delivered are the sums of the days: from publishers, by this platform's servers, and by CDNs.
	Received, Sent, Delivered int64
	// Days has each day, oldest first.
	Days    []usage.DayTraffic
	Tenants []TenantTraffic
}

// GetAdminBandwidth returns the bytes of the last days (UTC) up to and including today.
func (s *Service) GetAdminBandwidth(ctx context.Context, days int) (Overview, error) {
	const day = 24 * time.Hour
	now := s.now().UTC()
	until := now.Truncate(day).Add(day)
	o := Overview{From: until.AddDate(0, 0, -days), To: now}
	found, err := s.usage.ListTraffic(ctx, o.From, until)
	if err != nil {
		return o, err
	}
	for at := o.From; at.Before(until); at = at.Add(day) {
		d := usage.DayTraffic{Day: at}
		if len(found) > 0 && found[0].Day.Equal(at) {
			d, found = found[0], found[1:]
		}
		o.Days = append(o.Days, d)
		o.Received += d.Received
		o.Sent += d.Sent()
		o.Delivered += d.CDN
	}
	tenants, err := s.usage.ListTenantTraffic(ctx, o.From, until, maxTenants)
	if err != nil {
		return o, err
	}
	for _, t := range tenants {
		o.Tenants = append(o.Tenants, TenantTraffic{t, share(t.Sent+t.Delivered, t.Total)})
	}
	return o, nil
}

// share returns a part in percent with one decimal.
func share(part, total int64) float64 {
	if total <= 0 {
		return 0
	}
	return math.Round(float64(part)/float64(total)*1000) / 10
}
