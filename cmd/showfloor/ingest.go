package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/problem"
	"showfloor/internal/stream"
)

// reportTimeout bounds one try to write a report of the media plane down.
const reportTimeout = 5 * time.Second

// maxReportPause is the longest pause between tries.
const maxReportPause = 5 * time.Second

// ingest connects the media plane with the streams area: publishers ask it for
// admission, and what happens to them is written down through it, again and
// again until the database has it. What a dying process can't write down any
// more, RecoverNode does at the next start.
type ingest struct {
	streams *stream.Service
	log     *slog.Logger
	ctx     context.Context //nolint:containedctx // ends the retries of reports that outlive their request
	reports sync.WaitGroup
}

// Publish implements rtmp.Gate.
func (i *ingest) Publish(ctx context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	g, err := i.streams.Publish(ctx, stream.Attempt{
		PublisherID: a.ConnID, Source: stream.SourceRTMP, Key: a.Key, RemoteIP: a.RemoteIP.String(),
	})
	if p, refused := problem.As(err); refused {
		code := "NetStream.Publish.Denied"
		if problem.Is(err, stream.CodeUnknownKey) {
			code = "NetStream.Publish.BadName"
		}
		return hub.Broadcast{}, &rtmp.Refusal{Code: code, Description: p.Message}
	}
	if err != nil {
		// It may have been written although the answer was lost.
		i.reports.Go(func() { i.Unpublish(ctx, a.ConnID) })
	}
	return hub.Broadcast{StreamID: g.StreamID, LowLatency: g.LowLatency, ReconnectWindow: g.ReconnectWindow}, err
}

// Rejected implements rtmp.Gate.
func (i *ingest) Rejected(_ context.Context, connID, reason string) {
	i.report("rejection", connID, func(ctx context.Context) error { return i.streams.Reject(ctx, connID, reason) })
}

// Unpublish implements rtmp.Gate.
func (i *ingest) Unpublish(_ context.Context, connID string) {
	i.report("end of publishing", connID, func(ctx context.Context) error { return i.streams.Unpublish(ctx, connID) })
}

// playable is the hub's report that a publisher's media can be watched. It
// comes on an output's goroutine, so the writing happens on another one.
func (i *ingest) playable(_, publisherID string) {
	i.reports.Go(func() {
		i.report("start of publishing", publisherID, func(ctx context.Context) error { return i.streams.Started(ctx, publisherID) })
	})
}

// report tries until it succeeds or the process ends.
func (i *ingest) report(what, publisherID string, write func(ctx context.Context) error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxReportPause) {
		ctx, cancel := context.WithTimeout(i.ctx, reportTimeout)
		err := write(ctx)
		cancel()
		if err == nil {
			return
		}
		i.log.Error("report not written, trying again", "report", what, "publisher", publisherID, "error", err)
		select {
		case <-time.After(pause):
		case <-i.ctx.Done():
			return
		}
	}
}

// engine is the hub as the streams area sees it.
type engine struct{ hub *hub.Hub }

// Media implements stream.Engine.
func (e engine) Media(streamID string) (stream.Media, bool) {
	s, ok := e.hub.Stream(streamID)
	if !ok {
		return stream.Media{}, false
	}
	st := s.Stats()
	return stream.Media{
		VideoKbps: st.VideoKbps, AudioKbps: st.AudioKbps, FPS: st.FPS, Width: st.Width, Height: st.Height,
		VideoCodec: string(st.VideoCodec), AudioCodec: string(st.AudioCodec), Viewers: st.Viewers,
	}, true
}

// Seal implements stream.Engine.
func (e engine) Seal(streamID, _ string) { e.hub.Stop(streamID, hub.ErrStopped) }
