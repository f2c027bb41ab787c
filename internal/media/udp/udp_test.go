package udp

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen opens a socket that is closed at the end of the test.
func listen(t testing.TB, addr string) *Conn {
	t.Helper()
	c, err := Listen(addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	return c
}

// peer returns a Peer and its connection, as ICE uses it.
func peer(t testing.TB, addr string) (*Peer, *peerConn) {
	t.Helper()
	conn, err := Listen(addr)
	require.NoError(t, err)
	mux := NewMux(conn)
	t.Cleanup(func() { _ = mux.Close() })
	p := mux.Peer()
	return p, open(t, p, "ufrag")
}

func open(t testing.TB, p *Peer, ufrag string) *peerConn {
	t.Helper()
	c, err := p.GetConn(ufrag, p.mux.conn.LocalAddr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	pc, ok := c.(*peerConn)
	require.True(t, ok)
	return pc
}

func addrOf(c *Conn) netip.AddrPort {
	a, _ := c.LocalAddr().(*net.UDPAddr)
	return a.AddrPort()
}

// rtp returns a packet that looks like RTP and contains a number.
func rtp(number, size int) []byte {
	b := make([]byte, max(size, 16))
	b[0], b[1] = 0x80, 96
	binary.BigEndian.PutUint32(b[12:], uint32(number))
	return b
}

func number(b []byte) int { return int(binary.BigEndian.Uint32(b[12:])) }

// next reads a datagram.
func next(t testing.TB, c *Conn) []byte {
	t.Helper()
	b := make([]byte, readBytes)
	n, _, err := c.ReadFromAddrPort(b)
	require.NoError(t, err)
	return b[:n]
}

// sizes are packet sizes as of encoders: pictures split into equal pieces and a rest, and
// audio.
func sizes(n int) []int {
	random := rand.New(rand.NewPCG(1, 2))
	var all []int
	for len(all) < n {
		switch size := 900 + random.IntN(300); random.IntN(3) {
		case 0:
			for range random.IntN(100) {
				all = append(all, size)
			}
			all = append(all, 100+random.IntN(size-100))
		case 1:
			for i := range 10 {
				all = append(all, size+i/7)
			}
		default:
			all = append(all, 40+random.IntN(200))
		}
	}
	return all[:n]
}

// roundTrip sends many packets in batches and requires that they arrive in order.
func roundTrip(t *testing.T, p *Peer, conn *peerConn, to *Conn) {
	t.Helper()
	p.Flush()
	all := sizes(3000)
	received := 0
	for sent := 0; sent < len(all); {
		for range 1 + sent%150 {
			if sent == len(all) {
				break
			}
			n, err := conn.WriteToAddrPort(rtp(sent, all[sent]), addrOf(to))
			require.NoError(t, err)
			require.Equal(t, max(all[sent], 16), n)
			sent++
		}
		p.Flush()
		for ; received < sent; received++ {
			b := next(t, to)
			require.Equal(t, received, number(b))
			require.Len(t, b, max(all[received], 16))
		}
	}
	assert.Zero(t, p.mux.conn.Stats().Failed)
}

func TestPacketsArriveInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			p, conn := peer(t, addr)
			to := "127.0.0.1:0"
			if addr == "[::1]:0" {
				to = addr
			}
			roundTrip(t, p, conn, listen(t, to))
		})
	}
}

func TestOnlyRTPWaits(t *testing.T) {
	t.Parallel()
	p, conn := peer(t, "127.0.0.1:0")
	to := listen(t, "127.0.0.1:0")
	send := func(b []byte) {
		_, err := conn.WriteToAddrPort(b, addrOf(to))
		require.NoError(t, err)
	}
	// There was no Flush yet.
	send(rtp(1, 100))
	assert.Equal(t, 1, number(next(t, to)))
	p.Flush()
	send(rtp(2, 100))
	for _, first := range [][]byte{{0, 1}, {22, 254}, {0x80, 200}, {0x81, 206}} {
		send(append(first, make([]byte, 40)...))
		assert.Equal(t, first, next(t, to)[:2])
	}
	p.Flush()
	assert.Equal(t, 2, number(next(t, to)))
}

func TestAnotherDestinationIsSentToInOrder(t *testing.T) {
	t.Parallel()
	p, conn := peer(t, "127.0.0.1:0")
	a, b := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	p.Flush()
	for i, to := range []*Conn{a, a, b, b, a} {
		_, err := conn.WriteToAddrPort(rtp(i, 100), addrOf(to))
		require.NoError(t, err)
	}
	p.Flush()
	for _, want := range []int{0, 1, 4} {
		assert.Equal(t, want, number(next(t, a)))
	}
	for _, want := range []int{2, 3} {
		assert.Equal(t, want, number(next(t, b)))
	}
}

