package handlers_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/testkit/apitest"
)

// srs is an SRS server that reports on one stream.
type srs struct {
	*apitest.Caller

	// name is the SRS server's server_id; client ids are unique within it.
	name   string
	server *apitest.Server
	owner  *apitest.Caller
	stream api.Stream
}

func newSRS(t *testing.T, fields map[string]any) *srs {
	t.Helper()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	return &srs{s.With(t, ""), id.New("vid"), s, owner, owner.Stream(t, fields)}
}

// body is a callback in the form of SRS 6. fields replace its own.
func (s *srs) body(action, client string, fields map[string]any) map[string]any {
	b := map[string]any{
		"server_id": s.name, "service_id": "3k6f2m1z", "action": action, "client_id": client, "ip": "192.0.2.10",
		"vhost": "__defaultVhost__", "app": "live", "tcUrl": "rtmp://192.0.2.1/live", "stream": s.stream.StreamKey,
		"param": "", "stream_url": "/live/x", "stream_id": "vid-124q9y3",
	}
	maps.Copy(b, fields)
	return b
}

// report sends a callback that must be accepted.
func (s *srs) report(t *testing.T, what, client string, fields map[string]any) {
	t.Helper()
	r := s.Call(t, "POST", "/v1/ingest/media/"+what, s.body("on_"+what, client, fields)).Is(t, 201)
	require.JSONEq(t, `{"code":0}`, string(r.Body))
}

// refused sends a callback that must not be accepted, in SRS's own terms.
func (s *srs) refused(t *testing.T, what, client string, fields map[string]any) {
	t.Helper()
	r := s.Call(t, "POST", "/v1/ingest/media/"+what, s.body("on_"+what, client, fields)).Is(t, 403)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(r.Body, &answer))
	code, isNumber := answer["code"].(float64)
	require.True(t, isNumber && code != 0 && code == float64(int(code)), "an integer that isn't 0: %s", r.Body)
}

func (s *srs) view(t *testing.T) api.Stream {
	t.Helper()
	var st api.Stream
	s.owner.Call(t, "GET", "/v1/me/streams/"+s.stream.ID, nil).Into(t, 200, &st)
	return st
}

// events lists the names of the tenant's events in order.
func (s *srs) events(t *testing.T) []string {
	t.Helper()
	rows, err := db.New(s.server.Pool).ListEvents(t.Context(), s.owner.TenantID)
	require.NoError(t, err)
	names := []string{}
	for _, r := range rows {
		names = append(names, r.Event)
	}
	return names
}

func TestSRSBroadcast(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.report(t, "publish", "c1", nil)
	st := s.view(t)
	require.Equal(t, api.StreamStatusLIVE, st.Status)
	require.False(t, st.StartedAt.IsNull())
	require.True(t, st.EndedAt.IsNull())
	s.server.Clock.Advance(time.Minute)
	s.report(t, "unpublish", "c1", nil)
	st = s.view(t)
	require.Equal(t, api.StreamStatusENDED, st.Status)
	started, err := st.StartedAt.Get()
	require.NoError(t, err)
	ended, err := st.EndedAt.Get()
	require.NoError(t, err)
	require.Equal(t, time.Minute, ended.Sub(started.Time))
	require.Equal(t, []string{"stream.started", "stream.ended"}, s.events(t))

	s.report(t, "publish", "c2", nil) // a new broadcast
	require.Equal(t, api.StreamStatusLIVE, s.view(t).Status)
	require.Equal(t, []string{"stream.started", "stream.ended", "stream.started"}, s.events(t))
}

func TestSRSRepeatsItself(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	for range 3 {
		s.report(t, "publish", "c1", nil)
	}
	require.Equal(t, []string{"stream.started"}, s.events(t))
	for range 3 {
		s.report(t, "unpublish", "c1", nil)
	}
	s.report(t, "publish", "c1", nil) // a late repetition of the callback
	require.Equal(t, api.StreamStatusENDED, s.view(t).Status)
	require.Equal(t, []string{"stream.started", "stream.ended"}, s.events(t))
}

