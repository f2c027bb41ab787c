package hls

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"showfloor/internal/media/hub"
)

// Targets of the two modes. A standard segment is stored in pieces, too, so
// that both modes work alike.
const (
	partTarget      = 200 * time.Millisecond
	segmentTarget   = time.Second
	standardPiece   = time.Second
	standardSegment = 4 * time.Second
)

// muxer makes one stream's playlists. One goroutine feeds it; requests
// read the published state and the window.
type muxer struct {
	run     string // names this muxer's files, so that no name ever gets new content
	stream  *hub.Stream
	window  *window
	cut     *segmenter
	state   atomic.Pointer[state]
	blocked atomic.Int64
	viewers audience
	ended   atomic.Int64 // when it was sealed, in nanoseconds since 1970; 0: it isn't

	playable uint32 // newest epoch that was reported
	reported bool
	fps      float64 // newest picture rate, to announce
}

func newMuxer(s *hub.Stream, c Config, shared *budget) *muxer {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	m := &muxer{run: hex.EncodeToString(id[:]), stream: s,
		window: newWindow(s.LowLatency, c.MaxBytes, shared)}
	pieces, segments := standardPiece, standardSegment
	if s.LowLatency {
		pieces, segments = partTarget, segmentTarget
	}
	m.cut = newSegmenter(m.window, pieces, segments, c.Log.With("stream", s.StreamID))
	m.viewers = audience{limit: c.MaxViewers, seen: map[string]*viewer{}, report: s.AddViewers}
	m.state.Store(m.window.snapshot(0))
	return m
}

// feed reads the stream to its end and then closes the playlist.
func (m *muxer) feed(ctx context.Context, r *hub.Reader, now func() time.Time) error {
	defer r.Close()
	var err error
	for {
		var u *hub.Unit
		if u, err = r.Next(ctx); err != nil {
			break
		}
		m.cut.push(u)
		m.publish()
	}
	m.cut.seal()
	m.window.seal()
	m.publish()
	m.ended.Store(now().UnixNano())
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// publish makes a new state visible, if there is one, and wakes all who wait.
func (m *muxer) publish() {
	if !m.window.changed {
		return
	}
	m.window.changed = false
	m.measure()
	next := m.window.snapshot(m.fps)
	last := m.state.Swap(next)
	close(last.changed)
	m.report()
}

// measure looks at the picture rate.
func (m *muxer) measure() {
	if v := m.cut.video; v != nil {
		if f, _ := v.rhythm.period(); f > 0 {
			m.fps = float64(time.Second) / float64(f)
		}
	}
}

// report tells the stream when a publisher's first media can be played.
func (m *muxer) report() {
	n := len(m.window.segments)
	for n > 0 && !m.window.lowLatency && !m.window.segments[n-1].complete {
		n--
	}
	if n == 0 {
		return
	}
	s := m.window.segments[n-1]
	epoch := s.parts[len(s.parts)-1].epoch
	if !m.reported || epoch > m.playable {
		m.reported, m.playable = true, epoch
		m.stream.Playable(epoch)
	}
}
