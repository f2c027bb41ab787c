package bench

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/seed"
	"showfloor/internal/testkit/apitest"
)

// TestEachAdminListIsMeasured: BenchmarkLists sends a request to each GET operation of admins that has no id in its path, except
// those of the admin who asks (/v1/admin/auth/) and the constant list of roles.
func TestEachAdminListIsMeasured(t *testing.T) {
	t.Parallel()
	rows, err := seed.New(seed.Counts{Tenants: 5, Streams: 40, Deliveries: 30, AuditEntries: 50, Rows: 20, Live: 2}, "", time.Now())
	require.NoError(t, err)
	measured := map[string]bool{}
	for _, c := range listCases(rows) {
		path, _, _ := strings.Cut(c.path, "?")
		measured[path] = true
	}
	for path, item := range apitest.Document(t).Paths.Map() {
		if item.GetOperation(http.MethodGet) == nil || !strings.HasPrefix(path, "/v1/admin/") || strings.Contains(path, "{") {
			continue
		}
		if strings.HasPrefix(path, "/v1/admin/auth/") || path == "/v1/admin/roles" {
			continue
		}
		require.True(t, measured[path], "BenchmarkLists has no case of %s", path)
	}
}
