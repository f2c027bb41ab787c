package onair

import (
	"context"

	"showfloor/internal/media/hub"
	"showfloor/internal/stream"
)

// Stopped hears that a stream was stopped from outside or taken over by another
// node, and ends it here if it is here.
func (r *Reports) Stopped(ctx context.Context, streamID string) {
	s, ok := r.hub.Stream(streamID)
	if !ok {
		return
	}
	// Who publishes is asked before the database is: whoever is let in after
	// that is another one, and stays.
	publisherID := s.PublisherID()
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	fate, err := r.streams.GetFate(ctx, streamID)
	if err != nil {
		r.log.Warn("not known whether a stream may go on", "stream", streamID, "error", err)
		return
	}
	switch fate {
	case stream.Stopped:
		r.hub.Drop(streamID, publisherID, hub.ErrStopped)
	case stream.Withdrawn:
		r.hub.Drop(streamID, publisherID, hub.ErrWithdrawn)
	case stream.Moved:
		r.hub.Drop(streamID, publisherID, hub.ErrMoved)
	case stream.Replaced:
		r.hub.Drop(streamID, publisherID, hub.ErrReplaced)
	case stream.Stays:
	}
}

// Missed looks at every stream on air here: what was said while nobody listened
// was not heard.
func (r *Reports) Missed(ctx context.Context) {
	for _, s := range r.hub.Streams() {
		r.Stopped(ctx, s.StreamID)
	}
}
