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
	// maxWithdrawals bounds the admissions that are taken back at a time.
	maxWithdrawals = 64
	// attachTime is how long a take-over has from the database to the hub.
	attachTime = time.Second
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
	hub     *hub.Hub

	// starting holds, by publisher, what is closed when its start is written:
	// its end comes after, or neither would be heard of.
	mu       sync.Mutex
	starting map[string]chan struct{}

	// withdrawals bounds the reports about admissions whose outcome is unknown.
	withdrawals chan struct{}
	// ended is what the last heartbeat found; for Watch's goroutine alone.
	ended map[string]bool
}

// NewReports makes Reports; Connect must follow before anything is reported.
func NewReports(ctx context.Context, log *slog.Logger) *Reports {
	r := &Reports{log: log, starting: map[string]chan struct{}{}, withdrawals: make(chan struct{}, maxWithdrawals)}
	r.ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Connect says where reports go and what they are about: the area and the media
// plane hold each other, so they come later.
func (r *Reports) Connect(streams *stream.Service, h *hub.Hub) { r.streams, r.hub = streams, h }

// Hurry lets reports that fail be tried again for so long, and then no more:
// whoever stops the server can't wait for a database that is gone.
func (r *Reports) Hurry(left time.Duration) { time.AfterFunc(left, r.stop) }

// Close waits for the reports that are being written; after Hurry that is
// bounded.
func (r *Reports) Close() {
	r.work.Wait()
	r.stop()
}

// Publish implements rtmp.Gate.
func (r *Reports) Publish(ctx context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	b, err := r.admit(ctx, stream.Attempt{PublisherID: a.ConnID, Source: stream.SourceRTMP, Key: a.Key, RemoteIP: a.RemoteIP.String()})
	if p, refused := problem.As(err); refused {
		code := "NetStream.Publish.Denied"
		if p.Code == stream.CodeUnknownKey {
			code = "NetStream.Publish.BadName"
		}
		return hub.Broadcast{}, &rtmp.Refusal{Code: code, Description: p.Message}
	}
	return b, err
}

// PublishFromRoom lets a host's browser publish the stream whose room it is in,
// under an id of a publisher. A refusal is a problem.
func (r *Reports) PublishFromRoom(ctx context.Context, streamID, publisherID, remoteIP string) (hub.Broadcast, error) {
	return r.admit(ctx, stream.Attempt{PublisherID: publisherID, Source: stream.SourceWebRTC, StreamID: streamID, RemoteIP: remoteIP})
}

// admit asks the area.
func (r *Reports) admit(ctx context.Context, a stream.Attempt) (hub.Broadcast, error) {
	g, err := r.streams.Publish(ctx, a)
	if _, refused := problem.As(err); err != nil && !refused {
		r.withdraw(ctx, a.PublisherID)
	}
	return hub.Broadcast{StreamID: g.StreamID, LowLatency: g.LowLatency, ReconnectWindow: g.ReconnectWindow, Began: g.Began}, err
}

// withdraw takes an admission back that may have been written although its
// answer was lost. While the database is away there may be more of them than
// it is worth to keep: what is left out ends with the next publish.
func (r *Reports) withdraw(ctx context.Context, connID string) {
	select {
	case r.withdrawals <- struct{}{}:
		r.work.Go(func() {
			defer func() { <-r.withdrawals }()
			r.Unpublish(ctx, connID)
		})
	default:
	}
}

// Rejected implements rtmp.Gate.
func (r *Reports) Rejected(_ context.Context, connID, reason string) {
	r.write("rejection", connID, func(ctx context.Context) error { return r.streams.Reject(ctx, connID, reason) })
}

// Unpublish implements rtmp.Gate.
func (r *Reports) Unpublish(_ context.Context, connID string) {
	r.mu.Lock()
	starting := r.starting[connID]
	r.mu.Unlock()
	if starting != nil {
		<-starting
	}
	r.write("end of publishing", connID, func(ctx context.Context) error { return r.streams.Unpublish(ctx, connID) })
}

// Playable is for hub.Config.OnPlayable. It comes on an output's goroutine, so
// the writing happens on another one.
func (r *Reports) Playable(streamID, publisherID string) {
	written := make(chan struct{})
	r.mu.Lock()
	r.starting[publisherID] = written
	r.mu.Unlock()
	r.work.Go(func() {
		defer func() {
			r.mu.Lock()
			delete(r.starting, publisherID)
			r.mu.Unlock()
			close(written)
		}()
		current := true
		r.write("start of publishing", publisherID, func(ctx context.Context) (err error) {
			current, err = r.streams.Started(ctx, publisherID)
			return err
		})
		if !current {
			// Two encoders came at once, and the hub took them in another order
			// than the database: this one is on air, but not let in any more. Or
			// the other one is about to take over, and then viewers stay.
			select {
			case <-time.After(attachTime):
			case <-r.ctx.Done():
			}
			r.hub.Drop(streamID, publisherID, hub.ErrReplaced)
		}
	})
}

// write tries until it succeeds or Hurry's time is over.
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
