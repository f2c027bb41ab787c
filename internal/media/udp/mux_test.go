package udp

import (
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// knock returns a STUN binding request for a ufrag, with a number.
func knock(ufrag string, number int) []byte {
	user := ufrag + ":theirs"
	b := make([]byte, 20, 64)
	b[1] = 1
	binary.BigEndian.PutUint32(b[4:], 0x2112A442)
	binary.BigEndian.PutUint32(b[8:], uint32(number))
	b = append(b, 0x80, 0x22, 0, 3, 'p', 'i', 'o', 0) // another attribute, with padding
	b = append(b, 0, 6, 0, byte(len(user)))
	b = append(b, user...)
	b = append(b, make([]byte, -len(user)&3)...)
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)-20))
	return b
}

// hear reads the next knock and returns its number.
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

// confirm makes a candidate's agent confirm a request.
func confirm(t testing.TB, c *peerConn, to netip.AddrPort) {
	t.Helper()
	b := knock("", 0)
	b[0], b[1] = 1, 1
	_, err := c.WriteToAddrPort(b, to)
	require.NoError(t, err)
}

// media reads the next media packet.
func media(t testing.TB, c *peerConn) int {
	t.Helper()
	b := make([]byte, 1500)
	n, _, err := c.ReadFromAddrPort(b)
	require.NoError(t, err)
	require.True(t, isRTP(b[:n]))
	return number(b[:n])
}

func TestPacketsReachTheirConnections(t *testing.T) {
	t.Parallel()
	p, a := peer(t, "127.0.0.1:0")
	b := open(t, p.mux.Peer(), "other")
	client := listen(t, "127.0.0.1:0")
	say(t, client, rtp(7, 100), p.mux) // from an unknown address
	say(t, client, knock("nobody", 8), p.mux)
	say(t, client, knock("other", 1), p.mux)
	number, from := hear(t, b)
	assert.Equal(t, 1, number)
	assert.Equal(t, addrOf(client), from)
	say(t, client, rtp(8, 100), p.mux) // not confirmed yet
	say(t, client, knock("other", 2), p.mux)
	number, _ = hear(t, b)
	assert.Equal(t, 2, number)
	confirm(t, b, from)
	say(t, client, rtp(9, 100), p.mux)
	assert.Equal(t, 9, media(t, b))
	// A request goes to the peer connection that it names, regardless of its source.
	say(t, client, knock("ufrag", 2), p.mux)
	number, _ = hear(t, a)
	assert.Equal(t, 2, number)
	// When that peer connection is closed, its address is unassigned.
	require.NoError(t, b.Close())
	_, _, err := b.ReadFromAddrPort(make([]byte, 100))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	say(t, client, rtp(10, 100), p.mux)
	say(t, client, knock("ufrag", 3), p.mux)
	number, _ = hear(t, a)
	assert.Equal(t, 3, number)
	assert.Len(t, p.mux.ports, 1)
	assert.Empty(t, p.mux.routes)
}

// TestTwoParticipantsBehindOneAddress: behind a NAT, they have two ports of one address.
func TestTwoParticipantsBehindOneAddress(t *testing.T) {
	t.Parallel()
	p, ada := peer(t, "127.0.0.1:0")
	bob := open(t, p.mux.Peer(), "bob")
	first, second := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	say(t, first, knock("ufrag", 1), p.mux)
	say(t, second, knock("bob", 2), p.mux)
	_, from := hear(t, ada)
	confirm(t, ada, from)
	_, from = hear(t, bob)
	confirm(t, bob, from)
	for i := range 10 {
		say(t, first, rtp(i, 100), p.mux)
		say(t, second, rtp(100+i, 100), p.mux)
		assert.Equal(t, i, media(t, ada))
		assert.Equal(t, 100+i, media(t, bob))
	}
}

// TestAForgedAddressTakesNothing: mallory forges ada's address and sends requests of her own
// from there, before and after ada's first request.
func TestAForgedAddressTakesNothing(t *testing.T) {
	t.Parallel()
	p, ada := peer(t, "127.0.0.1:0")
	var clock atomic.Int64
	p.mux.now = func() time.Time { return time.Unix(0, clock.Load()) }
	mallory := open(t, p.mux.Peer(), "mallory")
	client := listen(t, "127.0.0.1:0") // both send from here
	ask := func(ufrag string, of *peerConn) {
		say(t, client, knock(ufrag, 1), p.mux)
		_, from := hear(t, of)
		confirm(t, of, from)
	}
	ask("ufrag", ada)
	for i := range 10 {
		ask("mallory", mallory)
		say(t, client, rtp(i, 100), p.mux)
		assert.Equal(t, i, media(t, ada), "ada's media is ada's")
		clock.Add(int64(quiet) / 2)
		ask("ufrag", ada) // regular checks keep the address
	}
	// Packets that a peer connection sends by itself assign no address.
	_, err := mallory.WriteToAddrPort(rtp(1, 100), addrOf(client))
	require.NoError(t, err)
	_, err = mallory.WriteToAddrPort(knock("", 0), addrOf(client))
	require.NoError(t, err)
	say(t, client, rtp(50, 100), p.mux)
	assert.Equal(t, 50, media(t, ada))
}

// TestAnAddressThatANATHasGivenToAnotherClient: the newcomer gets the address once its former
// user has been silent for a while.
func TestAnAddressThatANATHasGivenToAnotherClient(t *testing.T) {
	t.Parallel()
	p, gone := peer(t, "127.0.0.1:0")
	var clock atomic.Int64
	p.mux.now = func() time.Time { return time.Unix(0, clock.Load()) }
	newcomer := open(t, p.mux.Peer(), "newcomer")
	client := listen(t, "127.0.0.1:0")
	say(t, client, knock("ufrag", 1), p.mux)
	_, from := hear(t, gone)
	confirm(t, gone, from)
	say(t, client, knock("newcomer", 2), p.mux)
	hear(t, newcomer)
	confirm(t, newcomer, from)
	say(t, client, rtp(1, 100), p.mux)
	assert.Equal(t, 1, media(t, gone))
	clock.Add(int64(quiet))
	say(t, client, knock("newcomer", 3), p.mux)
	hear(t, newcomer)
	confirm(t, newcomer, from)
	say(t, client, rtp(2, 100), p.mux)
	assert.Equal(t, 2, media(t, newcomer))
	assert.Empty(t, gone.port.addresses)
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

// TestAFloodFillsNoMemory: packets that an agent doesn't read fast enough are dropped; other
// agents are not affected.
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
	// It receives packets again as soon as it reads.
	for range maxWaiting {
		hear(t, flooded)
	}
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
		confirm(t, conn, from)
		if i > 0 {
			continue
		}
		defer func() { // the first address still works when there are too many
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
