package rtmp

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// senderChunkSize is the largest chunk that a Sender writes after connect, in bytes: that of OBS.
	senderChunkSize = 4096
	// senderPiece is how many bytes must leave within SenderConfig.Write.
	senderPiece = 64 << 10

	chunkStreamAudio = 4
	chunkStreamData  = 5
	chunkStreamVideo = 6
)

// Destination is the stream of another server to which a Sender publishes.
type Destination struct {
	// App is the application, which may hold slashes and a query.
	App string
	// URL is the address up to and including App.
	URL string
	// Key is the stream's name with its query. It is a secret.
	Key string
}

// SenderConfig has the limits of a Sender.
type SenderConfig struct {
	// Step bounds the handshake, and then each answer of the server.
	Step time.Duration
	// Write bounds the sending of each 64 KiB.
	Write time.Duration
	// Finish bounds the wait for the server after the end of the stream.
	Finish time.Duration
	// Burst is how many bytes the server may send at once, and Rate how many more in each second: 1 MiB and 64 KiB, if they are 0. Above
	// it, reading returns ErrFlood. An encoder gets some hundred bytes in the dialogue, and then an acknowledgement from time to time.
	Burst, Rate uint64
	// Reached is called after each step of the dialogue that succeeded, unless it is nil. It must not block.
	Reached func(SenderStep)
}

// SenderStep is a step of the dialogue up to the accepted publish.
type SenderStep string

// Steps, in their order. The stream key is sent from StepCreateStream on.
const (
	StepHandshake    SenderStep = "handshake"
	StepConnect      SenderStep = "connect"
	StepCreateStream SenderStep = "createStream"
	StepPublish      SenderStep = "publish"
)

// ErrFlood is the end of a connection whose server sends more than SenderConfig allows.
var ErrFlood = errors.New("the server sends more data than an encoder needs")

func (c SenderConfig) withDefaults() SenderConfig {
	c.Burst, c.Rate = cmp.Or(c.Burst, 1<<20), cmp.Or(c.Rate, 64<<10)
	if c.Reached == nil {
		c.Reached = func(SenderStep) {}
	}
	return c
}

// Sender publishes a stream to another RTMP server. One goroutine calls the methods that send, and another one Serve.
type Sender struct {
	conn        net.Conn
	destination Destination
	config      SenderConfig
	chunks      *chunkReader
	in          countingReader
	window      uint32 // of the server's Window Acknowledgement Size; 0 for none
	reported    uint32 // bytes that the last acknowledgement has reported

	mu        sync.Mutex // of writes
	out       []byte     // media that are to be written with the next messages
	chunkSize int

	sent   atomic.Uint64
	stream uint32
	begun  uint64 // bytes sent when the server accepted the publish
	acked  chan struct{}
	once   sync.Once

	codecs map[string]bool // FourCCs that the server announced
	answer information     // to the publish
}

// RefusedError is a server's error status to connect, createStream or publish, or later.
type RefusedError struct {
	// Code is the status code, such as NetStream.Publish.BadName.
	Code string
	// Description is the server's text. It is foreign, and may hold the stream key.
	Description string
}

func (e *RefusedError) Error() string { return "refused with " + e.Code + ": " + e.Description }

// NewSender does the handshake and the dialogue up to the accepted publish, on a connection that it then owns. If it returns an
// error, the connection is closed. asked reports whether publish was sent: some servers answer a wrong key by closing the connection.
func NewSender(ctx context.Context, conn net.Conn, d Destination, c SenderConfig) (s *Sender, asked bool, err error) {
	c = c.withDefaults()
	s = &Sender{conn: conn, destination: d, config: c, chunkSize: defaultChunkSize, acked: make(chan struct{}), codecs: map[string]bool{}}
	s.in = countingReader{conn: conn, began: time.Now(), burst: c.Burst, rate: c.Rate}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err = s.handshake(); err == nil {
		c.Reached(StepHandshake)
		if err = s.connect(); err == nil {
			c.Reached(StepConnect)
			asked, err = s.publish()
		}
	}
	if err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, asked, err
	}
	s.begun = s.sent.Load()
	return s, true, conn.SetReadDeadline(time.Time{})
}

// Supports reports whether the server announced a codec of enhanced RTMP by its FourCC.
func (s *Sender) Supports(fourCC string) bool { return s.codecs["*"] || s.codecs[fourCC] }

// Answer is the server's answer to the publish: a status code and a text, which is foreign and may hold the stream key.
func (s *Sender) Answer() (code, description string) { return s.answer.code, s.answer.description }

// Sent is the number of bytes that were sent.
func (s *Sender) Sent() uint64 { return s.sent.Load() }

// Acknowledged is closed when the server has acknowledged bytes that were sent after the publish.
func (s *Sender) Acknowledged() <-chan struct{} { return s.acked }

// Serve answers the server until the connection ends, and returns the reason: io.EOF if the server closed it, a RefusedError if it
// sent an error status.
func (s *Sender) Serve() error {
	for {
		m, err := s.chunks.next()
		if err != nil {
			return err
		}
		if err := s.control(m); err != nil {
			return err
		}
		if c, ok := parseCommand(m.kind, m.body); ok && isCommand(m.kind) {
			if err := refusal(c); err != nil && !isIgnored(c) {
				return err
			}
		}
	}
}

