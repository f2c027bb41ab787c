// Package mediagate connects the media plane, which knows connections, with the
// streams area, which knows tenants. The package admits publishers and stores
// what the media plane reports about them.
package mediagate

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"showfloor/internal/base/problem"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/streams/stream"
)

const (
	// reportTimeout limits one attempt to store a report of the media plane.
	reportTimeout = 5 * time.Second
	// maxReportPause is the longest pause between attempts.
	maxReportPause = 5 * time.Second
	// maxWithdrawals limits the concurrent withdrawals of admissions.
	maxWithdrawals = 64
	// attachTime is the longest time between a takeover in the database and the
	// one in the hub.
	attachTime = time.Second
)

// Reports stores the reports of the media plane and retries until the database
// has them. For reports that a dying process can't store, there is
// stream.Service.RecoverNode at the next start.
type Reports struct {
	log  *slog.Logger
	ctx  context.Context //nolint:containedctx // ends the retries of reports that outlive their cause
	stop context.CancelFunc
	work sync.WaitGroup

	streams *stream.Service
	hub     *hub.Hub

	// starting holds, by publisher, a channel that is closed when the
	// publisher's start is stored. The end waits for it: stored before the
	// start, it would have no effect.
	mu       sync.Mutex
	starting map[string]chan struct{}

	// withdrawals limits the reports about admissions whose outcome is unknown.
	withdrawals chan struct{}
	// ended is the result of the last heartbeat. Only Watch's goroutine uses it.
	ended map[string]bool
}

// NewReports returns Reports. Call Connect before the first report.
func NewReports(ctx context.Context, log *slog.Logger) *Reports {
	r := &Reports{log: log, starting: map[string]chan struct{}{}, withdrawals: make(chan struct{}, maxWithdrawals)}
	r.ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Connect sets the area and the hub. They need Reports themselves, so they are
// created later.
func (r *Reports) Connect(streams *stream.Service, h *hub.Hub) { r.streams, r.hub = streams, h }

// Hurry ends the retries of failed reports after left, because a stopping server
// can't wait for a lost database.
func (r *Reports) Hurry(left time.Duration) { time.AfterFunc(left, r.stop) }

// Close waits until all reports are stored. After Hurry, that time is limited.
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
		return hub.Broadcast{}, &rtmp.StatusError{Code: code, Description: p.Message}
	}
	return b, err
}

// PublishFromRoom lets a host's browser publish the stream of its room, with the
// id of a publisher. The error of a refusal is a problem.
func (r *Reports) PublishFromRoom(ctx context.Context, streamID, publisherID, remoteIP string) (hub.Broadcast, error) {
	return r.admit(ctx, stream.Attempt{PublisherID: publisherID, Source: stream.SourceWebRTC, StreamID: streamID, RemoteIP: remoteIP})
}

// PublishFromSession lets the broadcast of a session publish its stream, with the id of a publisher. The error of a refusal is a
// problem.
func (r *Reports) PublishFromSession(ctx context.Context, streamID, publisherID string) (hub.Broadcast, error) {
	return r.admit(ctx, stream.Attempt{PublisherID: publisherID, Source: stream.SourceSession, StreamID: streamID})
}

// InUse reports whether a refusal of PublishFromSession says that an encoder publishes the stream.
func InUse(err error) bool { return problem.Is(err, stream.CodeStreamInUse) }

// admit asks the streams area to admit a publisher.
func (r *Reports) admit(ctx context.Context, a stream.Attempt) (hub.Broadcast, error) {
	g, err := r.streams.Publish(ctx, a)
	if _, refused := problem.As(err); err != nil && !refused {
		r.withdraw(ctx, a.PublisherID)
	}
	return hub.Broadcast{
		StreamID: g.StreamID, TenantID: g.TenantID, LowLatency: g.LowLatency, ReconnectWindow: g.ReconnectWindow, Began: g.Began,
		Record: g.Record, Renditions: renditionsOf(g.Renditions),
	}, err
}

// renditionsOf names the renditions of a broadcast.
func renditionsOf(list []stream.Rendition) []hub.Rendition {
	var renditions []hub.Rendition
	for _, r := range list {
		renditions = append(renditions, hub.Rendition{Name: strconv.Itoa(r.Height) + "p", Lines: r.Height, VideoKbps: r.VideoKbps})
	}
	return renditions
}

// withdraw withdraws an admission that may have been committed although its
// answer was lost. While the database is away, withdrawals beyond maxWithdrawals
// are dropped: such an admission ends with the next publish.
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

// Playable is for hub.Config.OnPlayable. The hub calls it on an output's
// goroutine, so it stores the report on another one.
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
			// Two encoders connected at the same time, and the hub attached them
			// in another order than the database: this one is live, but no
			// longer admitted. If the other one is about to take over, the
			// viewers must stay connected.
			select {
			case <-time.After(attachTime):
			case <-r.ctx.Done():
			}
			r.hub.Drop(streamID, publisherID, hub.ErrReplaced)
		}
	})
}

// write retries until it succeeds or Hurry's time is over.
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
