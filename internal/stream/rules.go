package stream

import (
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/problem"
)

// The states of a stream.
const (
	Idle         = "IDLE"
	Live         = "LIVE"
	Reconnecting = "RECONNECTING"
	Ended        = "ENDED"
)

// LowLatency is the mode that asks for LL-HLS; the other is STANDARD.
const (
	LowLatency = "LOW_LATENCY"
	Standard   = "STANDARD"
)

// blockedFor is how long a forcibly stopped stream refuses its key: longer than
// encoders try to reconnect by themselves.
const blockedFor = 300 * time.Second

// mayPublish tells whether the stream's key is good at this moment.
func mayPublish(s db.Stream, tenantStatus string, now time.Time) error {
	if err := account.CheckTenant(tenantStatus); err != nil {
		return err
	}
	if s.BlockedUntil != nil && s.BlockedUntil.After(now) {
		left := int(math.Ceil(s.BlockedUntil.Sub(now).Seconds()))
		return problem.New(problem.Forbidden, "stream_stopped", "this stream was stopped; it can be published again in %d seconds", left)
	}
	return nil
}

// started puts the stream on air. It is a new broadcast, which is worth an
// event, unless one goes on: after a take-over or within the reconnect window.
func started(s db.Stream, now time.Time) (next db.Stream, isNew bool) {
	isNew = s.Status != Live && s.Status != Reconnecting
	if isNew {
		s.StartedAt, s.EndedAt = &now, nil
	}
	s.Status = Live
	s.ReconnectUntil, s.BlockedUntil, s.RejectedReason = nil, nil, nil
	return s, isNew
}

// left is the stream after its publisher has gone: waiting for the publisher to
// come back, ended, or, when it was never on air, as it was.
func left(s db.Stream, now time.Time) db.Stream {
	s.PublisherID = nil
	switch {
	case s.Status != Live:
	case s.ReconnectWindowSec > 0:
		s.Status = Reconnecting
		s.ReconnectUntil = new(now.Add(time.Duration(s.ReconnectWindowSec) * time.Second))
	default:
		s = ended(s, now)
	}
	return s
}

// ended closes the broadcast. Another server may have put it on air, by a clock
// that is ahead of ours: it can't end before it began.
func ended(s db.Stream, now time.Time) db.Stream {
	if s.StartedAt != nil && s.StartedAt.After(now) {
		now = *s.StartedAt
	}
	s.Status, s.EndedAt, s.ReconnectUntil, s.PublisherID = Ended, &now, nil, nil
	return s
}

// onAir tells whether a broadcast is going on, even if its publisher is away.
func onAir(s db.Stream) bool { return s.Status == Live || s.Status == Reconnecting }

// startDelay bounds how long a broadcast may be watched before its start is written down,
// as while the database is away for a moment.
const startDelay = time.Minute

// watchableSince is the earliest time at which viewers may have begun to watch the
// broadcast that is on air; zero when none is.
func watchableSince(s db.Stream) time.Time {
	if !onAir(s) || s.StartedAt == nil {
		return time.Time{}
	}
	return s.StartedAt.Add(-startDelay)
}

// Health states.
const (
	Offline  = "OFFLINE"
	Good     = "GOOD"
	Stalled  = "STALLED"
	Rejected = "REJECTED"
)

// Health is what arrives from the encoder, and a verdict on it.
type Health struct {
	State  string
	Reason *string
	Media  Media
}

// Media is what the media plane sees of a stream. Rates are averages over the
// last seconds: kilobits per second and pictures per second; sizes are pixels.
// Codecs are empty for a kind that isn't there.
type Media struct {
	VideoKbps, AudioKbps   int
	FPS                    float64
	Width, Height          int
	VideoCodec, AudioCodec string
	Viewers                int
}

// health judges the stream by its row and by what arrives.
func health(s db.Stream, m Media) Health {
	h := Health{State: Offline, Media: m}
	switch {
	case s.Status == Reconnecting:
		h.State, h.Reason = Stalled, new("the encoder is gone; waiting for it to come back")
	case s.Status != Live && s.PublisherID != nil:
		h.State, h.Reason = Stalled, new("the encoder is connected, but nothing can be played yet")
	case s.RejectedReason != nil && s.Status != Live:
		h.State, h.Reason = Rejected, s.RejectedReason
	case s.Status == Live && m.VideoKbps+m.AudioKbps == 0 && m.VideoCodec+m.AudioCodec != "":
		h.State, h.Reason = Stalled, new("the encoder is connected, but no media arrives")
	case s.Status == Live:
		h.State = Good
	}
	return h
}
