package mediagate

import (
	"context"

	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
)

// Stopped is called when another node or the API has stopped or taken over a
// stream. It ends the stream if it is on this node.
func (r *Reports) Stopped(ctx context.Context, streamID string) {
	s, ok := r.hub.Stream(streamID)
	if !ok {
		return
	}
	// Read the publisher before the database: a publisher that is admitted
	// after that is another one, and stays.
	publisherID := s.PublisherID()
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	fate, err := r.streams.GetFate(ctx, streamID)
	if err != nil {
		r.log.Warn("could not check whether a stream may continue", "stream", streamID, "error", err)
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

// Missed checks every stream of this node, because notifications were lost
// while the listener was disconnected.
func (r *Reports) Missed(ctx context.Context) {
	for _, s := range r.hub.Streams() {
		r.Stopped(ctx, s.StreamID)
	}
}
