package udp

import (
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// knock is a STUN binding request for a ufrag that carries a number.
func knock(ufrag string, number int) []byte {
	user := ufrag + ":theirs"
	b := make([]byte, 20, 64)
	b[1] = 1
	binary.BigEndian.PutUint32(b[4:], 0x2112A442)
	binary.BigEndian.PutUint32(b[8:], uint32(number))
	b = append(b, 0x80, 0x22, 0, 3, 'p', 'i', 'o', 0) // another attribute, which is padded
	b = append(b, 0, 6, 0, byte(len(user)))
	b = append(b, user...)
	b = append(b, make([]byte, -len(user)&3)...)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)-20))
	return b
}

// hear reads the next knock.
func hear(t testing.TB, c *peerConn) (number int, from netip.AddrPort) {
	t.Helper()
	b := make([]byte, 1500)
	n, from, err := c.ReadFromAddrPort(b)
	require.NoError(t, err)
	require.Greater(t, n, 12)
	return int(binary.BigEndian.Uint32(b[8:])), from
}

// say sends a packet to a mux.
func say(t testing.TB, c *Conn, b []byte, m *Mux) {
	t.Helper()
	_, err := c.WriteToAddrPort(b, addrOf(m.conn))
	require.NoError(t, err)
}

func TestWhatComesFindsWhomItIsFor(t *testing.T) {
	t.Parallel()
	p, a := peer(t, "127.0.0.1:0")
	b := open(t, p.mux.Peer(), "other")
	client := listen(t, "127.0.0.1:0")
	say(t, client, rtp(7, 100), p.mux) // from nobody that anybody knows
	say(t, client, knock("nobody", 8), p.mux)
	say(t, client, knock("other", 1), p.mux)
	number, from := hear(t, b)
	assert.Equal(t, 1, number)
	assert.Equal(t, addrOf(client), from)
	_, err := b.WriteToAddrPort(knock("", 0), from)
	require.NoError(t, err)
	// An address that was answered stays with who answered it, whatever it says.
	say(t, client, knock("ufrag", 2), p.mux)
	number, _ = hear(t, b)
	assert.Equal(t, 2, number)
	// Once that one is gone, it is anybody's.
	require.NoError(t, b.Close())
	_, _, err = b.ReadFromAddrPort(make([]byte, 100))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	say(t, client, knock("ufrag", 3), p.mux)
	number, _ = hear(t, a)
	assert.Equal(t, 3, number)
	assert.Len(t, p.mux.ports, 1)
	assert.Empty(t, p.mux.routes)
}

func TestCandidatesShareAUfrag(t *testing.T) {
	t.Parallel()
	p, a := peer(t, "127.0.0.1:0")
	b := open(t, p, "ufrag")
	client := listen(t, "127.0.0.1:0")
	require.NoError(t, a.Close())
	say(t, client, knock("ufrag", 1), p.mux)
	number, _ := hear(t, b)
	assert.Equal(t, 1, number)
	p.RemoveConnByUfrag("ufrag")
	again := open(t, p, "ufrag")
	say(t, client, knock("ufrag", 2), p.mux)
	number, _ = hear(t, again)
	assert.Equal(t, 2, number)
	require.NoError(t, p.mux.Close())
	_, _, err := again.ReadFromAddrPort(make([]byte, 100))
	require.ErrorIs(t, err, io.EOF)
	_, err = p.GetConn("late", p.mux.conn.LocalAddr())
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// TestAFloodFillsNoMemory: what an agent doesn't read fast enough is dropped, and
// disturbs no other.
func TestAFloodFillsNoMemory(t *testing.T) {
	t.Parallel()
	p, flooded := peer(t, "127.0.0.1:0")
	quiet := open(t, p.mux.Peer(), "quiet")
	client := listen(t, "127.0.0.1:0")
	for i := 0; p.mux.conn.Stats().Overrun == 0; i++ {
		say(t, client, knock("ufrag", i), p.mux)
	}
	say(t, client, knock("quiet", 5), p.mux)
	number, _ := hear(t, quiet)
	assert.Equal(t, 5, number)
	assert.LessOrEqual(t, len(flooded.port.waiting)-flooded.port.first, maxWaiting)
	// It is whole again as soon as it reads.
	for range maxWaiting {
		hear(t, flooded)
	}
	_, err := flooded.WriteToAddrPort(knock("", 0), addrOf(client))
	require.NoError(t, err)
	say(t, client, knock("ufrag", 1<<30), p.mux)
	for number != 1<<30 {
		number, _ = hear(t, flooded)
	}
}

func TestAClientHasSoManyAddresses(t *testing.T) {
	t.Parallel()
	p, conn := peer(t, "127.0.0.1:0")
	for i := range maxAddresses {
		client := listen(t, "127.0.0.1:0")
		say(t, client, knock("ufrag", i), p.mux)
		number, from := hear(t, conn)
		require.Equal(t, i, number)
		_, err := conn.WriteToAddrPort(knock("", 0), from)
		require.NoError(t, err)
		if i > 0 {
			continue
		}
		defer func() { // the first is still heard when there are too many
			for i := range 3 {
				say(t, listen(t, "127.0.0.1:0"), knock("ufrag", 1000+i), p.mux)
			}
			say(t, client, knock("ufrag", 2000), p.mux)
			number, _ := hear(t, conn)
			assert.Equal(t, 2000, number)
		}()
	}
}

func FuzzUfrag(f *testing.F) {
	f.Add(knock("ours", 1))
	f.Add([]byte(strings.Repeat("\x00", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if ours := ufragOf(b); len(ours) > len(b) {
			t.Fatal(ours)
		}
	})
}
