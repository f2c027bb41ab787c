package rtmp

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stillServes requires that a valid publisher is accepted.
func (g *rig) stillServes(t testing.TB) {
	t.Helper()
	before := len(g.gate.left())
	c := onAir(t, g.Addr(), "other")
	c.header()
	c.frame(0)
	g.tape.await(t, "a picture", func() bool {
		for _, u := range g.tape.units {
			if u.Track.Width == 352 {
				return true
			}
		}
		return false
	})
	c.call("deleteStream", float64(9), nil, float64(1))
	require.Equal(t, codeUnpublished, c.status())
	_ = c.Close()
	g.gone(t, before+1)
}

func bare(t testing.TB, addr net.Addr) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return &client{Conn: conn, t: t, chunks: newChunkReader(bufio.NewReader(conn))}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	noise := make([]byte, 64<<10)
	_, _ = rand.Read(noise)
	noise[0] = 0xAA
	for _, b := range [][]byte{noise, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), {0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC}, {6}} {
		c := bare(t, g.Addr())
		_, _ = c.Write(b) // may fail: the server has closed
		c.closed()
	}
	for i := range 50 {
		_, _ = rand.Read(noise)
		c := dial(t, g.Addr())
		if i%2 == 0 {
			c = onAir(t, g.Addr(), "secret")
		}
		_, _ = c.Write(noise)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		c.closed()
	}
	g.stillServes(t)
}

func TestHalfHandshake(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) { c.Limits.HandshakeTime = 50 * time.Millisecond })
	for _, n := range []int{0, 1, 700, 1537, 2000} {
		c := bare(t, g.Addr())
		c.raw(append([]byte{3}, make([]byte, 3072)...)[:n])
		c.closed()
	}
	require.Equal(t, uint64(5), g.Stats().Refused["timeout"])
}

func TestHalfTLSHandshake(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) {
		c.TLSAddr, c.TLS = "127.0.0.1:0", selfSigned(t)
		c.Limits.HandshakeTime = 50 * time.Millisecond
	})
	c := bare(t, g.TLSAddr())
	c.raw([]byte{0x16, 3, 1})
	c.closed()
	require.Equal(t, uint64(1), g.Stats().Refused["timeout"])
}

func TestNothingAfterTheHandshake(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) { c.Limits.PublishTime = 50 * time.Millisecond })
	c := dial(t, g.Addr())
	c.closed()
	c = dial(t, g.Addr())
	c.connect("live")
	c.closed()
	require.Equal(t, uint64(2), g.Stats().Refused["timeout"])
}

// drip sends a message byte by byte, without an end.
func (c *client) drip() {
	c.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := c.Write([]byte{0}); err != nil {
			return
		}
	}
}

func TestSlowLoris(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) { c.Limits.PublishTime, c.Limits.IdleTime = 100*time.Millisecond, 100*time.Millisecond })
	before := dial(t, g.Addr())
	after := onAir(t, g.Addr(), "secret")
	for _, c := range []*client{before, after} {
		var w wire
		w.type0(4, 0, typeVideo, maxVideo)
		c.raw(w)
		c.drip()
		c.closed()
	}
	g.gone(t, 1)
	require.Equal(t, uint64(2), g.Stats().Refused["timeout"])
}

func TestSilentPublisherEnds(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) { c.Limits.IdleTime = 500 * time.Millisecond }) // more than the pauses of a busy machine
	c := onAir(t, g.Addr(), "secret")
	c.header()
	c.frame(0)
	c.closed()
	g.gone(t, 1)
}

func TestTooMuchBeforePublishing(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := dial(t, g.Addr())
	c.connect("live")
	var w wire
	w.type0(9, 0, 77, 60_000, make([]byte, 60_000)...)
	_, _ = c.Write(bytes.Repeat(w, 10))
	c.closed()
	require.Equal(t, uint64(1), g.Stats().Refused["protocol"])
	g.stillServes(t)
}

// TestClientThatDoesNotRead: a client that sends requests and never reads the answers is
// disconnected.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *Config) { c.Limits.WriteTime = 100 * time.Millisecond })
	c := onAir(t, g.Addr(), "secret")
	var w wire
	w.type0(2, 0, typeUserControl, 6, 0, 6, 0, 0, 0, 1)
	pings := bytes.Repeat(w, 4096)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if _, err := c.Write(pings); err != nil {
				return
			}
		}
	})
	g.gone(t, 1)
	_ = c.Close()
	wg.Wait()
	g.stillServes(t)
}

func TestTruncatedTagsDoNotEndThePublisher(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	c := onAir(t, g.Addr(), "secret")
	c.header()
	c.aacHeader("1210")
	video := []byte{0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 0x88}
	enhanced := []byte("\x91hvc1\x00\x00\x00\x00\x00\x00\x02\x26\x01")
	for n := range video {
		c.send(typeVideo, 4, 0, video[:n]...)
	}
	for n := range enhanced {
		c.send(typeVideo, 4, 0, enhanced[:n]...)
	}
	c.send(typeAudio, 5, 0, 0xAF)
	c.send(typeAudio, 5, 0, 0xAF, 1)
	c.frame(40)
	u := g.tape.first(t, 1)
	require.Equal(t, video[5:], u[0].Data)
}