func TestSRSReorders(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.report(t, "unpublish", "c1", nil)
	s.report(t, "publish", "c1", nil)
	require.Equal(t, api.StreamStatusIDLE, s.view(t).Status, "the connection was gone already")
	require.Empty(t, s.events(t))

	s.report(t, "stop", "p1", nil)
	s.report(t, "play", "p1", nil)
	require.Zero(t, s.view(t).ViewerCount)

	// The old connection's end arrives after the new one's start.
	s.report(t, "publish", "c2", nil)
	s.report(t, "publish", "c3", nil)
	s.report(t, "unpublish", "c2", nil)
	require.Equal(t, api.StreamStatusLIVE, s.view(t).Status)
	require.Equal(t, []string{"stream.started"}, s.events(t), "a take-over is no new broadcast")
	s.report(t, "unpublish", "c3", nil)
	require.Equal(t, api.StreamStatusENDED, s.view(t).Status)
}

func TestSRSDropsCallbacks(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.report(t, "unpublish", "never published", nil)
	s.report(t, "stop", "never played", nil)
	s.report(t, "publish", "c1", nil)
	// The unpublish is lost; the encoder's next connection takes over.
	s.report(t, "publish", "c2", nil)
	s.report(t, "unpublish", "c2", nil)
	require.Equal(t, api.StreamStatusENDED, s.view(t).Status)
	require.Equal(t, []string{"stream.started", "stream.ended"}, s.events(t))
}

func TestSameClientOnTwoServersIsTwoConnections(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.report(t, "publish", "c1", map[string]any{"server_id": s.name + "1"})
	s.report(t, "publish", "c1", map[string]any{"server_id": s.name + "2"})
	s.report(t, "unpublish", "c1", map[string]any{"server_id": s.name + "1"})
	require.Equal(t, api.StreamStatusLIVE, s.view(t).Status)
}

func TestSRSRefusals(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	for name, fields := range map[string]map[string]any{
		"unknown key":         {"stream": "live_nope"},
		"empty key":           {"stream": ""},
		"stream id as key":    {"stream": s.stream.ID},
		"masked key":          {"stream": "live_…" + s.stream.StreamKey[len(s.stream.StreamKey)-4:]},
		"wrong key in param":  {"param": "?key=live_nope"},
		"another case":        {"stream": strings.ToUpper(s.stream.StreamKey)},
		"key with a trailing": {"stream": s.stream.StreamKey + " "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.refused(t, "publish", "c-"+name, fields)
			s.refused(t, "play", "p-"+name, fields)
			s.refused(t, "dvr", "d-"+name, mergeFields(fields, "file", "x.mp4"))
			s.report(t, "unpublish", "u-"+name, fields) // accepted, although there is nothing to end
			s.report(t, "stop", "s-"+name, fields)
		})
	}
}

func mergeFields(m map[string]any, k string, v any) map[string]any {
	m = maps.Clone(m)
	m[k] = v
	return m
}

func TestSRSSuspendedTenant(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.owner.SetTenantStatus(t, "SUSPENDED")
	s.refused(t, "publish", "c1", nil)
	require.Empty(t, s.events(t))
}

func TestSRSKeyInParam(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	inParam := map[string]any{"stream": "anything", "param": "?vhost=x&key=" + s.stream.StreamKey}
	s.report(t, "publish", "c1", inParam)
	require.Equal(t, api.StreamStatusLIVE, s.view(t).Status)
	s.report(t, "play", "p1", map[string]any{"stream": "anything", "param": "key=" + s.stream.StreamKey})
	require.Equal(t, 1, s.view(t).ViewerCount)
	s.report(t, "unpublish", "c1", inParam)
	require.Equal(t, api.StreamStatusENDED, s.view(t).Status)
}

func TestSRSCallbackInput(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	for _, what := range []string{"publish", "unpublish", "play", "stop", "dvr"} {
		p := s.Call(t, "POST", "/v1/ingest/media/"+what, "{}").Problem(t, 400, "invalid_input")
		require.Subset(t, fieldsOf(p), []string{"client_id", "stream"}, what)
		for field, bad := range map[string]any{
			"client_id": 5, "stream": nil, "param": strings.Repeat("p", 2049), "ip": "\x00", "server_id": []string{},
		} {
			p := s.Call(t, "POST", "/v1/ingest/media/"+what, s.body("on_"+what, "c1", map[string]any{field: bad, "file": "f"})).
				Problem(t, 400, "invalid_input")
			require.Equal(t, []string{field}, fieldsOf(p), what)
		}
	}
	require.Equal(t, api.StreamStatusIDLE, s.view(t).Status)
}

