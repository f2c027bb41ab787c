package main

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADevelopmentServerOnAPublicAddressIsNoticed(t *testing.T) {
	t.Parallel()
	home := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.168.1.7"), netip.MustParseAddr("fe80::1")}
	rented := append(slices.Clone(home), netip.MustParseAddr("203.0.113.5"))
	for _, tt := range []struct {
		environ    []string
		interfaces []netip.Addr
		want       string
	}{
		{nil, home, ""},
		{nil, rented, "203.0.113.5"},
		{[]string{"APP_ENV=development"}, rented, ""},
		{[]string{"APP_ENV=production"}, rented, ""},
		{[]string{"HTTP_ADDR=127.0.0.1:8080"}, rented, ""},
		{[]string{"HTTP_ADDR=192.168.1.7:8080"}, rented, ""},
		{[]string{"HTTP_ADDR=203.0.113.5:8080"}, rented, "203.0.113.5"},
		{[]string{"HTTP_ADDR=[::]:8080"}, rented, "203.0.113.5"},
		{[]string{"HTTP_ADDR=localhost:8080"}, rented, ""},
		{[]string{"HTTP_ADDR=127.0.0.1:8080", "PUBLIC_URL=https://live.acme.com"}, home, "live.acme.com"}, // behind a proxy
		{[]string{"PUBLIC_URL=http://showfloor.local:8080"}, home, ""},
		{[]string{"PUBLIC_URL=http://studio:8080"}, home, ""},
		{[]string{"PUBLIC_URL=http://10.0.0.4:8080"}, home, ""},
		{[]string{"PUBLIC_URL=http://100.100.0.4:8080"}, home, ""},
		{[]string{"PUBLIC_URL=http://[2001:db8::1]:8080"}, home, "2001:db8::1"},
	} {
		c, err := loadConfig(tt.environ)
		require.NoError(t, err)
		require.Equal(t, tt.want, c.exposure(tt.interfaces), "%v", tt.environ)
	}
	require.Contains(t, ownAddresses(), netip.MustParseAddr("127.0.0.1"))
}
