package rtmp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Message types of RTMP 1.0, section 5.4 and 7.1.
const (
	typeSetChunkSize  = 1
	typeAbort         = 2
	typeAck           = 3
	typeUserControl   = 4
	typeWindowAckSize = 5
	typePeerBandwidth = 6
	typeAudio         = 8
	typeVideo         = 9
	typeCommandAMF3   = 17
	typeCommandAMF0   = 20
	typeAggregate     = 22
)

// Bounds of one connection's memory. Nothing is allocated because a header announces it:
// buffers grow with the received bytes.
const (
	maxChunkSize    = 1 << 20
	maxChunkStreams = 64
	maxVideo        = 4 << 20
	maxAudio        = 256 << 10
	maxCommand      = 32 << 10
	maxControl      = 64
	// maxAssembling bounds the unfinished messages of all chunk streams together, in bytes;
	// unprovenAssembling is this bound before a publish is accepted.
	maxAssembling      = 6 << 20
	unprovenAssembling = 64 << 10
	// growStep is the space that a message's first byte allocates. Before a publish was
	// accepted it is small: a client could begin a message on each chunk stream and send no
	// more.
	growStep         = 16 << 10
	unprovenGrowStep = 256

	defaultChunkSize = 128
	extendedTime     = 0xFFFFFF
	// maxRepeatedStart bounds, in milliseconds, the rule that a type 3 chunk after a type 0 chunk
	// repeats its absolute time as a delta. Some encoders mean a delta of 0 instead, which is
	// assumed above this time.
	maxRepeatedStart = 10_000
)

// message is one complete RTMP message. The body belongs to the receiver.
type message struct {
	kind byte
	time uint32 // milliseconds, wraps
	body []byte
}

// chunkStream is the header state of one chunk stream id, and the message that is being
// assembled on it.
type chunkStream struct {
	time, delta uint32
	extended    uint32
	isExtended  bool
	length      int
	kind        byte

	assembling bool
	skip       bool
	left       int
	body       []byte
}

// chunkReader assembles messages from an untrusted chunk stream.
type chunkReader struct {
	r          *bufio.Reader
	chunkSize  int
	streams    map[uint32]*chunkStream
	assembling int // capacity of all unfinished bodies in bytes
	// media accepts audio and video, and allows more memory. Before a publish was accepted,
	// audio and video are skipped.
	media bool
}

func newChunkReader(r *bufio.Reader) *chunkReader {
	return &chunkReader{r: r, chunkSize: defaultChunkSize, streams: map[uint32]*chunkStream{}}
}

// next returns the next message that the server uses. It handles chunk size and abort messages
// itself, and skips messages that the server doesn't use.
func (c *chunkReader) next() (message, error) {
	for {
		cs, err := c.chunk()
		if err != nil {
			return message{}, err
		}
		if cs == nil {
			continue
		}
		m := message{kind: cs.kind, time: cs.time, body: cs.body}
		c.assembling -= cap(cs.body)
		cs.body, cs.assembling = nil, false
		switch {
		case cs.skip:
			cs.skip = false
		case m.kind == typeSetChunkSize:
			if err := c.setChunkSize(m.body); err != nil {
				return message{}, err
			}
		case m.kind == typeAbort:
			c.abort(m.body)
		default:
			return m, nil
		}
	}
}

// limit is the largest accepted body of a message type; 0: skip the message.
func (c *chunkReader) limit(kind byte) int {
	switch kind {
	case typeSetChunkSize, typeAbort, typeAck, typeUserControl, typeWindowAckSize, typePeerBandwidth:
		return maxControl
	case typeCommandAMF0, typeCommandAMF3:
		return maxCommand
	case typeAudio:
		if c.media {
			return maxAudio
		}
	case typeVideo, typeAggregate:
		if c.media {
			return maxVideo
		}
	}
	// Metadata (which is unreliable), shared objects, unknown types.
	return 0
}

// chunk reads one chunk; it returns the chunk stream if a message is complete.
func (c *chunkReader) chunk() (*chunkStream, error) {
	first, err := c.r.ReadByte()
	if err != nil {
		return nil, err
	}
	id, err := c.chunkStreamID(first & 0x3F)
	if err != nil {
		return nil, err
	}
	format := first >> 6
	cs, known := c.streams[id]
	if !known {
		// A type 1 chunk is enough to start with: librtmp can do so.
		if format > 1 {
			return nil, fmt.Errorf("chunk stream %d starts with a type %d chunk", id, format)
		}
		if len(c.streams) >= maxChunkStreams {
			return nil, errors.New("too many chunk streams")
		}
		cs = &chunkStream{}
		c.streams[id] = cs
	}
	if err := c.header(cs, format); err != nil {
		return nil, err
	}
	if err := c.payload(cs); err != nil {
		return nil, err
	}
	if cs.left > 0 {
		return nil, nil
	}
	return cs, nil
}

func (c *chunkReader) chunkStreamID(low byte) (uint32, error) {
	switch low {
	case 0:
		b, err := c.r.ReadByte()
		return uint32(b) + 64, unexpected(err)
	case 1:
		b, err := c.take(2)
		if err != nil {
			return 0, err
		}
		return uint32(binary.LittleEndian.Uint16(b)) + 64, nil
	}
	return uint32(low), nil
}

