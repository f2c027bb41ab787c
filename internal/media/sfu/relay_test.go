package sfu_test

import (
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// relayRig returns a server with a relay, a participant, and the participant's relay credentials.
func relayRig(t *testing.T) (*rig, *sfutest.Client, sfutest.ICEServer) {
	t.Helper()
	r := newRig(t, func(c *sfu.Config) { c.TURNAddr = "127.0.0.1:0" })
	c := r.join(t, "ada")
	return r, c, c.Messages()[0].ICEServers[0]
}

// relayClient returns a TURN client with a socket of its own.
func relayClient(t *testing.T, r *rig, s sfutest.ICEServer) *turn.Client {
	t.Helper()
	socket, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	at := r.server.TURNAddr().String()
	c, err := turn.NewClient(&turn.ClientConfig{
		STUNServerAddr: at, TURNServerAddr: at, Username: s.Username, Password: s.Credential, Realm: "showfloor", Conn: socket,
	})
	require.NoError(t, err)
	require.NoError(t, c.Listen())
	t.Cleanup(func() {
		c.Close()
		_ = socket.Close()
	})
	return c
}

// allocate makes an allocation, until the test ends.
func allocate(t *testing.T, c *turn.Client) (net.PacketConn, error) {
	t.Helper()
	lent, err := c.Allocate()
	if err == nil {
		t.Cleanup(func() { _ = lent.Close() }) // the client doesn't close it by itself
	}
	return lent, err
}

// TestTheRelayLeadsNowhereElse: with valid credentials, the relay forwards to the SFU's own socket
// only.
func TestTheRelayLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	r, _, s := relayRig(t)
	c := relayClient(t, r, s)
	relayed, err := allocate(t, c)
	require.NoError(t, err)
	for _, ip := range []string{"10.0.0.1", "192.168.1.1", "169.254.169.254", "127.0.0.2", "8.8.8.8", "0.0.0.0", "255.255.255.255", "224.0.0.1"} {
		require.Error(t, c.CreatePermission(&net.UDPAddr{IP: net.ParseIP(ip), Port: 53}), ip)
	}
	// Another service at the SFU's own address.
	bait, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = bait.Close() }()
	require.NoError(t, c.CreatePermission(r.server.Addr()))
	_, err = relayed.WriteTo([]byte("by the relay"), bait.LocalAddr())
	require.NoError(t, err)
	require.NoError(t, c.CreatePermission(r.server.Addr()), "the relay has dealt with what came before")
	direct, err := (&net.Dialer{}).DialContext(t.Context(), "udp", bait.LocalAddr().String())
	require.NoError(t, err)
	defer func() { _ = direct.Close() }()
	_, err = direct.Write([]byte("directly"))
	require.NoError(t, err)
	b := make([]byte, 100)
	n, _, err := bait.ReadFrom(b)
	require.NoError(t, err)
	require.Equal(t, "directly", string(b[:n]))
	_, err = c.AllocateTCP()
	require.Error(t, err)
}

// TestTheRelayIsForConnectedParticipants: otherwise, a user who joins often would have the allocations
// of each join, and a removed user would keep its allocations.
func TestTheRelayIsForConnectedParticipants(t *testing.T) {
	t.Parallel()
	r, ada, s := relayRig(t)
	c := relayClient(t, r, s)
	_, err := allocate(t, c)
	require.NoError(t, err)
	forged := s
	forged.Username += "0"
	_, err = allocate(t, relayClient(t, r, forged))
	require.Error(t, err)
	for range 15 {
		_, err := allocate(t, relayClient(t, r, s))
		require.NoError(t, err)
	}
	_, err = allocate(t, relayClient(t, r, s))
	require.Error(t, err, "too many")

	r.change("sess_1", "ada", func(g *sfu.Grant) { g.Gone = "kicked" })
	ada.ExpectBye(t, "kicked")
	// pion/turn has a data race between a permission and the end of its allocation, so nothing is permitted before that.
	eventually(t, "the allocations' end", func() bool { return r.server.Stats().RelaySockets == 0 })
	require.Error(t, c.CreatePermission(r.server.Addr()))
	_, err = allocate(t, relayClient(t, r, s))
	require.Error(t, err, "the credentials have ended")
	bob := r.join(t, "bob")
	_, err = allocate(t, relayClient(t, r, bob.Messages()[0].ICEServers[0]))
	require.NoError(t, err)
}

// TestTheRelaysSocketsAreBounded: every allocation has a socket for each of the server's addresses
// that its client tries.
func TestTheRelaysSocketsAreBounded(t *testing.T) {
	t.Parallel()
	limited := func(t *testing.T, sockets int, change func(*sfu.Config)) *rig {
		t.Helper()
		return newRig(t, func(c *sfu.Config) {
			c.TURNAddr, c.Limits.RelaySockets = "127.0.0.1:0", sockets
			change(c)
		})
	}
	fill := func(t *testing.T, r *rig, c *sfutest.Client, n int) {
		t.Helper()
		for range n {
			_, err := allocate(t, relayClient(t, r, c.Messages()[0].ICEServers[0]))
			require.NoError(t, err)
		}
	}
	refused := func(t *testing.T, r *rig, c *sfutest.Client) {
		t.Helper()
		_, err := allocate(t, relayClient(t, r, c.Messages()[0].ICEServers[0]))
		require.ErrorContains(t, err, "486", "allocation quota reached")
	}

	t.Run("in all", func(t *testing.T) {
		t.Parallel()
		r := limited(t, 6, func(*sfu.Config) {})
		ada, bob := r.join(t, "ada"), r.join(t, "bob")
		fill(t, r, ada, 3)
		fill(t, r, bob, 3)
		refused(t, r, ada)
		require.Equal(t, 6, r.server.Stats().RelaySockets)
		r.change("sess_1", "ada", func(g *sfu.Grant) { g.Gone = "kicked" })
		ada.ExpectBye(t, "kicked")
		eventually(t, "her sockets are closed", func() bool { return r.server.Stats().RelaySockets == 3 })
		fill(t, r, bob, 3)
	})
	t.Run("from one address", func(t *testing.T) {
		t.Parallel()
		r := limited(t, 40, func(c *sfu.Config) {
			c.ClientIP = func(r *http.Request) netip.Addr {
				if r.URL.Query().Get("token") == "carol" {
					return netip.MustParseAddr("192.0.2.2")
				}
				return netip.MustParseAddr("192.0.2.1")
			}
		})
		ada, bob, carol := r.join(t, "ada"), r.join(t, "bob"), r.join(t, "carol")
		fill(t, r, ada, 10)
		fill(t, r, bob, 6)
		refused(t, r, bob)
		fill(t, r, carol, 5)
	})
	t.Run("of one connection", func(t *testing.T) {
		t.Parallel()
		var external []netip.Addr
		for i := range 40 {
			external = append(external, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
		}
		r := limited(t, 1000, func(c *sfu.Config) { c.ExternalIPs = external })
		ada := r.join(t, "ada")
		c := relayClient(t, r, ada.Messages()[0].ICEServers[0])
		lent, err := allocate(t, c)
		require.NoError(t, err)
		for _, ip := range external {
			_, err := lent.WriteTo([]byte("x"), &net.UDPAddr{IP: ip.AsSlice(), Port: r.server.Addr().(*net.UDPAddr).Port})
			require.NoError(t, err)
		}
		refused(t, r, ada)
		require.Equal(t, 32, r.server.Stats().RelaySockets)
	})
}
