package netaddr

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientIP(t *testing.T) {
	t.Parallel()
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48")}
	for _, c := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"198.51.100.7:5000", nil, "198.51.100.7"},
		{"198.51.100.7:5000", []string{"203.0.113.9"}, "198.51.100.7"}, // not one of our proxies: its header is ignored
		{"10.0.0.1:5000", nil, "10.0.0.1"},
		{"10.0.0.1:5000", []string{"203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:5000", []string{"1.1.1.1, 203.0.113.9"}, "203.0.113.9"}, // the left part may be forged
		{"10.0.0.1:5000", []string{"1.1.1.1", "203.0.113.9"}, "203.0.113.9"},
		{"10.0.0.1:5000", []string{"203.0.113.9, 10.2.3.4,10.9.9.9"}, "203.0.113.9"},
		{"10.0.0.1:5000", []string{"10.2.3.4"}, "10.2.3.4"}, // all are our proxies: the first one
		{"10.0.0.1:5000", []string{"203.0.113.9:4711"}, "203.0.113.9"},
		{"10.0.0.1:5000", []string{"[2001:db8::9]:4711"}, "2001:db8::9"},
		{"10.0.0.1:5000", []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		{"10.0.0.1:5000", []string{"203.0.113.9, nonsense, 10.2.3.4"}, "10.2.3.4"},
		{"10.0.0.1:5000", []string{""}, "10.0.0.1"},
		{"[2001:db8:ffff::1]:5000", []string{"2001:db8:1:2::3"}, "2001:db8:1:2::3"},
		{"[::ffff:10.0.0.1]:5000", []string{"::ffff:203.0.113.9"}, "203.0.113.9"}, // IPv4 in IPv6's form
		{"[fe80::1%eth0]:5000", nil, "fe80::1%eth0"},
		{"@", []string{"203.0.113.9"}, "@"}, // a Unix socket
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		require.Equal(t, c.want, trusted.ClientIP(r), "%s %q", c.peer, c.forwarded)
		if _, ok := parseHop(peerIP(r)); ok {
			require.Equal(t, peerIP(r), Proxies(nil).ClientIP(r), "without proxies the peer counts")
		}
	}
}

func TestNetworkOf(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{
		"203.0.113.9":            "203.0.113.9",
		"::ffff:203.0.113.9":     "::ffff:203.0.113.9",
		"2001:db8:1:2::3":        "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::":    "2001:db8:1:2::/64",
		"2001:db8:1:3::3":        "2001:db8:1:3::/64",
		"fe80::1%eth0":           "fe80::/64",
		"@":                      "@",
		"":                       "",
		"a text of any length":   "a text of any length",
		"2001:db8:1:2:3:4:5:6:7": "2001:db8:1:2:3:4:5:6:7",
	} {
		require.Equal(t, want, NetworkOf(ip), ip)
	}
}

func TestSiteOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, "203.0.113.9", SiteOf("203.0.113.9"))
	require.Equal(t, "2001:db8:1::/48", SiteOf("2001:db8:1:2::3"))
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1":          "192.0.2.1",
		"::ffff:192.0.2.1":   "192.0.2.1",
		"2001:db8:1:2:3::4":  "2001:db8:1:2::",
		"fe80::1:2:3:4%eth0": "fe80::",
	} {
		require.Equal(t, netip.MustParseAddr(want), Network(netip.MustParseAddr(address)), address)
	}
	require.False(t, Network(netip.Addr{}).IsValid())
}
