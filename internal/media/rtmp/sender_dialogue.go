package rtmp

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/bluenviron/gortmplib/pkg/handshake"
)

// Transactions of a Sender's calls. Servers answer those of releaseStream and FCPublish as they like.
const (
	callConnect = 1 + iota
	callReleaseStream
	callFCPublish
	callCreateStream
	callPublish
	callFCUnpublish
	callDeleteStream
)

// handshakeSize is the length of C1, S1, C2 and S2 in bytes.
const handshakeSize = 1536

var errUnexpectedVersion = errors.New("the server speaks another version of RTMP")

// handshake does the plain handshake. Servers that want a digest accept this one too, because encoders send it.
func (s *Sender) handshake() error {
	if err := s.expire(); err != nil {
		return err
	}
	c1 := handshake.C1S1{Data: make([]byte, handshakeSize-8)}
	var out outgoing
	if err := errors.Join(handshake.C0S0{Version: 3}.Write(&out), c1.Write(&out)); err != nil {
		return err
	}
	if err := s.write(out); err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(&s.in, 4<<10)
	s.chunks = newChunkReader(buffered)
	var s0 handshake.C0S0
	if err := s0.Read(buffered); err != nil {
		return err
	}
	if s0.Version != 3 {
		return errUnexpectedVersion
	}
	var s1 handshake.C1S1
	var s2 handshake.C2S2
	if err := s1.Read(buffered); err != nil {
		return err
	}
	if err := s2.Read(buffered); err != nil {
		return err
	}
	out = nil
	if err := (handshake.C2S2{Time: s1.Time, Data: s1.Data}).Write(&out); err != nil {
		return err
	}
	return s.write(out)
}

// connect sends connect as OBS does, and reads the codecs of enhanced RTMP that the server announces.
func (s *Sender) connect() error {
	err := s.call(0, "connect", float64(callConnect), amf0.Object{
		{Key: "app", Value: s.destination.App},
		{Key: "type", Value: "nonprivate"},
		{Key: "flashVer", Value: "FMLE/3.0 (compatible; Showfloor)"},
		{Key: "swfUrl", Value: s.destination.URL},
		{Key: "tcUrl", Value: s.destination.URL},
		{Key: "fourCcList", Value: amf0.StrictArray{"hvc1", "Opus"}},
	})
	if err != nil {
		return err
	}
	c, err := s.await(func(c command) bool { return isAnswer(c, callConnect) })
	if err != nil {
		return err
	}
	for _, v := range append(c.args, any(c.object)) {
		if o, ok := v.(amf0.Object); ok {
			s.announced(o)
		}
	}
	return nil
}

// announced notes the codecs of enhanced RTMP in an object of the answer to connect.
func (s *Sender) announced(o amf0.Object) {
	for _, e := range o {
		switch e.Key {
		case "fourCcList":
			list, _ := e.Value.(amf0.StrictArray)
			for _, v := range list {
				if name, ok := v.(string); ok {
					s.codecs[name] = true
				}
			}
		case "videoFourCcInfoMap", "audioFourCcInfoMap":
			names, _ := e.Value.(amf0.Object)
			for _, n := range names {
				s.codecs[n.Key] = true
			}
		}
	}
}

// publish publishes the stream. asked reports whether the server was asked.
func (s *Sender) publish() (asked bool, err error) {
	var size replies
	size.number(typeSetChunkSize, senderChunkSize)
	if err := s.write(size); err != nil {
		return false, err
	}
	s.chunkSize = senderChunkSize
	key := s.destination.Key
	for _, err := range []error{
		s.call(0, "releaseStream", float64(callReleaseStream), nil, key),
		s.call(0, "FCPublish", float64(callFCPublish), nil, key),
		s.call(0, "createStream", float64(callCreateStream), nil),
	} {
		if err != nil {
			return false, err
		}
	}
	c, err := s.await(func(c command) bool { return isAnswer(c, callCreateStream) })
	if err != nil {
		return true, err // releaseStream and FCPublish name the key
	}
	s.config.Reached(StepCreateStream)
	s.stream = streamID
	if len(c.args) > 0 {
		if n, ok := c.args[0].(float64); ok && n >= 0 && n <= 1<<31 {
			s.stream = uint32(n)
		}
	}
	// The type is live for all platforms; others are refused by some.
	if err := s.call(s.stream, "publish", float64(callPublish), nil, key, "live"); err != nil {
		return true, err
	}
	c, err = s.await(func(c command) bool {
		st, _ := informationOf(c)
		return c.name == "onStatus" && st.code == codePublishStart
	})
	if err != nil {
		return true, err
	}
	s.answer, _ = informationOf(c)
	s.config.Reached(StepPublish)
	return true, nil
}

// await reads until an answer, and returns it. An error status ends it with a RefusedError.
func (s *Sender) await(wanted func(c command) bool) (command, error) {
	if err := s.expire(); err != nil {
		return command{}, err
	}
	for {
		m, err := s.chunks.next()
		if err != nil {
			return command{}, err
		}
		if err := s.control(m); err != nil {
			return command{}, err
		}
		if !isCommand(m.kind) {
			continue
		}
		c, ok := parseCommand(m.kind, m.body)
		if !ok {
			continue
		}
		if wanted(c) {
			return c, nil
		}
		if err := refusal(c); err != nil && !isIgnored(c) {
			return command{}, err
		}
	}
}

// isIgnored reports whether a command is an error for a call that a server needn't know.
func isIgnored(c command) bool {
	return c.name == "_error" && (c.transaction == callReleaseStream || c.transaction == callFCPublish)
}

func isAnswer(c command, transaction float64) bool {
	return c.name == "_result" && c.transaction == transaction
}

// information is the object of a command that says what has happened.
type information struct{ level, code, description string }

// informationOf returns the first object of a command with a code or a level.
func informationOf(c command) (i information, ok bool) {
	for _, v := range c.args {
		o, _ := v.(amf0.Object)
		i.level, _ = o.GetString("level")
		i.code, _ = o.GetString("code")
		i.description, _ = o.GetString("description")
		if i.level != "" || i.code != "" {
			return i, true
		}
	}
	return i, false
}

// call sends a command in chunks of the current size.
func (s *Sender) call(stream uint32, values ...any) error {
	body, err := amf0.Data(values).Marshal()
	if err != nil {
		return fmt.Errorf("encode a command: %w", err)
	}
	return s.message(chunkStreamCommand, typeCommandAMF0, stream, 0, body, nil)
}
