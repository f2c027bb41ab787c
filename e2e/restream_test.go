package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// restreamTarget adds a target with an address.
func (a *tenant) restreamTarget(address string) api.RestreamTarget {
	a.t.Helper()
	return created(a.CreateRestreamTargetWithResponse(a.t.Context(), api.RestreamTargetInput{
		Name: "Elsewhere", Platform: "custom", RtmpURL: &address,
	}))(a.t)
}

// routes returns a stream's routes by the ids of their targets.
func (a *tenant) routes(streamID string) map[string]api.RestreamRoute {
	a.t.Helper()
	answer, err := a.ListRestreamRoutesWithResponse(a.t.Context(), streamID, nil)
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	list := map[string]api.RestreamRoute{}
	for _, r := range slices.Backward(*answer.JSON200) {
		list[r.TargetID] = r
	}
	return list
}

// isConnected reports whether the target has accepted a connection after a time.
func isConnected(r api.RestreamRoute, after time.Time) bool {
	h, err := r.Health.Get()
	if err != nil {
		return false
	}
	at, err := h.ConnectedAt.Get()
	return err == nil && at.After(after)
}

// packets returns the hashes of a file's coded pictures, in order.
func packets(t testing.TB, path string) (hashes []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-c", "copy", "-f", "framehash", "-hash", "md5", "-").
		CombinedOutput()
	require.NoError(t, err, string(out))
	for line := range strings.Lines(string(out)) {
		if fields := strings.Split(strings.TrimSpace(line), ","); len(fields) > 5 && !strings.HasPrefix(line, "#") {
			hashes = append(hashes, strings.TrimSpace(fields[5]))
		}
	}
	return hashes
}

// TestRestream: a stream goes out to another server and to ffmpeg, unchanged, while a third target refuses it. After kill -9 both come
// back, without a further event. The addresses are in no log.
func TestRestream(t *testing.T) {
	t.Parallel()
	s, there := serve(t, onTestDatabase), serve(t, onTestDatabase)
	a, b := signUp(t, s), signUp(t, there)
	db, err := pgx.Connect(t.Context(), s.settings["DATABASE_URL"])
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), "UPDATE tenants SET plan = 'PRO'")
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	hooks := newSink(t, a, nil, api.EventNameRestreamStarted, api.EventNameRestreamEnded, api.EventNameRestreamFailed)

	remote := b.newStream(api.StreamModeLOWLATENCY, 600)
	listenAt := "rtmp://" + freeAddr(t) + "/live/key-of-the-listener"
	first, second := filepath.Join(t.TempDir(), "1.flv"), filepath.Join(t.TempDir(), "2.flv")
	listener := ffmpeg(t, "-listen", "1", "-i", listenAt, "-c", "copy", first)
	ours, theirs := a.restreamTarget(target(remote)), a.restreamTarget(listenAt)
	wrong := a.restreamTarget(remote.IngestURL + "/no-such-key-at-all")

	stream := a.newStream(api.StreamModeLOWLATENCY, 600)
	attached := created(a.AttachRestreamTargetsWithResponse(t.Context(), stream.ID, api.RestreamAttachmentInput{
		TargetIds: []string{ours.ID, theirs.ID, wrong.ID},
	}))(t)
	require.Equal(t, 3, attached.Attached)
	encoder := encode(t, target(stream))
	require.ElementsMatch(t, []api.EventName{ // the targets answer in any order
		api.EventNameRestreamFailed, api.EventNameRestreamStarted, api.EventNameRestreamStarted,
	}, hooks.await(stream.ID, 3))
	b.await(remote.ID, api.StreamStatusLIVE)
	probe(t, b.playback(remote.ID).URL)
	routes := a.routes(stream.ID)
	require.Equal(t, api.RestreamRouteStatusFailed, routes[wrong.ID].Status)
	require.Contains(t, routes[wrong.ID].ErrorMessage.MustGet(), "the target refused the stream: NetStream.Publish.BadName")
	until(t, "the bitrate shows", func() bool {
		h, err := a.routes(stream.ID)[ours.ID].Health.Get()
		return err == nil && h.BitrateKbps > 100
	})

	s.kill()
	killed := time.Now()
	require.NotZero(t, encoder.wait(t))
	listener.wait(t)
	sent, got := packets(t, clip(t)), packets(t, first)
	require.Greater(t, len(got), 30)
	offset := slices.Index(sent, got[0])
	require.GreaterOrEqual(t, offset, 0)
	for i, hash := range got {
		require.Equal(t, sent[(offset+i)%len(sent)], hash, "picture %d of %d", i, len(got))
	}

	b.await(remote.ID, api.StreamStatusRECONNECTING)
	s.start(t)
	listener = ffmpeg(t, "-listen", "1", "-i", listenAt, "-c", "copy", second)
	encoder = encode(t, target(stream))
	b.await(remote.ID, api.StreamStatusLIVE)
	until(t, "both targets are connected", func() bool {
		now := a.routes(stream.ID)
		return isConnected(now[ours.ID], killed) && isConnected(now[theirs.ID], killed)
	})
	for _, id := range []string{ours.ID, theirs.ID} {
		require.Equal(t, routes[id].ID, a.routes(stream.ID)[id].ID)
		require.Equal(t, routes[id].StartedAt, a.routes(stream.ID)[id].StartedAt)
	}
	require.Len(t, hooks.settled(a), 3)

	answer, err := a.DetachRestreamTargetWithResponse(t.Context(), stream.ID, theirs.ID)
	require.NoError(t, err)
	require.Equal(t, api.RestreamRouteStatusEnded, answer.JSON200.Status)
	require.Zero(t, listener.wait(t), listener.err.String())
	require.Subset(t, sent, packets(t, second))
	deleted, err := a.DeleteRestreamTargetWithResponse(t.Context(), ours.ID)
	require.NoError(t, err)
	require.False(t, deleted.JSON200.Active)
	b.await(remote.ID, api.StreamStatusRECONNECTING)
	require.Equal(t, []api.EventName{api.EventNameRestreamEnded, api.EventNameRestreamEnded}, hooks.await(stream.ID, 5)[3:])
	require.Equal(t, api.StreamStatusLIVE, a.stream(stream.ID).Status)
	encoder.terminate(t)

	for _, secret := range []string{remote.StreamKey, "key-of-the-listener", "no-such-key-at-all", strings.TrimPrefix(remote.IngestURL, "rtmp://")} {
		require.NotContains(t, s.said(), secret)
	}
	status, metrics := get(t.Context(), t, s.admin+"/metrics")
	require.Equal(t, 200, status)
	require.Contains(t, metrics, `showfloor_restream_outcomes_total{reason="accepted"} 2`)
	require.NotContains(t, metrics, remote.StreamKey)
	_, err = os.Stat(first)
	require.NoError(t, err)
}
