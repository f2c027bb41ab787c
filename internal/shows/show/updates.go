package show

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"showfloor/internal/base/id"
	"showfloor/internal/outflow/realtime"
)

// updateEvery is the interval at which a stream's viewers get its state, if it has changed.
const updateEvery = 2 * time.Second

// Rooms are the rooms of the realtime channel of this node.
type Rooms interface {
	// ListRooms lists the rooms that have subscribers.
	ListRooms() []string
	// IsNews reports whether a state differs from the last one in its room, and that one is older than every.
	IsNews(p realtime.Publication, every time.Duration) (bool, error)
}

// state is a stream's state as viewers see it: the API's RealtimeShow.
type state struct {
	Status      string `json:"status"`
	ViewerCount int    `json:"viewerCount"`
}

// RunUpdates publishes the changes of shows with subscribers on this node until ctx ends.
func (s *Service) RunUpdates(ctx context.Context, rooms Rooms, log *slog.Logger) {
	repeat(ctx, log, "shows: their states were not published", func() error { return s.PublishUpdates(ctx, rooms) })
}

// RunProducts publishes the products that the catalog of this node has changed until ctx ends.
func (s *Service) RunProducts(ctx context.Context, log *slog.Logger) {
	repeat(ctx, log, "shows: changed products were not published", func() error { return s.PublishProducts(ctx) })
}

// repeat calls publish every updateEvery until ctx ends, and logs its errors with a message.
func repeat(ctx context.Context, log *slog.Logger, message string, publish func() error) {
	ticker := time.NewTicker(updateEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := publish(); err != nil && ctx.Err() == nil {
			log.Warn(message, "error", err)
		}
	}
}

// PublishUpdates publishes the states of the streams with subscribers on this node that have changed. The viewers of a stream that
// was not published yet get its state too, because the page's copy may be older. A panic becomes an error.
func (s *Service) PublishUpdates(ctx context.Context, rooms Rooms) (err error) {
	defer recovered(&err)
	var ids []string
	for _, room := range rooms.ListRooms() {
		if id.Stream.Matches(room) {
			ids = append(ids, room)
		}
	}
	views, err := s.config.Streams.ListViews(ctx, ids)
	if err != nil {
		return err
	}
	for _, v := range views {
		p := realtime.Publication{Room: v.ID, Type: realtime.ShowUpdated, Data: state{v.Status, v.Viewers}}
		news, err := rooms.IsNews(p, updateEvery)
		if err != nil {
			return err
		}
		if news {
			s.config.Realtime.Publish(ctx, p)
		}
	}
	return nil
}

// recovered turns a panic of the function that defers it into its error.
func recovered(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	}
}
