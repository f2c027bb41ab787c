package stream

import (
	"fmt"
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
	State   string
	Reason  *string
	Media   Media
	Notices []Notice
}

// Notice is something in the encoder's settings that costs viewers, and how to change it.
// Its code never changes.
type Notice struct{ Code, Message string }

// Codes of notices.
const (
	NoticeBFrames     = "b_frames"
	NoticeVideoCodec  = "video_codec"
	NoticeKeyInterval = "key_frame_interval"
)

// longKeyInterval is the longest time between key pictures without a notice. Viewers in
// the stream's room get the pictures since the last one when that is 2 s old at most.
const longKeyInterval = 2100 * time.Millisecond

// Media is what the media plane sees of a stream. Rates are averages over the
// last seconds: kilobits per second and pictures per second; sizes are pixels.
// Codecs are empty for a kind that isn't there.
type Media struct {
	VideoKbps, AudioKbps   int
	FPS                    float64
	Width, Height          int
	VideoCodec, AudioCodec string
	Viewers                int
	// BFrames: pictures don't arrive in the order in which they are shown.
	BFrames bool
	// KeyInterval is the time from one key picture to the next; 0 while it isn't known.
	KeyInterval time.Duration
}

// health judges the stream by its row and by what arrives.
func health(s db.Stream, m Media) Health {
	h := Health{State: Offline, Media: m, Notices: notices(m)}
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

// notices lists what to change in the encoder's settings; nothing while no media arrives.
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
