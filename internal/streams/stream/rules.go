package stream

import (
	"fmt"
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// The states of a stream.
const (
	Idle         = "IDLE"
	Live         = "LIVE"
	Reconnecting = "RECONNECTING"
	Ended        = "ENDED"
)

// LowLatency is the mode for LL-HLS; the other mode is Standard.
const (
	LowLatency = "LOW_LATENCY"
	Standard   = "STANDARD"
)

// blockedFor is how long a stream refuses its key after a forced stop: longer than
// encoders try to reconnect automatically.
const blockedFor = 300 * time.Second

// mayPublish checks whether the stream's key may be used now.
func mayPublish(s db.Stream, tenantStatus string, now time.Time) error {
	if err := tenancy.CheckTenant(tenantStatus); err != nil {
		return err
	}
	if s.BlockedUntil != nil && s.BlockedUntil.After(now) {
		left := int(math.Ceil(s.BlockedUntil.Sub(now).Seconds()))
		return problem.New(problem.Forbidden, "stream_stopped", "this stream was stopped; it can be published again in %d seconds", left)
	}
	return nil
}

// mayUseKey returns an error if an admin has revoked the stream's key.
func mayUseKey(s db.Stream) error {
	if s.KeyRevokedAt == nil {
		return nil
	}
	return problem.New(problem.Forbidden, CodeKeyRevoked, "this stream key was revoked; rotate the stream's key to get a new one")
}

// started sets the stream to LIVE. isNew reports a new broadcast, which is worth
// an event. After a takeover or within the reconnect window the broadcast
// continues.
func started(s db.Stream, now time.Time) (next db.Stream, isNew bool) {
	isNew = s.Status != Live && s.Status != Reconnecting
	if isNew {
		s.StartedAt, s.EndedAt = &now, nil
	}
	s.Status = Live
	s.ReconnectUntil, s.BlockedUntil, s.RejectedReason = nil, nil, nil
	return s, isNew
}

// left is the stream after its publisher has gone: waiting for a reconnect, ended,
// or unchanged if it was not on air.
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

// ended ends the broadcast. Another server with a clock ahead of ours may have
// started it, so the end is never before the start.
func ended(s db.Stream, now time.Time) db.Stream {
	if s.StartedAt != nil && s.StartedAt.After(now) {
		now = *s.StartedAt
	}
	s.Status, s.EndedAt, s.ReconnectUntil, s.PublisherID = Ended, &now, nil, nil
	return s
}

// onAir reports whether a broadcast is in progress, also while its publisher is
// away.
func onAir(s db.Stream) bool { return s.Status == Live || s.Status == Reconnecting }

// startDelay bounds how long viewers may watch a broadcast before its start is
// recorded, for example while the database is down for a moment.
const startDelay = time.Minute

// watchableSince is the earliest time at which viewers may have watched the
// current broadcast; zero if there is none.
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

// Health describes the media that arrives from the encoder, with a verdict.
type Health struct {
	State   string
	Reason  *string
	Media   Media
	Notices []Notice
	// LadderReason says why Media.Ladder isn't LadderRunning; nil if it is, or is empty.
	LadderReason *string
}

// Notice describes a setting of the encoder that makes viewing worse, and how to
// change it. A notice's code never changes.
type Notice struct{ Code, Message string }

// Codes of notices.
const (
	NoticeBFrames     = "b_frames"
	NoticeVideoCodec  = "video_codec"
	NoticeKeyInterval = "key_frame_interval"
)

// longKeyInterval is the longest time between key pictures without a notice.
// Viewers in the stream's room start with the pictures since the last key picture
// if that is at most 2 s old.
const longKeyInterval = 2100 * time.Millisecond

// Media describes a stream's incoming media. Rates are averages over the last
// seconds: kilobits per second, and pictures per second. Sizes are in pixels. A
// codec is empty if that kind of media is missing.
type Media struct {
	VideoKbps, AudioKbps   int
	FPS                    float64
	Width, Height          int
	VideoCodec, AudioCodec string
	Viewers                int
	// BFrames: pictures arrive in another order than the display order.
	BFrames bool
	// KeyInterval is the time between key pictures; 0 while it isn't known.
	KeyInterval time.Duration
	// Ladder is the state of the renditions' encoding, one of the Ladder constants; empty without renditions.
	Ladder string
}

// health evaluates the stream's row and its incoming media.
func health(s db.Stream, m Media) Health {
	h := Health{State: Offline, Media: m, Notices: notices(m), LadderReason: ladderReason(m.Ladder)}
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

// notices lists recommended changes of the encoder's settings; it is empty while
// no media arrives.
func notices(m Media) []Notice {
	list := []Notice{}
	add := func(code, text string) { list = append(list, Notice{code, text}) }
	if m.VideoCodec == "H265" {
		add(NoticeVideoCodec, "not every browser decodes H.265, so the stream's room plays HLS instead, which is later: choose H.264")
	}
	if m.BFrames {
		add(NoticeBFrames, "browsers can't show B-frames by WebRTC, so the stream's room plays HLS instead, which is later: set B-frames to 0 "+
			"(OBS: Settings, Output, Advanced, 'Max B-frames' 0, or 'bframes=0' in 'x264 Options'; ffmpeg: '-bf 0')")
	}
	if m.KeyInterval > longKeyInterval {
		add(NoticeKeyInterval, fmt.Sprintf("key frames come every %.1f s, so players start late and are further behind: "+
			"set the key frame interval to 1 or 2 s "+
			"(OBS: Settings, Output, Advanced, 'Keyframe Interval'; ffmpeg: '-g' with two seconds' worth of pictures)", m.KeyInterval.Seconds()))
	}
	return list
}
