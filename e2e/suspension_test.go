package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
)

// TestSuspensionOverTwoServers checks a suspension with the tenant's encoder
// and viewers at one server and the admin at another one on the same database.
func TestSuspensionOverTwoServers(t *testing.T) {
	t.Parallel()
	database := dbtest.New(t).Config().ConnString()
	master := base64.StdEncoding.EncodeToString([]byte(rand.Text() + rand.Text())[:32])
	shared := []option{set("DATABASE_URL", database), set("MASTER_KEY", master), set("ADMIN_PASSWORD", "the root's password")}
	desk, studio := serve(t, shared...), serve(t, shared...)
	admin := adminClient(t, desk, "admin@localhost", "the root's password")

	a := signUp(t, studio)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	url := a.playback(stream.ID).URL
	follow(t, url).load()

	said := created(admin.SuspendTenantWithResponse(t.Context(), a.id, api.SuspensionInput{Reason: "Streams copyrighted sports"}))(t)
	require.Equal(t, api.TenantStatusSUSPENDED, said.Status)
	encoder.wait(t)
	until(t, "the stream can't be watched any more", func() bool { status, _ := get(t.Context(), t, url); return status == http.StatusNotFound })
	until(t, "its key is refused", func() bool {
		answer, err := a.ListStreamsWithResponse(t.Context(), nil)
		require.NoError(t, err)
		return answer.StatusCode() == http.StatusForbidden
	})
	encode(t, target(stream)).wait(t) // the server refuses it

	created(admin.UnsuspendTenantWithResponse(t.Context(), a.id))(t)
	until(t, "its key works again", func() bool {
		answer, err := a.ListStreamsWithResponse(t.Context(), nil)
		require.NoError(t, err)
		return answer.StatusCode() == http.StatusOK
	})
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
}
