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
	"showfloor/internal/media/segmenter"
)

// Durations of parts and segments in the two modes. A standard segment is also stored in pieces, so
// that both modes work alike.
const (
	partTarget      = 200 * time.Millisecond
	segmentTarget   = time.Second
	standardPiece   = time.Second
	standardSegment = 4 * time.Second
)

// tickEvery is how often a stream without new units checks the clock, and firstTick how long after the last unit for the
// first time. That is more than the usual time between two units that end parts.
const (
	tickEvery = partTarget
	firstTick = tickEvery * 5 / 4
)

// muxer holds one run of a stream: playlists and files under a name of their own. The stream's feeder
// writes it; requests read the published state and the window.
type muxer struct {
	edition        // the source
	run     string // names this muxer's files, so that the content of a name never changes
	stream  *hub.Stream
	// renditions are the other editions, in the order of their broadcast.
	renditions []*rendition
	blocked    *waiters // places for requests that wait for a playlist
	hinted     *waiters // places for requests that wait for a part
	viewers    audience
	ended      atomic.Int64 // when it was sealed, in nanoseconds since 1970; 0 before that

	thumbnails thumbnails

	playable uint32 // newest epoch that was reported as playable
	reported bool
}

func (s *Server) newMuxer(stream *hub.Stream) *muxer {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	m := &muxer{
		edition: s.newEdition(sourceEdition, stream),
		run:     hex.EncodeToString(id[:]), stream: stream,
		blocked: newWaiters(s.config.MaxBlocked), hinted: newWaiters(s.config.MaxBlocked),
		viewers: s.newAudience(stream.AddViewers, stream.AddWatched),
	}
	m.viewers.places, m.viewers.tenantID = s.config.Viewers, stream.TenantID
	m.state.Store(m.window.snapshot(0))
	if s.config.NoRenditions {
		return m
	}
	for _, x := range stream.Renditions {
		r := &rendition{edition: s.newEdition(x.Name, stream), kbps: x.VideoKbps, patience: renditionPatience, gone: true}
		// In a run, all editions count alike.
		r.window.startAs(m.window)
		if !stream.LowLatency {
			r.patience += standardPiece
		}
		r.state.Store(r.window.snapshot(0))
		m.renditions = append(m.renditions, r)
	}
	return m
}

func (s *Server) newEdition(name string, stream *hub.Stream) edition {
	return edition{name: name, window: newWindow(stream.LowLatency, firstNumber(stream.Age()), s.config.MaxBytes, &s.budget)}
}

// feeder makes a stream's playlists, one run after the other. One goroutine runs it.
type feeder struct {
	server *Server
	stream *hub.Stream
	muxer  *muxer // the current run
	cut    *segmenter.Segmenter
	fps    float64 // newest picture rate, for the multivariant playlist
}

// newFeeder starts a stream's first run.
func (s *Server) newFeeder(stream *hub.Stream) *feeder {
	f := &feeder{server: s, stream: stream, muxer: s.newMuxer(stream)}
	pieces, segments := standardPiece, standardSegment
	if stream.LowLatency {
		pieces, segments = partTarget, segmentTarget
	}
	f.cut = segmenter.New(segmenter.Config{Sink: branches{f.muxer}, NextRun: f.nextRun, PartTarget: pieces, SegmentTarget: segments,
		Log: s.config.Log.With("stream", stream.StreamID)})
	return f
}

// feed reads the stream to its end and then closes the playlist.
func (f *feeder) feed(ctx context.Context, r *hub.Reader) error {
	defer r.Close()
	var err error
	for patience := firstTick; ; {
		var u *hub.Unit
		if u, err = r.NextOrTick(ctx, patience, f.cut.Quiet); err != nil {
			break
		}
		f.cut.SetActivity(f.stream.Activity())
		switch {
		case u != nil && u.Track.Rendition != "":
			f.muxer.encoded(u)
		case u != nil:
			f.cut.Push(u)
			patience = firstTick
		default:
			f.cut.Tick(f.server.config.Arrivals())
			patience = tickEvery
		}
		f.publish()
	}
	f.cut.Seal()
	f.end()
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// nextRun closes the playlist and starts a new one under a new name. index.m3u8 names the new one
// before players see the end of the old one.
//
//nolint:ireturn // as segmenter.Config.NextRun wants it
func (f *feeder) nextRun() segmenter.Sink {
	next := f.server.newMuxer(f.stream)
	f.server.succeed(f.stream.StreamID, next)
	f.end()
	f.muxer = next
	return branches{next}
}

// end closes the run's playlist.
func (f *feeder) end() {
	f.muxer.seal()
	f.publish()
	f.muxer.ended.Store(f.server.config.Now().UnixNano())
	f.muxer.viewers.close(f.server.config.Now())
}

// publish publishes new states, if there are some, and wakes all waiting requests.
func (f *feeder) publish() {
	changed := f.muxer.window.changed
	if changed {
		f.measure()
	}
	f.muxer.publishAll(f.fps)
	if changed {
		f.muxer.reportPlayable()
	}
}

// measure updates the picture rate.
func (f *feeder) measure() {
	if d := f.cut.PictureTime(); d > 0 {
		f.fps = float64(time.Second) / float64(d)
	}
}

// reportPlayable notifies the stream when a publisher's first media is playable.
func (m *muxer) reportPlayable() {
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
