package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"showfloor/gen/db"
)

const (
	// PinLead is how long before the broadcast a product may be pinned to count as pinned at its start.
	PinLead = time.Hour
	// maxTimeline is the number of entries of a product timeline.
	maxTimeline = 1000
)

// Pin is an entry of the product timeline.
type Pin struct {
	// TS is in seconds from the recording's start, to the millisecond.
	TS        float64 `json:"ts"`
	ProductID string  `json:"productId"`
}

// span is a part of a recording without a gap.
type span struct {
	startedAt time.Time
	length    time.Duration
}

// timeline maps pins, oldest first, to positions in the recording. Pins before the first span are not listed, except that the
// last of them has position 0. A pin in a gap has the position at which the next span begins. A pin of no product has no entry: the
// one before lasts until the next.
func timeline(spans []span, pins []db.ProductPin) []Pin {
	list := []Pin{}
	if len(spans) == 0 {
		return list
	}
	add := func(at time.Duration, productID string) {
		if productID != "" && len(list) < maxTimeline && (len(list) == 0 || list[len(list)-1].ProductID != productID) {
			list = append(list, Pin{float64(at.Milliseconds()) / 1000, productID})
		}
	}
	var before string
	for i, p := range pins {
		if p.PinnedAt.Before(spans[0].startedAt) {
			before = p.ProductID
			continue
		}
		if before != "" && (i == 0 || pins[i-1].PinnedAt.Before(spans[0].startedAt)) {
			add(0, before)
		}
		add(position(spans, p.PinnedAt), p.ProductID)
		before = ""
	}
	if before != "" {
		add(0, before)
	}
	return list
}

// position of a time that is not before the first span.
func position(spans []span, at time.Time) (p time.Duration) {
	for i, s := range spans {
		if i+1 == len(spans) || at.Before(spans[i+1].startedAt) {
			return p + min(at.Sub(s.startedAt), s.length)
		}
		p += s.length
	}
	return p
}

// computeTimeline returns the product timeline of a recording. q reads the segments.
func (s *Service) computeTimeline(ctx context.Context, r db.Recording, spans []span) ([]Pin, error) {
	if len(spans) == 0 || r.StreamID == nil {
		return []Pin{}, nil
	}
	until := s.config.Now().Add(time.Second) // the clock of the node with the room may be ahead
	if r.EndedAt != nil {
		until = *r.EndedAt
	}
	since := r.BroadcastAt
	if spans[0].startedAt.Before(since) {
		since = spans[0].startedAt // an imported file was reported after its end
	}
	pins, err := s.config.Pins.ListPins(ctx, r.TenantID, *r.StreamID, since.Add(-PinLead), until)
	if err != nil {
		return nil, err
	}
	return timeline(spans, pins), nil
}

// storedTimeline reads the timeline of a final recording.
func storedTimeline(r db.Recording) ([]Pin, error) {
	list := []Pin{}
	if err := json.Unmarshal(r.ProductTimeline, &list); err != nil {
		return nil, fmt.Errorf("read the product timeline of %s: %w", r.ID, err)
	}
	return list, nil
}

// spansOf returns the spans of each of the tenant's recordings.
func spansOf(ctx context.Context, q *db.Queries, tenantID string, ids ...string) (map[string][]span, error) {
	rows, err := q.ListSpans(ctx, db.ListSpansParams{TenantID: tenantID, Ids: ids})
	if err != nil {
		return nil, fmt.Errorf("list spans of recordings: %w", err)
	}
	list := map[string][]span{}
	for _, r := range rows {
		list[r.RecordingID] = append(list[r.RecordingID], span{r.StartedAt, time.Duration(r.DurationUs) * time.Microsecond})
	}
	return list, nil
}