func TestViewersAreCounted(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.report(t, "publish", "c1", nil)
	for _, p := range []string{"p1", "p2", "p3", "p1"} {
		s.report(t, "play", p, nil)
	}
	require.Equal(t, 3, s.view(t).ViewerCount)
	s.report(t, "stop", "p2", nil)
	s.report(t, "stop", "p2", nil)
	require.Equal(t, 2, s.view(t).ViewerCount)
	var list []api.Stream
	s.owner.Call(t, "GET", "/v1/me/streams", nil).Into(t, 200, &list)
	require.Equal(t, 2, list[0].ViewerCount)
	s.owner.Call(t, "POST", "/v1/me/streams/"+s.stream.ID+"/rotate-key", nil).Is(t, 201)
	s.report(t, "stop", "p1", nil) // with the old key
	require.Equal(t, 1, s.view(t).ViewerCount)
	s.report(t, "unpublish", "c1", nil)
	require.Zero(t, s.view(t).ViewerCount, "the end of a broadcast ends its plays")
}

func TestViewersByPlaybackToken(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	other := s.owner.Stream(t, nil)
	var u api.PlaybackURL
	s.owner.Call(t, "POST", "/v1/me/streams/"+s.stream.ID+"/playback-url", nil).Into(t, 201, &u)
	token := strings.Split(u.URL, "/")[4]
	watch := func(id, token string) map[string]any { return map[string]any{"stream": id, "param": "?token=" + token} }
	s.report(t, "play", "p1", watch(s.stream.ID, token))
	require.Equal(t, 1, s.view(t).ViewerCount)
	s.refused(t, "play", "p2", watch(other.ID, token))
	s.refused(t, "play", "p3", watch(s.stream.ID, token[:len(token)-2]+"AA"))
	s.server.Clock.Advance(time.Hour + time.Second)
	s.refused(t, "play", "p4", watch(s.stream.ID, token))
	s.report(t, "stop", "p1", watch(s.stream.ID, token)) // an expired token still ends its own viewer
	require.Zero(t, s.view(t).ViewerCount)
}

func TestATokenOfAnotherServiceIsIgnored(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	for _, token := range []string{"5f4dcc3b", "eyJhbGciOiJub25lIn0.eyJzdWIiOiI1In0.", "AQ", strings.Repeat("A", 100)} {
		watch := map[string]any{"stream": s.stream.StreamKey, "param": "?token=" + token}
		s.report(t, "play", token, watch)
		require.Equal(t, 1, s.view(t).ViewerCount, token)
		s.report(t, "stop", token, watch)
		require.Zero(t, s.view(t).ViewerCount, token)
		s.refused(t, "play", "by id "+token, map[string]any{"stream": s.stream.ID, "param": "?token=" + token})
	}
}

func TestDvrFileIsNotedOnce(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.report(t, "publish", "c1", nil)
	s.owner.Call(t, "POST", "/v1/me/streams/"+s.stream.ID+"/rotate-key", nil).Is(t, 201)
	s.report(t, "unpublish", "c1", nil)
	file := map[string]any{"cwd": "/usr/local/srs", "file": "./objs/nginx/html/live/x.mp4"}
	for range 3 { // after the end of the stream, with a key that isn't valid any more
		s.report(t, "dvr", "c1", file)
	}
	s.report(t, "dvr", "c1", mergeFields(file, "file", "./objs/nginx/html/live/y.mp4"))
	var files, streams int
	require.NoError(t, s.server.Pool.QueryRow(t.Context(),
		"SELECT count(*), count(DISTINCT stream_id) FROM dvr_files WHERE tenant_id = $1", s.owner.TenantID).Scan(&files, &streams))
	require.Equal(t, 2, files)
	require.Equal(t, 1, streams)
}

func TestRotationWhileLive(t *testing.T) {
	t.Parallel()
	s := newSRS(t, nil)
	s.report(t, "publish", "c1", nil)
	var rotated api.Stream
	s.owner.Call(t, "POST", "/v1/me/streams/"+s.stream.ID+"/rotate-key", nil).Into(t, 201, &rotated)
	require.Equal(t, api.StreamStatusLIVE, rotated.Status, "the broadcast goes on")
	s.refused(t, "publish", "c2", nil)
	require.Equal(t, api.StreamStatusLIVE, s.view(t).Status)
	s.report(t, "publish", "c3", map[string]any{"stream": rotated.StreamKey})
	s.report(t, "unpublish", "c1", nil) // of a connection that was replaced long ago
	require.Equal(t, api.StreamStatusLIVE, s.view(t).Status)
	require.Equal(t, []string{"stream.started"}, s.events(t))
}

