package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// TestLittleDiskSpace runs a server whose disk counts as low: captures are refused with a
// code that names the cause, the operator gets one mail even if the server restarts, and
// streams continue.
func TestLittleDiskSpace(t *testing.T) {
	t.Parallel()
	s := serve(t, set("DISK_LOW", "100%"), set("DISK_VERY_LOW", "0"), set("OPERATOR_EMAIL", "operator@showfloor.example"))
	a := signUp(t, s)
	var u api.CaptureURL
	status, body := call(t, http.MethodPost, s.url+"/v1/me/webhook-tester", a.token, nil)
	require.Equal(t, 201, status, body)
	require.NoError(t, json.Unmarshal([]byte(body), &u))
	status, body = call(t, http.MethodPost, u.URL, "", nil)
	require.Equal(t, 503, status, body)
	require.Contains(t, body, `"code":"disk_space_low"`)

	status, body = call(t, http.MethodGet, s.url+"/v1/health/ready", "", nil)
	require.Equal(t, 200, status, body)
	require.Regexp(t, `"message":"free space is low: [0-9.]+ GiB \([0-9]+ bytes\) are left","name":"disk","status":"failing"`, body)

	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)

	mails := func() int {
		_, body := call(t, http.MethodGet, s.url+"/mailbox/mails", "", nil)
		return strings.Count(body, `"subject":"Disk space is low"`)
	}
	until(t, "the mail is in the mailbox", func() bool { return mails() == 1 })
	require.Zero(t, s.terminate(t))
	s.start(t)
	require.Equal(t, 1, mails())
}
