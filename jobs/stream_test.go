package jobs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
)

// TestAStoppedStreamIsDisconnectedFromItsMediaServer: a forced stop and a suspension close the encoder's connection on its SRS
// server. The first answer is a fault, so the job is tried again.
func TestAStoppedStreamIsDisconnectedFromItsMediaServer(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 10)
	failed := false
	srs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !failed { // the job makes one call at a time
			failed = true
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		calls <- r.Method + " " + r.URL.Path
		_, _ = io.WriteString(w, `{"code":0}`)
	}))
	t.Cleanup(srs.Close)
	s := apitest.New(t, apitest.Options{Jobs: true, SRSAPI: srs.URL})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	publish := func(client string) string {
		st := owner.Stream(t, nil)
		s.With(t, "").Call(t, "POST", "/v1/ingest/media/publish", map[string]any{
			"server_id": "vid-1", "client_id": client, "stream": st.StreamKey, "ip": "192.0.2.1",
			"action": "on_publish", "app": "live", "vhost": "v",
		}).Is(t, 201)
		return st.ID
	}
	called := func() string {
		select {
		case call := <-calls:
			return call
		case <-time.After(time.Minute):
			t.Fatal("the SRS server was not called")
			return ""
		}
	}
	root.Call(t, "POST", "/v1/admin/streams/"+publish("c1")+"/force-stop", map[string]any{"reason": "Copyright"}).Is(t, 201)
	require.Equal(t, "DELETE /api/v1/clients/c1", called())
	publish("c2")
	root.Call(t, "POST", "/v1/admin/tenants/"+owner.TenantID+"/suspend", map[string]any{"reason": "Copyright"}).Is(t, 201)
	require.Equal(t, "DELETE /api/v1/clients/c2", called())
}