func TestReconnectWindowOfAnSRSPublisher(t *testing.T) {
	t.Parallel()
	s := newSRS(t, map[string]any{"reconnectWindowSec": 60})
	s.report(t, "publish", "c1", nil)
	started := s.view(t).StartedAt
	s.report(t, "unpublish", "c1", nil)
	st := s.view(t)
	require.Equal(t, api.StreamStatusRECONNECTING, st.Status)
	require.Equal(t, api.StreamHealthStateSTALLED, st.Health.State)
	s.server.Clock.Advance(59 * time.Second)
	s.report(t, "publish", "c2", nil)
	st = s.view(t)
	require.Equal(t, api.StreamStatusLIVE, st.Status)
	require.Equal(t, started, st.StartedAt, "the same broadcast")
	require.Equal(t, []string{"stream.started"}, s.events(t))
}

const ingestSecret = "s3cret of the ingest"

// from sends a callback with this source address, directly through the router.
func from(t *testing.T, s *apitest.Server, addr, query, body string, header http.Header) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/ingest/media/unpublish"+query, strings.NewReader(body))
	r.RemoteAddr = addr
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Content-Type", "application/json")
	record := httptest.NewRecorder()
	s.Handler.ServeHTTP(record, r)
	return record.Code
}

func TestWithoutASecretOnlyThisMachineMayCall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	const body = `{"client_id":"c1","stream":"live_x"}`
	for addr, status := range map[string]int{
		"127.0.0.1:9": 201, "127.8.9.1:9": 201, "[::1]:9": 201, "[::ffff:127.0.0.1]:9": 201,
		"192.0.2.1:9": 401, "10.0.0.1:9": 401, "[2001:db8::1]:9": 401, "": 401, "nonsense": 401,
	} {
		require.Equal(t, status, from(t, s, addr, "", body, nil), addr)
	}
	for _, h := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"} {
		require.Equal(t, 401, from(t, s, "127.0.0.1:9", "", body, http.Header{h: {"127.0.0.1"}}), h)
	}
	// While no secret is configured, every secret is refused, also the empty one.
	require.Equal(t, 401, from(t, s, "192.0.2.1:9", "?secret=", body, nil))
	require.Equal(t, 401, from(t, s, "192.0.2.1:9", "", body, http.Header{"X-Ingest-Signature": {signed(t, "", body)}}))
}

func signed(t *testing.T, key, body string) string {
	t.Helper()
	m := hmac.New(sha256.New, []byte(key))
	_, err := m.Write([]byte(body))
	require.NoError(t, err)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

func TestIngestSecretAndSignature(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{IngestSecret: ingestSecret})
	const body = `{"client_id":"c1",  "stream":"live_x"}`
	good := signed(t, ingestSecret, body)
	sign := func(v string) http.Header { return http.Header{"X-Ingest-Signature": {v}} }
	for name, c := range map[string]struct {
		query, body string
		header      http.Header
		status      int
	}{
		"secret":                    {"?secret=s3cret+of+the+ingest", body, nil, 201},
		"secret and wrong code":     {"?secret=s3cret+of+the+ingest", body, sign("sha256=00"), 201},
		"signature":                 {"", body, sign(good), 201},
		"signature and wrong query": {"?secret=x", body, sign(good), 201},
		"nothing, from loopback":    {"", body, nil, 401},
		"wrong secret":              {"?secret=s3cret", body, nil, 401},
		"empty secret":              {"?secret=", body, nil, 401},
		"another body":              {"", strings.ReplaceAll(body, "  ", " "), sign(good), 401},
		"another key":               {"", body, sign(signed(t, "x", body)), 401},
		"without its prefix":        {"", body, sign(strings.TrimPrefix(good, "sha256=")), 401},
		"cut off":                   {"", body, sign(good[:20]), 401},
		"too large to check":        {"", strings.Repeat("x", 2<<20), sign(good), 413},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.status, from(t, s, "127.0.0.1:9", c.query, c.body, c.header))
		})
	}
}
