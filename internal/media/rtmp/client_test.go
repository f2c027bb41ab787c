package rtmp

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net"
	"os"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/stretchr/testify/require"
)

// client is a publisher that a test controls step by step.
type client struct {
	net.Conn
	t      testing.TB
	chunks *chunkReader
}

// dial connects and does the handshake.
func dial(t testing.TB, addr net.Addr) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	c := &client{Conn: conn, t: t, chunks: newChunkReader(bufio.NewReader(conn))}
	c.raw(append(append([]byte{3}, make([]byte, 1536)...), make([]byte, 1536)...))
	_, err = c.chunks.r.Discard(1 + 1536 + 1536)
	require.NoError(t, err)
	var w wire
	w.type0(2, 0, typeSetChunkSize, 4, 0, 0x0F, 0, 0)
	c.raw(w)
	return c
}

func (c *client) raw(b []byte) {
	c.t.Helper()
	_, err := c.Write(b)
	require.NoError(c.t, err)
}

func (c *client) send(kind byte, id int, ts uint32, body ...byte) {
	c.t.Helper()
	var w wire
	w.type0(id, ts, kind, len(body), body...)
	c.raw(w)
}

func (c *client) call(values ...any) {
	c.t.Helper()
	c.send(typeCommandAMF0, 3, 0, amf(c.t, values...)...)
}

// answer returns the next command that the server sends.
func (c *client) answer() command {
	c.t.Helper()
	for {
		m, err := c.chunks.next()
		require.NoError(c.t, err)
		if cmd, ok := parseCommand(m.kind, m.body); ok && m.kind == typeCommandAMF0 {
			return cmd
		}
	}
}

func (c *client) connect(app string) command {
	c.t.Helper()
	c.call("connect", float64(1), amf0.Object{{Key: "app", Value: app}})
	return c.answer()
}

// publish sends publish and returns the status code.
func (c *client) publish(key string) string {
	c.t.Helper()
	c.call("publish", float64(5), nil, key, "live")
	return c.status()
}

func (c *client) status() string {
	c.t.Helper()
	cmd := c.answer()
	require.Equal(c.t, "onStatus", cmd.name)
	require.Len(c.t, cmd.args, 1)
	code, _ := cmd.args[0].(amf0.Object).GetString("code")
	return code
}

// onAir does the whole dialogue.
func onAir(t testing.TB, addr net.Addr, key string) *client {
	t.Helper()
	c := dial(t, addr)
	require.Equal(t, "_result", c.connect("live").name)
	require.Equal(t, codePublishStart, c.publish(key))
	return c
}

// closed requires that the server closes the connection, gracefully or not.
func (c *client) closed() {
	c.t.Helper()
	for {
		if _, err := c.chunks.r.Discard(1); err != nil {
			require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded, "still open")
			return
		}
	}
}

// header sends an H.264 sequence header, frame a picture at ts.
func (c *client) header() {
	c.t.Helper()
	c.send(typeVideo, 4, 0, append([]byte{0x17, 0, 0, 0, 0}, avcRecord(c.t, 4, []string{testSPS}, []string{testPPS})...)...)
}

func (c *client) frame(ts uint32) {
	c.t.Helper()
	c.send(typeVideo, 4, ts, 0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 0x88)
}

func (c *client) aac(ts uint32) { c.t.Helper(); c.send(typeAudio, 5, ts, 0xAF, 1, 0x21, 0x10) }

func (c *client) aacHeader(config string) {
	c.t.Helper()
	b, err := hex.DecodeString(config)
	require.NoError(c.t, err)
	c.send(typeAudio, 5, 0, append([]byte{0xAF, 0}, b...)...)
}

func (c *client) ping(value uint32) {
	c.t.Helper()
	c.send(typeUserControl, 2, 0, binary.BigEndian.AppendUint32([]byte{0, 6}, value)...)
}

// pong waits for the answer to a ping and returns its value.
func (c *client) pong() uint32 {
	c.t.Helper()
	for {
		m, err := c.chunks.next()
		require.NoError(c.t, err)
		if m.kind == typeUserControl && binary.BigEndian.Uint16(m.body) == 7 {
			return binary.BigEndian.Uint32(m.body[2:])
		}
	}
}
