// Package onair joins the media plane, which knows connections, with the streams
// area, which knows tenants: publishers are let in through it, and what happens
// to them is written down through it.
package onair

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

const (
	// reportTimeout bounds one try to write a report of the media plane down.
	reportTimeout = 5 * time.Second
	// maxReportPause is the longest pause between tries.
	maxReportPause = 5 * time.Second
)

// Reports writes down what the media plane reports, again and again until the
// database has it. What a dying process can't write any more,
// stream.Service.RecoverNode does at the next start.
type Reports struct {
	log  *slog.Logger
	ctx  context.Context //nolint:containedctx // ends the retries of reports that outlive what caused them
	stop context.CancelFunc
	work sync.WaitGroup

	streams *stream.Service
}

// NewReports makes Reports; Connect must follow before anything is reported.
func NewReports(ctx context.Context, log *slog.Logger) *Reports {
	r := &Reports{log: log}
	r.ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Connect says where reports go: the area and the media plane hold each other,
// so one of them comes later.
func (r *Reports) Connect(streams *stream.Service) { r.streams = streams }

// Close waits for the reports that are being written. Reports that fail from
// now on are not tried again.
func (r *Reports) Close(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		r.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	r.stop()
	<-done
}

// Publish implements rtmp.Gate.
func (r *Reports) Publish(ctx context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	g, err := r.streams.Publish(ctx, stream.Attempt{
		PublisherID: a.ConnID, Source: stream.SourceRTMP, Key: a.Key, RemoteIP: a.RemoteIP.String(),
	})
	if p, refused := problem.As(err); refused {
		code := "NetStream.Publish.Denied"
		if p.Code == stream.CodeUnknownKey {
			code = "NetStream.Publish.BadName"
		}
		return hub.Broadcast{}, &rtmp.Refusal{Code: code, Description: p.Message}
	}
	if err != nil {
		// It may have been written although the answer was lost.
		r.work.Go(func() { r.Unpublish(ctx, a.ConnID) })
	}
	return hub.Broadcast{StreamID: g.StreamID, LowLatency: g.LowLatency, ReconnectWindow: g.ReconnectWindow}, err
}

// Rejected implements rtmp.Gate.
func (r *Reports) Rejected(_ context.Context, connID, reason string) {
	r.write("rejection", connID, func(ctx context.Context) error { return r.streams.Reject(ctx, connID, reason) })
}

// Unpublish implements rtmp.Gate.
func (r *Reports) Unpublish(_ context.Context, connID string) {
	r.write("end of publishing", connID, func(ctx context.Context) error { return r.streams.Unpublish(ctx, connID) })
}

// Playable is for hub.Config.OnPlayable. It comes on an output's goroutine, so
// the writing happens on another one.
func (r *Reports) Playable(_, publisherID string) {
	r.work.Go(func() {
		r.write("start of publishing", publisherID, func(ctx context.Context) error { return r.streams.Started(ctx, publisherID) })
	})
}

// write tries until it succeeds or Reports is closed.
func (r *Reports) write(what, publisherID string, report func(ctx context.Context) error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxReportPause) {
		ctx, cancel := context.WithTimeout(r.ctx, reportTimeout)
		err := report(ctx)
		cancel()
		if err == nil {
			return
		}
		r.log.Error("report not written, trying again", "report", what, "publisher", publisherID, "error", err)
		select {
		case <-time.After(pause):
		case <-r.ctx.Done():
			return
		}
	}
}