func TestManyPeersSendAtTheSameTime(t *testing.T) {
	t.Parallel()
	first, _ := peer(t, "127.0.0.1:0")
	var wg sync.WaitGroup
	for _, ufrag := range []string{"a", "b", "c", "d"} {
		p := first.mux.Peer()
		conn, to := open(t, p, ufrag), listen(t, "127.0.0.1:0")
		wg.Go(func() { roundTrip(t, p, conn, to) })
	}
	wg.Wait()
}

func TestFlushRacesWithWritesAndClose(t *testing.T) {
	t.Parallel()
	p, conn := peer(t, "127.0.0.1:0")
	to := listen(t, "127.0.0.1:0")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range 2000 {
				_, err := conn.WriteToAddrPort(rtp(i, 1000), addrOf(to))
				if err != nil {
					assert.ErrorIs(t, err, io.ErrClosedPipe)
					return
				}
			}
		})
		wg.Go(func() {
			for range 200 {
				p.Flush()
			}
		})
	}
	require.NoError(t, conn.Close())
	wg.Wait()
	require.NoError(t, p.Close())
}

func TestClosed(t *testing.T) {
	t.Parallel()
	p, conn := peer(t, "127.0.0.1:0")
	to := listen(t, "127.0.0.1:0")
	p.Flush()
	for i := range 3 {
		_, err := conn.WriteToAddrPort(rtp(i, 100), addrOf(to))
		require.NoError(t, err)
	}
	require.NoError(t, p.mux.conn.Close())
	p.Flush()
	assert.EqualValues(t, 3, p.mux.conn.Stats().Failed)
	require.NoError(t, conn.Close())
	_, err := conn.WriteToAddrPort(rtp(4, 100), addrOf(to))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	_, _, err = p.mux.conn.ReadFromAddrPort(make([]byte, 100))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = p.mux.conn.WriteToAddrPort(rtp(4, 100), addrOf(to))
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestWrongFamilyIsAnErrorOnly(t *testing.T) {
	t.Parallel()
	p, conn := peer(t, "127.0.0.1:0")
	p.Flush()
	to := netip.MustParseAddrPort("[2001:db8::1]:9")
	_, err := conn.WriteToAddrPort(rtp(1, 100), to)
	require.NoError(t, err)
	p.Flush()
	assert.EqualValues(t, 1, p.mux.conn.Stats().Failed)
}

func TestReadDeadline(t *testing.T) {
	t.Parallel()
	c := listen(t, "127.0.0.1:0")
	require.NoError(t, c.SetReadDeadline(time.Now()))
	_, _, err := c.ReadFrom(make([]byte, 10))
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	assert.True(t, timeout.Timeout())
}

func TestSendingAllocatesNothing(t *testing.T) {
	p, conn := peer(t, "127.0.0.1:0")
	to := listen(t, "127.0.0.1:0")
	p.Flush()
	packet, addr := rtp(1, 1200), addrOf(to)
	allocated := testing.AllocsPerRun(100, func() {
		for range 20 {
			_, _ = conn.WriteToAddrPort(packet, addr)
		}
		p.Flush()
	})
	if !raceEnabled {
		assert.Zero(t, int(allocated))
	}
}

// BenchmarkSend compares batches with one write for each packet of 1200 bytes.
func BenchmarkSend(b *testing.B) {
	for _, size := range []int{1, 4, 8, 20, 40} {
		b.Run("batch-"+string(rune('0'+size/10))+string(rune('0'+size%10)), func(b *testing.B) {
			p, conn := peer(b, "127.0.0.1:0")
			to := addrOf(listen(b, "127.0.0.1:0"))
			p.Flush()
			packet := rtp(1, 1200)
			b.ReportAllocs()
			for i := range b.N {
				_, _ = conn.WriteToAddrPort(packet, to)
				if i%size == size-1 {
					p.Flush()
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		})
	}
	b.Run("plain", func(b *testing.B) {
		_, conn := peer(b, "127.0.0.1:0")
		to := addrOf(listen(b, "127.0.0.1:0"))
		packet := rtp(1, 1200)
		b.ReportAllocs()
		for range b.N {
			_, _ = conn.WriteToAddrPort(packet, to)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
	})
	b.Run("net", func(b *testing.B) {
		conn := listen(b, "127.0.0.1:0")
		to := addrOf(listen(b, "127.0.0.1:0"))
		packet := rtp(1, 1200)
		for range b.N {
			_, _ = conn.udp.WriteToUDPAddrPort(packet, to)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
	})
}
