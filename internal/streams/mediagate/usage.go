package mediagate

import (
	"showfloor/internal/media/metering"
	"showfloor/internal/tenancy/usage"
)

// Usage implements usage.Source with the media plane's meter.
type Usage struct{ Meter *metering.Meter }

var _ usage.Source = Usage{}

// Read implements usage.Source.
func (u Usage) Read() []usage.Interval {
	var list []usage.Interval
	for _, r := range u.Meter.Read() {
		add := func(m usage.Meter, amount int64) {
			if amount > 0 {
				list = append(list, usage.Interval{
					ResourceID: r.ResourceID, Meter: m, Quality: r.Quality, From: r.From, To: r.To, Amount: amount,
				})
			}
		}
		add(usage.StreamMinutes, r.OnAir)
		add(usage.ViewerMinutes, r.Watched)
		add(usage.ParticipantMinutes, r.Participated)
		add(usage.EgressBytes, r.BytesOut)
		add(usage.IngressBytes, r.BytesIn)
		add(usage.RoomBytes, r.BytesInRoom)
		add(usage.CDNFillBytes, r.BytesToCDN)
		add(usage.RestreamBytes, r.BytesRestreamed)
	}
	return list
}
