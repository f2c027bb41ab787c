package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/dbtest"
)

// TestNoRestreamKeyIsShown: targets accept a stream, refuse it with a text that repeats the address, and can't be reached; they are
// tested, changed and deleted. No stream key and no application of an address is in the database, the log at its most verbose level, the
// metrics, the answers or the webhooks.
func TestNoRestreamKeyIsShown(t *testing.T) {
	t.Parallel()
	pool, there := dbtest.New(t), newReceiver(t)
	s := serve(t, set("DATABASE_URL", pool.Config().ConnString()), set("LOG_LEVEL", "debug"), set("RATE_LIMIT_CALLER", "off"))
	a := signUp(t, s)
	_, err := pool.Exec(t.Context(), "UPDATE tenants SET plan = 'PRO'")
	require.NoError(t, err)
	hooks := newSink(t, a, nil)
	var secrets []string
	newSecret := func(before string) string {
		secrets = append(secrets, before+rand.Text())
		return secrets[len(secrets)-1]
	}
	var answers strings.Builder
	said := func(body []byte, err error) {
		require.NoError(t, err)
		answers.Write(body)
	}
	add := func(address string) (id string) {
		answer, err := a.CreateRestreamTargetWithResponse(t.Context(), api.RestreamTargetInput{Name: "X", Platform: "custom", RtmpURL: &address})
		said(answer.Body, err)
		if answer.JSON201 != nil {
			id = answer.JSON201.ID
		}
		return id
	}
	try := func(targetID string) {
		answer, err := a.TestRestreamTargetWithResponse(t.Context(), targetID)
		said(answer.Body, err)
	}

	accepting := add(there.url(newSecret("accepted-")))
	refusing := add(there.url(newSecret(refusedKey)))
	absent := add("rtmp://" + freeAddr(t) + "/" + newSecret("app-") + "/" + newSecret("absent-"))
	require.Empty(t, add("http://"+there.addr+"/live/"+newSecret("scheme-")))
	require.Empty(t, add("rtmp://"+there.addr+":x/live/"+newSecret("port-")))
	key := newSecret("platform-")
	answer, err := a.CreateRestreamTargetWithResponse(t.Context(), api.RestreamTargetInput{Name: "X", Platform: "nowhere", StreamKey: &key})
	said(answer.Body, err)
	require.Nil(t, answer.JSON201)
	for _, id := range []string{accepting, refusing, absent} {
		require.NotEmpty(t, id)
		try(id)
	}

	stream := a.newStream(api.StreamModeLOWLATENCY, 600)
	attached, err := a.AttachRestreamTargetsWithResponse(t.Context(), stream.ID, api.RestreamAttachmentInput{
		TargetIds: []string{accepting, refusing, absent},
	})
	said(attached.Body, err)
	encoder := encode(t, target(stream))
	until(t, "the routes are live, failed, and tried again", func() bool {
		list, err := a.ListRestreamRoutesWithResponse(t.Context(), stream.ID, nil)
		said(list.Body, err)
		now := a.routes(stream.ID)
		h, err := now[absent].Health.Get()
		return err == nil && !h.LastError.IsNull() && now[accepting].Status == api.RestreamRouteStatusLive &&
			now[refusing].Status == api.RestreamRouteStatusFailed
	})
	try(accepting) // it is in use
	_, metrics := get(t.Context(), t, s.admin+"/metrics")
	moved := there.url(newSecret("moved-"))
	patched, err := a.UpdateRestreamTargetWithResponse(t.Context(), absent, api.RestreamTargetPatch{RtmpURL: &moved})
	said(patched.Body, err)
	wrong := "rtmp://localhost:70000/" + newSecret("wrong-")
	patched, err = a.UpdateRestreamTargetWithResponse(t.Context(), absent, api.RestreamTargetPatch{RtmpURL: &wrong})
	said(patched.Body, err)
	require.Nil(t, patched.JSON200)
	hooks.await(stream.ID, 3)
	detached, err := a.DetachRestreamTargetWithResponse(t.Context(), stream.ID, accepting)
	said(detached.Body, err)
	deleted, err := a.DeleteRestreamTargetWithResponse(t.Context(), refusing)
	said(deleted.Body, err)
	encoder.terminate(t)
	hooks.await(stream.ID, 4)
	hooks.settled(a)
	require.Contains(t, answers.String(), "the target refused the stream: NetStream.Publish.BadName")
	require.Contains(t, s.said(), `"level":"DEBUG"`)

	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--dbname="+pool.Config().ConnString()).Output()
	require.NoError(t, err)
	require.Contains(t, string(dump), "the target refused the stream: NetStream.Publish.BadName", "events and deliveries are in it")
	places := map[string]string{"database": string(dump), "log": s.said(), "metrics": metrics, "answers": answers.String()}
	for _, secret := range secrets {
		for form, text := range map[string]string{
			"": secret, " in hex": hex.EncodeToString([]byte(secret)), " in base64": base64.StdEncoding.EncodeToString([]byte(secret[:len(secret)/3*3])),
		} {
			for place, content := range places {
				if before, _, found := strings.Cut(content, text); found {
					t.Errorf("%s%s is in the %s, after: %s", secret, form, place, lastLine(before))
				}
			}
		}
	}
}
