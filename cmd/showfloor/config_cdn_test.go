package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestsOfCDNs(t *testing.T) {
	t.Parallel()
	c, err := loadConfig([]string{"CDN_ADDRESSES=198.51.100.0/24", "CDN_SECRET=sixteen letters!", "TRUSTED_PROXIES=10.0.0.1,198.51.100.0/28"})
	require.NoError(t, err)
	for _, x := range []struct {
		peer, forwarded, secret string
		want                    bool
	}{
		{"198.51.100.7:5000", "203.0.113.9", "", true},
		{"10.0.0.1:5000", "203.0.113.9, 198.51.100.200", "", true},
		{"10.0.0.1:5000", "198.51.100.200, 203.0.113.9", "", false}, // forged
		{"10.0.0.1:5000", "nonsense", "", false},
		{"203.0.113.9:5000", "198.51.100.200", "", false}, // forged
		{"203.0.113.9:5000", "", "sixteen letters!", true},
		{"203.0.113.9:5000", "", "sixteen letters?", false},
		{"@", "", "", false},
	} {
		r := &http.Request{RemoteAddr: x.peer, Header: http.Header{"X-Forwarded-For": {x.forwarded}, "X-Cdn-Secret": {x.secret}}}
		require.Equal(t, x.want, c.cdn.Sent(r), "%+v", x)
	}
	require.False(t, cdns{}.Sent(&http.Request{RemoteAddr: "198.51.100.7:5000", Header: http.Header{"X-Cdn-Secret": {""}}}), "without settings")
}