// heap is the live heap in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestAbsurdSizesStayBounded(t *testing.T) { // not parallel: it measures the heap of the process
	const conns = 40
	g := newRig(t, knowing(conns))
	var open []*client
	for i := range conns {
		c := dial(t, g.Addr())
		c.connect("live")
		if i%2 == 0 {
			require.Equal(t, codePublishStart, c.publish(fmt.Sprint("k", i)))
		}
		open = append(open, c)
	}
	before := heap()
	// Each client announces 160 MiB on 40 chunk streams and sends the first bytes of it. A pong
	// means that the server has read everything before it.
	for _, c := range open {
		var w wire
		w.type0(2, 0, typeSetChunkSize, 4, 0, 0, 0, 128)
		for id := range 40 {
			w.type0(10+id, 0, typeVideo, maxVideo)
			w = append(w, make([]byte, 128)...)
		}
		c.raw(w)
		c.ping(1)
		c.pong()
	}
	after := heap()
	if after > before {
		perConn := (after - before) / conns
		t.Logf("%d KiB of heap per hostile connection", perConn>>10)
		require.Less(t, perConn, uint64(1<<20))
	}
	for _, c := range open {
		_ = c.Close()
	}
	g.gone(t, conns/2)
	g.stillServes(t)
}

// TestSmallPicturesInLargeMessages: kept data is counted by its length, so it must not keep the
// rest of its message in memory.
func TestSmallPicturesInLargeMessages(t *testing.T) { // not parallel: it measures the heap of the process
	const filler, messages = 1 << 20, 40
	picture := []byte{0, 0, 0, 2, 0x65, 0x88}
	legacy := append([]byte{0x17, 1, 0, 0, 0}, picture...)
	aggregate := append([]byte{typeVideo, 0, 0, byte(len(legacy)), 0, 0, 0, 0, 0, 0, 0}, legacy...)
	aggregate = append(aggregate, 0, 0, 0, 0) // the tag's size, which is ignored
	aggregate = append(aggregate, 18, filler>>16, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	multitrack := append([]byte("\x96\x11avc1\x00\x00\x00\x09\x00\x00\x00"), picture...)
	multitrack = append(multitrack, 1, filler>>16, 0, 0)
	for kind, head := range map[byte][]byte{typeAggregate: aggregate, typeVideo: multitrack} {
		g := newRig(t, nil)
		c := onAir(t, g.Addr(), "secret")
		c.header()
		body := slices.Concat(head, make([]byte, filler))
		var w wire
		w.type0(2, 0, typeSetChunkSize, 4, 0, 0x10, 0, 0)
		c.raw(w)
		w = nil
		w.type0(6, 0, kind, len(body), body[:1<<20]...)
		w.type3(6, body[1<<20:]...)
		before := heap()
		for range messages {
			c.raw(w)
		}
		for _, u := range g.tape.first(t, messages) {
			require.Equal(t, picture, u.Data)
		}
		if after := heap(); after > before {
			require.Less(t, after-before, uint64(messages*filler/2), "message type %d", kind)
		}
	}
}

// TestConnectionsWithoutAKeyCostLittle: unfinished messages of unauthenticated clients must use little
// memory.
func TestConnectionsWithoutAKeyCostLittle(t *testing.T) {
	t.Parallel()
	var w wire
	w.type0(2, 0, typeSetChunkSize, 4, 0, 0, 0, 1)
	for id := range maxChunkStreams - 1 {
		w.type0(3+id, 0, typeCommandAMF0, maxCommand, 'x')
	}
	c := newChunkReader(bufio.NewReader(bytes.NewReader(w)))
	_, err := c.next()
	require.ErrorIs(t, err, io.EOF)
	require.LessOrEqual(t, c.assembling, maxChunkStreams*unprovenGrowStep)

	w = nil
	w.type0(2, 0, typeSetChunkSize, 4, 0, 0, 0x7F, 0)
	for id := range 3 {
		w.type0(3+id, 0, typeCommandAMF0, maxCommand, make([]byte, 0x7F00)...)
	}
	c = newChunkReader(bufio.NewReader(bytes.NewReader(w)))
	_, err = c.next()
	require.ErrorContains(t, err, "unfinished")
}

func TestManyPublishersAtOnce(t *testing.T) {
	t.Parallel()
	const n, frames = 200, 20
	g := newRig(t, knowing(n))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c := onAir(t, g.Addr(), fmt.Sprint("k", i))
			c.header()
			for f := range frames {
				c.frame(uint32(f * 40))
			}
			c.call("FCUnpublish", float64(6), nil, "k")
			_ = c.status()
			_ = c.Close()
		})
	}
	wg.Wait()
	g.gone(t, n)
	g.tape.await(t, "all pictures", func() bool { return len(g.tape.units) == n*frames })
	require.Equal(t, uint64(n), g.Stats().Accepted)
	require.Zero(t, g.Stats().Publishing)
}
