package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
)

// TestAdminsCutEncodersOfAnotherServer has an encoder at one server and the admin at another one. A forced stop and a revoked key
// disconnect the encoder, and neither key can be used at once afterwards. The measurements are shown at both servers.
func TestAdminsCutEncodersOfAnotherServer(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	shared := []option{
		asNode, set("DATABASE_URL", pool.Config().ConnString()), set("ADMIN_PASSWORD", "the root's password"),
		set("MASTER_KEY", "c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI="),
	}
	desk, studio := serve(t, shared...), serve(t, shared...)
	admin := adminClient(t, desk, "admin@localhost", "the root's password")
	a := signUp(t, studio)
	stopped, leaked := a.newStream(api.StreamModeLOWLATENCY, 0), a.newStream(api.StreamModeSTANDARD, 60)
	first, second := encode(t, target(stopped)), encode(t, target(leaked))
	a.await(stopped.ID, api.StreamStatusLIVE)
	a.await(leaked.ID, api.StreamStatusLIVE)
	until(t, "the measurements are at the other server", func() bool {
		answer, err := admin.GetAdminStreamInspectionWithResponse(t.Context(), stopped.ID)
		require.NoError(t, err)
		return answer.JSON200 != nil && len(answer.JSON200.Tracks) == 2 && answer.JSON200.Tracks[0].BitrateKbps > 0 &&
			len(answer.JSON200.HealthHistory) > 0
	})
	measured, err := admin.GetAdminStreamInspectionWithResponse(t.Context(), stopped.ID)
	require.NoError(t, err)
	t.Logf("tracks %+v, key frames %+v, timing %+v, outputs %+v", measured.JSON200.Tracks, measured.JSON200.KeyFrames,
		measured.JSON200.Timing, measured.JSON200.Outputs)

	seen, err := admin.GetAdminStreamWithResponse(t.Context(), stopped.ID)
	require.NoError(t, err)
	picture, err := url.Parse(seen.JSON200.Stream.PictureURL.MustGet())
	require.NoError(t, err)
	until(t, "the other server has the picture", func() bool {
		status, body := get(t.Context(), t, desk.url+picture.Path)
		return status == 200 && strings.HasPrefix(body, "\xff\xd8")
	})
	seen, err = admin.GetAdminStreamWithResponse(t.Context(), stopped.ID)
	require.NoError(t, err)
	require.Zero(t, seen.JSON200.Stream.ViewerCount, "an admin is no viewer")

	began := time.Now()
	gone := created(admin.ForceStopStreamWithResponse(t.Context(), stopped.ID, api.ForcedStopInput{Reason: "Copyright"}))(t)
	require.Equal(t, api.StreamStatusENDED, gone.Status)
	first.wait(t)
	t.Logf("a forced stop disconnected the encoder in %s", time.Since(began))

	keys, err := admin.ListAdminStreamKeysWithResponse(t.Context(), &api.ListAdminStreamKeysParams{Q: &leaked.ID})
	require.NoError(t, err)
	require.Len(t, keys.JSON200.Items, 1)
	require.True(t, keys.JSON200.Items[0].Consumed)
	began = time.Now()
	created(admin.RevokeStreamKeyWithResponse(t.Context(), keys.JSON200.Items[0].ID, api.StreamKeyRevocationInput{Reason: "Published"}))(t)
	second.wait(t)
	t.Logf("a revoked key disconnected the encoder in %s", time.Since(began))
	a.await(leaked.ID, api.StreamStatusENDED)

	encode(t, target(stopped)).wait(t) // both are refused
	encode(t, target(leaked)).wait(t)
	rotated, err := a.RotateStreamKeyWithResponse(t.Context(), leaked.ID)
	require.NoError(t, err)
	third := encode(t, target(*rotated.JSON201))
	a.await(leaked.ID, api.StreamStatusLIVE)
	third.kill()
}
