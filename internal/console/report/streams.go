package report

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// StreamReport is the broadcasts and the viewing of all tenants.
type StreamReport struct {
	From, To time.Time
	// Broadcasts and the seconds are sums of the days, the peaks their maximum.
	Broadcasts, SecondsLive, SecondsWatched int64
	PeakStreams, PeakViewers                int64
	// Days has each day, oldest first.
	Days []StreamDay
}

// StreamDay is one day (UTC). Streams and Tenants were on air.
type StreamDay struct {
	db.StreamDay

	Broadcasts int64
}

// GetStreamReport returns the report of the last days, today included. Peaks, streams and tenants are those of closed hours.
func (s *Service) GetStreamReport(ctx context.Context, days int) (r StreamReport, err error) {
	q, now := db.New(s.pool), s.now()
	r.From, r.To = span(now, days)
	index := map[time.Time]int{}
	for at := r.From; !at.After(r.To); at = at.Add(day) {
		index[at] = len(r.Days)
		r.Days = append(r.Days, StreamDay{StreamDay: db.StreamDay{Day: at}})
	}
	kept, err := q.ListStreamDays(ctx, r.From)
	if err != nil {
		return r, fmt.Errorf("list days of streams: %w", err)
	}
	for _, k := range kept {
		if i, known := index[k.Day.UTC()]; known {
			k.Day = k.Day.UTC()
			r.Days[i].StreamDay = k
		}
	}
	late, err := q.SumStreamMinutes(ctx, r.To.Truncate(day))
	if err != nil {
		return r, fmt.Errorf("sum minutes of streams: %w", err)
	}
	for _, l := range late {
		if i, known := index[l.Day.UTC()]; known {
			r.Days[i].Live, r.Days[i].Watched = l.Live, l.Watched
		}
	}
	if err := s.addBroadcasts(ctx, q, &r, index); err != nil {
		return r, err
	}
	for _, d := range r.Days {
		r.Broadcasts += d.Broadcasts
		r.SecondsLive += d.Live
		r.SecondsWatched += d.Watched
		r.PeakStreams, r.PeakViewers = max(r.PeakStreams, d.PeakStreams), max(r.PeakViewers, d.PeakViewers)
	}
	return r, nil
}

// addBroadcasts adds the broadcasts that began on each day.
func (s *Service) addBroadcasts(ctx context.Context, q *db.Queries, r *StreamReport, index map[time.Time]int) error {
	kept, err := q.SumActivityByDay(ctx, db.SumActivityByDayParams{Area: Streams, Since: r.From})
	if err != nil {
		return fmt.Errorf("sum broadcasts: %w", err)
	}
	for _, k := range kept {
		if i, known := index[k.Day.UTC()]; known {
			r.Days[i].Broadcasts += k.N
		}
	}
	_, open, err := s.openActivity(ctx, q, r.To)
	if err != nil {
		return err
	}
	for _, o := range open {
		if i, known := index[o.Hour.UTC().Truncate(day)]; known && o.Area == Streams {
			r.Days[i].Broadcasts += o.N
		}
	}
	return nil
}
