package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/dbtest"
)

func TestSeedFillsADatabase(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	environ := []string{"DATABASE_URL=" + pool.Config().ConnString(), "DATA_DIR=" + t.TempDir()}
	seeds := func(args ...string) (code int, out, err string) {
		var o, e lines
		code = run(t.Context(), append([]string{"seed", "--tenants=3", "--streams=12", "--deliveries=8", "--audit-entries=20", "--rows=10"}, args...),
			environment{environ, strings.NewReader(""), &o, &e})
		return code, o.String(), e.String()
	}

	code, _, text := seeds()
	require.Equal(t, 2, code)
	require.Contains(t, text, "add --yes")

	code, out, text := seeds("--yes")
	require.Zero(t, code, text)
	require.Contains(t, text, "streams: 12 of 12 rows")
	require.Contains(t, out, "half of the rows belong to the tenant ten_")
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM webhook_deliveries").Scan(&n))
	require.Equal(t, 8, n)

	environ = append(environ, "APP_ENV=production", "MASTER_KEY=c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI=")
	code, _, text = seeds("--yes")
	require.Equal(t, 2, code, text)
	require.Contains(t, text, "test databases only")
	environ = environ[:2]

	code, _, text = seeds("--yes", "--tenant=ten_01m8gb27d4f1yaxt3f5tx3mrkh")
	require.Equal(t, 2, code)
	require.Contains(t, text, "--tenant: ten_01m8gb27d4f1yaxt3f5tx3mrkh: the tenant doesn't exist")
}
