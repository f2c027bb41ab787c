package apitest

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/streams/srsapi"
)

// srsServers parses the addresses of SRS servers.
func srsServers(t testing.TB, text string) []*url.URL {
	t.Helper()
	if text == "" {
		return nil
	}
	list, err := srsapi.Parse(text)
	require.NoError(t, err)
	return list
}