// Finish ends the stream: it says so, and waits until the server closes the connection. Serve must be running; served is closed when it
// returns.
func (s *Sender) Finish(served <-chan struct{}) {
	if s.call(0, "FCUnpublish", float64(callFCUnpublish), nil, s.destination.Key) == nil &&
		s.call(0, "deleteStream", float64(callDeleteStream), nil, float64(s.stream)) == nil {
		if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		timer := time.NewTimer(s.config.Finish)
		defer timer.Stop()
		select {
		case <-served:
		case <-timer.C:
		}
	}
	s.Close()
}

// Close closes the connection at once.
func (s *Sender) Close() { _ = s.conn.Close() }

// control handles the messages that keep a connection alive.
func (s *Sender) control(m message) error {
	if len(m.body) < 4 {
		return s.acknowledge()
	}
	value := binary.BigEndian.Uint32(m.body)
	switch m.kind {
	case typeAck:
		if begun := uint32(s.begun); s.begun > 0 && int32(value-begun) > 0 {
			s.once.Do(func() { close(s.acked) })
		}
	case typeWindowAckSize:
		s.window = max(value, minWindow)
	case typePeerBandwidth:
		var r replies
		r.number(typeWindowAckSize, value)
		return s.write(r)
	case typeUserControl:
		const pingRequest = 6
		if binary.BigEndian.Uint16(m.body) == pingRequest && len(m.body) >= 6 {
			var r replies
			r.pong(m.body[2:6])
			return s.write(r)
		}
	}
	return s.acknowledge()
}

// acknowledge reports the received bytes once in each window.
func (s *Sender) acknowledge() error {
	if s.window == 0 || uint32(s.in.total)-s.reported < s.window {
		return nil
	}
	s.reported = uint32(s.in.total)
	var r replies
	r.number(typeAck, s.reported)
	return s.write(r)
}

// message sends one message of a chunk stream, after the gathered media.
func (s *Sender) message(chunkStream, kind byte, stream, at uint32, head, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = appendChunks(s.out, s.chunkSize, chunkStream, kind, stream, at, head, body)
	return s.flush()
}

// gather adds a message to those that the next Flush sends. It sends them itself if they are senderPiece or more.
func (s *Sender) gather(chunkStream, kind byte, at uint32, head, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = appendChunks(s.out, s.chunkSize, chunkStream, kind, s.stream, at, head, body)
	if len(s.out) < senderPiece {
		return nil
	}
	return s.flush()
}

// Flush sends the gathered media.
func (s *Sender) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

// write sends whole messages, after the gathered media.
func (s *Sender) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out, b...)
	return s.flush()
}

// flush writes what was gathered, in pieces, so that the time-out is of a connection without progress. The caller holds mu.
func (s *Sender) flush() error {
	b := s.out
	if s.out = s.out[:0]; cap(s.out) > 1<<20 {
		s.out = nil // a huge key picture shouldn't stay in memory
	}
	for len(b) > 0 {
		if err := s.conn.SetWriteDeadline(time.Now().Add(s.config.Write)); err != nil {
			return err
		}
		n, err := s.conn.Write(b[:min(len(b), senderPiece)])
		s.sent.Add(uint64(n))
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// appendChunks appends a message whose body is head and then body, in chunks of a size. The first chunk has type 0, so that each message
// has an absolute time.
func appendChunks(dst []byte, size int, chunkStream, kind byte, stream, at uint32, head, body []byte) []byte {
	length := len(head) + len(body)
	field := min(at, extendedTime)
	dst = append(dst, chunkStream)
	dst = append24(dst, field)
	dst = append24(dst, uint32(length))
	dst = append(dst, kind)
	dst = binary.LittleEndian.AppendUint32(dst, stream)
	if field == extendedTime {
		dst = binary.BigEndian.AppendUint32(dst, at)
	}
	left := size
	for _, part := range [2][]byte{head, body} {
		for len(part) > 0 {
			if left == 0 {
				if dst, left = append(dst, 0xC0|chunkStream), size; field == extendedTime {
					dst = binary.BigEndian.AppendUint32(dst, at) // type 3 chunks repeat it (RTMP 1.0, section 5.3.1.3)
				}
			}
			n := min(left, len(part))
			dst, part, left = append(dst, part[:n]...), part[n:], left-n
		}
	}
	return dst
}

func append24(b []byte, n uint32) []byte { return append(b, byte(n>>16), byte(n>>8), byte(n)) }

func isCommand(kind byte) bool { return kind == typeCommandAMF0 || kind == typeCommandAMF3 }

// refusal returns a RefusedError for an error status; nil for any other command.
func refusal(c command) error {
	if c.name != "onStatus" && c.name != "_error" {
		return nil
	}
	if st, ok := informationOf(c); ok && (st.level == "error" || c.name == "_error") {
		return &RefusedError{Code: st.code, Description: st.description}
	}
	if c.name == "_error" {
		return &RefusedError{Code: "_error"}
	}
	return nil
}

// countingReader counts the bytes that were read, and limits them.
type countingReader struct {
	conn        net.Conn
	total       uint64
	began       time.Time
	burst, rate uint64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.conn.Read(p)
	r.total += uint64(n)
	if r.total > r.burst+uint64(time.Since(r.began).Seconds()*float64(r.rate)) {
		return 0, ErrFlood
	}
	return n, err
}

// expire bounds the next step of the dialogue.
func (s *Sender) expire() error {
	if err := s.conn.SetReadDeadline(time.Now().Add(s.config.Step)); err != nil {
		return fmt.Errorf("set a time limit: %w", err)
	}
	return nil
}
