package rtmp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bluenviron/gortmplib/pkg/handshake"

	"showfloor/internal/media/hub"
)

// handshake does the plain RTMP handshake: its digests prove nothing, and no client checks
// them. RTMPS replaces the encrypted variant.
func (s *session) handshake(ctx context.Context) error {
	if t, ok := s.conn.(*tls.Conn); ok {
		if err := t.HandshakeContext(ctx); err != nil {
			return err
		}
	}
	s.in = source{r: s.conn, allowed: 8 << 10}
	s.window = windowSize
	var c0 handshake.C0S0
	if err := c0.Read(&s.in); err != nil { // read unbuffered, so that a silent connection needs no buffer
		return err
	}
	buffered := bufio.NewReaderSize(&s.in, readBuffer)
	s.chunks = newChunkReader(buffered)
	if c0.Version != 3 {
		return fmt.Errorf("RTMP version %d", c0.Version)
	}
	var c1 handshake.C1S1
	if err := c1.Read(buffered); err != nil {
		return err
	}
	var out outgoing
	s1 := handshake.C1S1{Data: s.server.noise}
	s2 := handshake.C2S2{Time: c1.Time, Data: c1.Data}
	if err := errors.Join(c0.Write(&out), s1.Write(&out), s2.Write(&out)); err != nil {
		return err
	}
	if err := s.send(replies(out)); err != nil {
		return err
	}
	var c2 handshake.C2S2
	return c2.Read(buffered)
}

func (s *session) handle(ctx context.Context, m message) error {
	switch m.kind {
	case typeVideo, typeAudio:
		return s.media(m)
	case typeAggregate:
		return s.aggregate(m)
	case typeCommandAMF0, typeCommandAMF3:
		if c, ok := parseCommand(m.kind, m.body); ok {
			return s.command(ctx, c)
		}
	case typeWindowAckSize:
		if len(m.body) >= 4 {
			s.window = max(binary.BigEndian.Uint32(m.body), minWindow)
		}
	case typeUserControl:
		const pingRequest = 6
		if len(m.body) >= 6 && binary.BigEndian.Uint16(m.body) == pingRequest {
			var r replies
			r.pong(m.body[2:6])
			return s.send(r)
		}
	}
	return nil
}

// media passes an audio or video message to the feed; others are ignored.
func (s *session) media(m message) error {
	switch m.kind {
	case typeVideo:
		return s.feed.onVideo(m.time, m.body, s.in.last)
	case typeAudio:
		return s.feed.onAudio(m.time, m.body, s.in.last)
	}
	return nil
}

// aggregate extracts audio and video from an aggregate message: FLV tags whose times are
// relative to the message's time. Each tag is copied, so that one that is kept in a queue or a
// segment doesn't keep the whole message in memory.
func (s *session) aggregate(m message) error {
	const head, tail = 11, 4
	var first uint32
	for b, i := m.body, 0; len(b) >= head; i++ {
		size := int(uint24(b[1:]))
		clock := uint24(b[4:]) | uint32(b[7])<<24
		if len(b) < head+size {
			return nil
		}
		if i == 0 {
			first = clock
		}
		if kind := b[0]; kind == typeVideo || kind == typeAudio {
			part := message{kind: kind, time: m.time + clock - first, body: bytes.Clone(b[head : head+size])}
			if err := s.media(part); err != nil {
				return err
			}
		}
		b = b[min(len(b), head+size+tail):]
	}
	return nil
}

func (s *session) command(ctx context.Context, c command) error {
	if c.name != "connect" && !s.connected {
		return errConnect
	}
	var r replies
	switch c.name {
	case "connect":
		return s.connect(c)
	case "createStream":
		r.result(c.transaction, float64(streamID))
	case "releaseStream", "FCPublish":
		r.result(c.transaction, nil)
	case "publish":
		return s.publish(ctx, c)
	case "play", "play2":
		return &StatusError{codePlayFailed, "This address takes streams in; watch through the playback URL."}
	case "FCUnpublish", "deleteStream", "closeStream":
		if s.published {
			return errFinished
		}
	}
	return s.send(r)
}

func (s *session) connect(c command) error {
	if s.connected {
		return errors.New("connect twice")
	}
	name, _ := c.object.GetString("app")
	s.app, s.path, s.query = splitApp(name)
	if s.app != s.server.config.App {
		return &appError{transaction: c.transaction, app: s.server.config.App}
	}
	s.connected = true
	_, enhanced := c.object.Get("fourCcList")
	var r replies
	r.connected(c.transaction, enhanced)
	return s.send(r)
}

func (s *session) publish(ctx context.Context, c command) error {
	if s.published {
		return &StatusError{codeBadName, "This connection publishes already."}
	}
	key, query := streamKey(s.app, s.path, c.text(0), s.query)
	if key == "" || len(key) > maxKey {
		return &StatusError{codeBadName, "The stream key is missing or malformed."}
	}
	b, err := s.admit(ctx, Attempt{ConnID: s.id, App: s.app, Key: key, Query: query, RemoteIP: s.ip, Secure: s.secure})
	if err != nil {
		return err
	}
	if s.publisher, err = s.server.config.Hub.Publish(b, s.id, s.end); err != nil {
		return err
	}
	s.feed.out = s.publisher
	s.chunks.media, s.in.allowed = true, 0
	if !s.secure { // a TLS connection returns one record per read, so a short read doesn't mean that the socket is empty
		s.in.rest = s.rest
	}
	s.server.publishing(1)
	s.server.config.Log.Info("rtmp publisher on air", "conn", s.id, "stream", b.StreamID, "ip", s.ip, "secure", s.secure)
	var r replies
	r.published()
	return s.send(r)
}

// admit asks the gate when it is the connection's turn. Once the gate has accepted, published
// is set, also if admit returns an error.
func (s *session) admit(ctx context.Context, a Attempt) (b hub.Broadcast, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.server.config.Limits.PublishTime)
	defer cancel()
	if err = s.server.places.awaitCheck(ctx, s.place, a.Key); err != nil {
		return b, s.undecided(err)
	}
	said := undecided
	defer func() { // also when the gate panics
		if gone := s.server.places.settle(s.place, said); gone != nil {
			err = gone
		}
	}()
	if b, err = s.server.config.Gate.Publish(ctx, a); err == nil {
		said, s.published = accepted, true
		return b, nil
	}
	if _, ok := errors.AsType[*StatusError](err); ok {
		said = refused
	}
	return b, s.undecided(err)
}

// undecided returns the error that is sent to the client when the gate, or the wait for it,
// failed.
func (s *session) undecided(err error) error {
	if r, ok := errors.AsType[*StatusError](err); ok {
		return r
	}
	if c, ok := errors.AsType[*crowdedError](err); ok {
		return c
	}
	if s.server.stopping() {
		return hub.ErrClosed
	}
	s.server.config.Log.Error("rtmp publish could not be decided", "conn", s.id, "err", err)
	return &StatusError{codePublishFailed, "The server can't decide on this stream now. Try again."}
}