// header reads a chunk's message header, and starts a message if one begins.
func (c *chunkReader) header(cs *chunkStream, format byte) error {
	if format == 3 {
		if err := c.repeatedTime(cs); err != nil {
			return err
		}
		if cs.assembling {
			return nil
		}
		cs.time += cs.delta
		return c.begin(cs)
	}
	if cs.assembling {
		// The sender has abandoned the unfinished message.
		c.drop(cs)
	}
	b, err := c.take([...]int{11, 7, 3}[format])
	if err != nil {
		return err
	}
	field := uint24(b)
	if format < 2 {
		cs.length, cs.kind = int(uint24(b[3:])), b[6]
	}
	cs.isExtended = field == extendedTime
	if cs.isExtended {
		if b, err = c.take(4); err != nil {
			return err
		}
		field = binary.BigEndian.Uint32(b)
		cs.extended = field
	}
	cs.delta = field
	if format == 0 {
		cs.time = field
		if field >= maxRepeatedStart {
			cs.delta = 0
		}
	} else {
		cs.time += field
	}
	return c.begin(cs)
}

// repeatedTime skips the extended timestamp of a type 3 chunk. Most senders repeat it and some
// don't, so it is only skipped if it has the expected value.
func (c *chunkReader) repeatedTime(cs *chunkStream) error {
	if !cs.isExtended {
		return nil
	}
	b, err := c.r.Peek(4)
	if err != nil {
		return unexpected(err)
	}
	if v := binary.BigEndian.Uint32(b); v == cs.extended || v == cs.time {
		_, err = c.r.Discard(4)
	}
	return err
}

func (c *chunkReader) begin(cs *chunkStream) error {
	limit := c.limit(cs.kind)
	if limit > 0 && cs.length > limit {
		return fmt.Errorf("message of type %d with %d bytes, more than %d", cs.kind, cs.length, limit)
	}
	cs.assembling, cs.skip, cs.left = true, limit == 0, cs.length
	return nil
}

// payload reads the message data in this chunk.
func (c *chunkReader) payload(cs *chunkStream) error {
	n := min(c.chunkSize, cs.left)
	cs.left -= n
	if cs.skip {
		_, err := c.r.Discard(n)
		return unexpected(err)
	}
	most, _ := c.room()
	for n > 0 {
		step := min(n, most)
		if err := c.grow(cs, step); err != nil {
			return err
		}
		have := len(cs.body)
		cs.body = cs.body[:have+step]
		if _, err := io.ReadFull(c.r, cs.body[have:]); err != nil {
			return unexpected(err)
		}
		n -= step
	}
	return nil
}

// room returns the steps by which buffers grow, and the bound for all of them, in bytes.
func (c *chunkReader) room() (step, total int) {
	if c.media {
		return growStep, maxAssembling
	}
	return unprovenGrowStep, unprovenAssembling
}

// grow makes room for n more bytes, which the caller reads next.
func (c *chunkReader) grow(cs *chunkStream, n int) error {
	have := len(cs.body)
	if have+n <= cap(cs.body) {
		return nil
	}
	step, total := c.room()
	size := min(cs.length, max(2*cap(cs.body), have+n, step))
	if c.assembling += size - cap(cs.body); c.assembling > total {
		return errors.New("too many unfinished messages")
	}
	grown := make([]byte, have, size)
	copy(grown, cs.body)
	cs.body = grown
	return nil
}

func (c *chunkReader) setChunkSize(body []byte) error {
	if len(body) < 4 {
		return errors.New("short chunk size message")
	}
	size := binary.BigEndian.Uint32(body)
	if size == 0 || size > maxChunkSize {
		return fmt.Errorf("chunk size %d", size)
	}
	c.chunkSize = int(size)
	return nil
}

func (c *chunkReader) abort(body []byte) {
	if len(body) < 4 {
		return
	}
	if cs := c.streams[binary.BigEndian.Uint32(body)]; cs != nil && cs.assembling {
		c.drop(cs)
	}
}

func (c *chunkReader) drop(cs *chunkStream) {
	c.assembling -= cap(cs.body)
	cs.body, cs.assembling, cs.skip, cs.left = nil, false, false, 0
}

// take returns the next n bytes, which stay valid until the next read.
func (c *chunkReader) take(n int) ([]byte, error) {
	b, err := c.r.Peek(n)
	if err != nil {
		return nil, unexpected(err)
	}
	_, err = c.r.Discard(n)
	return b, err
}

// unexpected converts io.EOF to io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func uint24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// appendMessage appends one message as a single type 0 chunk. The body must not be longer than
// outChunkSize, which the server announces first.
func appendMessage(dst []byte, chunkStream, kind byte, stream uint32, body []byte) []byte {
	n := len(body)
	dst = append(dst, chunkStream, 0, 0, 0, byte(n>>16), byte(n>>8), byte(n), kind)
	dst = binary.LittleEndian.AppendUint32(dst, stream)
	return append(dst, body...)
}
