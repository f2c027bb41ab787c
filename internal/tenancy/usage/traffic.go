package usage

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
)

// DayTraffic is the bytes of all tenants in a day (UTC).
type DayTraffic struct {
	Day time.Time
	// Received from encoders and participants.
	Received int64
	// Live, Recordings, Rooms and Restreams are what this platform's servers sent: to viewers of streams and of recordings, and to
	// CDNs for them; to participants; to other platforms.
	Live, Recordings, Rooms, Restreams int64
	// CDN is what CDNs sent to viewers.
	CDN int64
}

// Sent returns what this platform's servers sent.
func (d *DayTraffic) Sent() int64 { return d.Live + d.Recordings + d.Rooms + d.Restreams }

// add adds bytes of a meter and a kind of resource. EgressBytes contains CDNBytes, and of streams also RoomBytes.
func (d *DayTraffic) add(m Meter, kind id.Prefix, n int64) {
	media := &d.Live
	switch kind {
	case id.Recording:
		media = &d.Recordings
	case id.Session:
		media = &d.Rooms
	}
	switch m {
	case IngressBytes:
		d.Received += n
	case EgressBytes, CDNFillBytes:
		*media += n
	case RoomBytes:
		*media -= n
		d.Rooms += n
	case CDNBytes:
		d.CDN += n
		if kind != "" { // or they are no tenant's EgressBytes
			*media -= n
		}
	case RestreamBytes:
		d.Restreams += n
	case StreamMinutes, ViewerMinutes, ParticipantMinutes, RecordingMinutes, StorageBytes, TranscodeMinutes, Pushes:
	}
}

// ListTraffic returns the bytes of all tenants in the days from since until before until, both midnights in UTC. It leaves out days
// without traffic.
func (s *Service) ListTraffic(ctx context.Context, since, until time.Time) ([]DayTraffic, error) {
	var meters []string
	for _, m := range []Meter{IngressBytes, EgressBytes, RoomBytes, CDNBytes, CDNFillBytes, RestreamBytes} {
		meters = append(meters, string(m))
	}
	found, err := db.New(s.pool).ListTrafficOfDays(ctx, db.ListTrafficOfDaysParams{Since: since, Until: until, Meters: meters})
	if err != nil {
		return nil, fmt.Errorf("list traffic of days: %w", err)
	}
	var list []DayTraffic
	for _, x := range found {
		if len(list) == 0 || !list[len(list)-1].Day.Equal(x.Day) {
			list = append(list, DayTraffic{Day: x.Day.UTC()})
		}
		list[len(list)-1].add(Meter(x.Meter), id.Prefix(x.Kind), x.Amount)
	}
	return list, nil
}

// ListTenantTraffic returns the tenants with the most bytes sent by servers and CDNs in these days, at most limit of them.
func (s *Service) ListTenantTraffic(ctx context.Context, since, until time.Time, limit int) ([]db.ListTrafficOfTenantsRow, error) {
	list, err := db.New(s.pool).ListTrafficOfTenants(ctx, db.ListTrafficOfTenantsParams{Since: since, Until: until, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list traffic of tenants: %w", err)
	}
	return list, nil
}
