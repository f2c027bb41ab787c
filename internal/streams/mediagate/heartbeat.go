package mediagate

import (
	"context"
	"maps"
	"slices"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
)

// Watch repeatedly stores that this node is alive and how many players it has. It disconnects
// publishers that are no longer publishers in the database. It returns when ctx ends.
func (r *Reports) Watch(ctx context.Context) {
	ticker := time.NewTicker(stream.HeartbeatEvery)
	defer ticker.Stop()
	for {
		r.beat(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *Reports) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	if err := r.streams.RecordAudience(ctx, r.audience()); err != nil {
		r.log.Warn("audience not written", "error", err)
	}
	if err := r.streams.RecordHealth(ctx, r.streamIDs()); err != nil {
		r.log.Warn("health of streams not written", "error", err)
	}
	onAir := r.hub.Publishers()
	ended, err := r.streams.Heartbeat(ctx, slices.AppendSeq([]string{}, maps.Keys(onAir)))
	if err != nil {
		r.log.Warn("heartbeat not written", "error", err)
		return
	}
	// Only publishers that were on the last list too: during a takeover the database changes
	// shortly before the hub.
	again := map[string]bool{}
	for _, publisherID := range ended {
		if r.ended[publisherID] {
			r.hub.Drop(onAir[publisherID], publisherID, hub.ErrStopped)
		}
		again[publisherID] = true
	}
	r.ended = again
}

// streamIDs lists the streams on this node.
func (r *Reports) streamIDs() []string {
	var ids []string
	for _, s := range r.hub.Streams() {
		ids = append(ids, s.StreamID)
	}
	return ids
}

// audience counts the players on this node.
func (r *Reports) audience() []stream.Audience {
	var list []stream.Audience
	for _, s := range r.hub.Streams() {
		list = append(list, stream.Audience{StreamID: s.StreamID, Viewers: s.Stats().Viewers})
	}
	return list
}
