package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestIfMatch changes an object with the ETag of an older state.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, admin := s.Register(t), s.Admin(t, platform.SuperAdmin)
	for _, c := range []struct{ method, path, first, second string }{
		{
			"PUT", "/v1/admin/compliance/" + owner.TenantID,
			`{"verification":"PENDING","riskLevel":"LOW","legalHold":false}`, `{"verification":"VERIFIED","riskLevel":"LOW","legalHold":false}`,
		},
		{"PUT", "/v1/admin/settings/support.ticketMails", `{"value":false}`, `{"value":true}`},
		{"PUT", "/v1/admin/system/settings/retention.messageDays", `{"value":20}`, `{"value":30}`},
	} {
		read := admin.Call(t, "GET", c.path, nil).Is(t, 200).Header.Get("ETag")
		require.NotEmpty(t, read, c.path)
		change := func(body, match string) apitest.Response {
			r, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, strings.NewReader(body))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("If-Match", match)
			return admin.Do(t, r)
		}
		next := change(c.first, read).Is(t, 200).Header.Get("ETag")
		require.NotEqual(t, read, next)
		refused := change(c.second, read)
		refused.Problem(t, 412, "precondition_failed")
		require.Equal(t, next, refused.Header.Get("ETag"))
		change(c.second, next).Is(t, 200)
	}
}
