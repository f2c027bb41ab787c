package e2e

import (
	"debug/buildinfo"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheBinaryListsItsLicences compares the list that the server serves with the modules in its binary.
func TestTheBinaryListsItsLicences(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/assets/licences.txt", nil)
	require.NoError(t, err)
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(ask)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/plain; charset=utf-8", answer.Header.Get("Content-Type"))
	list, err := io.ReadAll(answer.Body)
	require.NoError(t, err)

	binary, err := showfloorBinary()
	require.NoError(t, err)
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	require.NotEmpty(t, info.Deps)
	for _, module := range info.Deps {
		require.Contains(t, string(list), "\n"+module.Path+" "+module.Version+": ")
	}
	for _, name := range []string{"Go", "npm centrifuge", "npm hls.js", "npm swagger-ui-dist"} {
		require.Contains(t, string(list), "\n"+name+" ")
	}
}
