package show

import (
	"context"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
)

// endReason is the reason in the audit log of a broadcast that its host has ended.
const endReason = "ended by the host"

// CreateShowPlaybackURL returns the URLs at which participants play a stream. All participants get the same ones.
func (s *Service) CreateShowPlaybackURL(ctx context.Context, c tenancy.Caller, streamID string) (stream.PlaybackURL, error) {
	if _, err := s.CheckViewer(ctx, c, streamID); err != nil {
		return stream.PlaybackURL{}, err
	}
	return s.playback.get(ctx, streamID)
}

func (s *Service) readPlayback(ctx context.Context, streamID string) (stream.PlaybackURL, error) {
	show, err := s.GetShow(ctx, streamID)
	if err != nil {
		return stream.PlaybackURL{}, err
	}
	return s.config.Streams.ShowPlayback(ctx, show.Stream)
}

// PinShowProduct pins a product in the stream's room, as its host; nil pins none. While the stream is on air, pinning
// the pinned product again writes nothing.
func (s *Service) PinShowProduct(ctx context.Context, c tenancy.Caller, streamID string, productID *string) error {
	ctx, err := s.AsHost(ctx, c, streamID)
	if err != nil {
		return err
	}
	st, err := s.config.Streams.GetStream(ctx, c, streamID)
	if err != nil {
		return err
	}
	in := chat.PinInput{TenantID: c.TenantID, RoomID: streamID, UserID: c.Participant.UserID}
	if productID != nil {
		if in.ProductID = *productID; in.ProductID == "" { // which stands for none
			return problem.Missing("product")
		}
	}
	if onAir(st.Stream) {
		// Off air, the time of a pin decides whether it counts for the next broadcast, so it is always stored.
		in.Since = new(st.StartedAt.Add(-recording.PinLead))
	}
	return s.config.Chat.PinProduct(ctx, in)
}

// onAir reports whether a broadcast of the stream is in progress.
func onAir(st db.Stream) bool {
	return (st.Status == stream.Live || st.Status == stream.Reconnecting) && st.StartedAt != nil
}

// CreateShowStreamKey replaces the stream's key, as the host of its room.
func (s *Service) CreateShowStreamKey(ctx context.Context, c tenancy.Caller, streamID string) (stream.View, error) {
	ctx, err := s.AsHost(ctx, c, streamID)
	if err != nil {
		return stream.View{}, err
	}
	return s.config.Streams.RotateStreamKey(ctx, c, streamID)
}

// EndShow ends the stream's broadcast and refuses its key for some minutes, as the host of its room. It has no effect on a stream
// that isn't on air. It returns the stream afterwards.
func (s *Service) EndShow(ctx context.Context, c tenancy.Caller, streamID string) (stream.View, error) {
	ctx, err := s.AsHost(ctx, c, streamID)
	if err != nil {
		return stream.View{}, err
	}
	if err := s.config.Streams.ForceStopStream(ctx, c.Actor(), streamID, endReason); err != nil && !problem.Is(err, "conflict") {
		return stream.View{}, err
	}
	return s.config.Streams.GetStream(ctx, c, streamID)
}

// DropShowDiscount creates a code for the current viewers of the stream, as the host of its room.
func (s *Service) DropShowDiscount(ctx context.Context, c tenancy.Caller, streamID string, in discount.DropInput) (db.Discount, error) {
	ctx, err := s.AsHost(ctx, c, streamID)
	if err != nil {
		return db.Discount{}, err
	}
	return s.config.Discounts.DropDiscount(ctx, c, streamID, in)
}
