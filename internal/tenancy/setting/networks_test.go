package setting

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/tenancy/audit"
)

func TestNetworks(t *testing.T) {
	t.Parallel()
	list := json.RawMessage(`["192.0.2.7/24", "2001:db8::/32", "203.0.113.9"]`)
	networks, err := parseNetworks(list)
	require.NoError(t, err)
	for ip, want := range map[string]bool{
		"192.0.2.1": true, "192.0.3.1": false, "203.0.113.9": true, "203.0.113.8": false, "2001:db8::1": true, "2001:db9::1": false,
		"::ffff:192.0.2.1": true, "": false, "host": false,
	} {
		require.Equal(t, want, contains(networks, ip), ip)
	}
	require.True(t, contains(nil, "198.51.100.1"), "an empty list allows all")
	for _, wrong := range []string{`null`, `{}`, `"192.0.2.0/24"`, `["a"]`, `["192.0.2.0/33"]`, `["fe80::1%eth0"]`, `["::ffff:192.0.2.0/120"]`} {
		_, err := parseNetworks(json.RawMessage(wrong))
		require.Error(t, err, wrong)
	}
	require.NoError(t, guardNetworks(list, audit.Actor{IP: "192.0.2.1"}))
	require.NoError(t, guardNetworks(list, audit.System("operator")))
	require.ErrorContains(t, guardNetworks(list, audit.Actor{IP: "198.51.100.1"}), "198.51.100.1")
}
