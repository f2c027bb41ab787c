package handlers_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/sums"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const (
	adminStreamsPath = "/v1/admin/streams"
	adminKeysPath    = "/v1/admin/stream-keys"
)

// airAs puts a stream on air and returns its connection.
func airAs(t *testing.T, s *apitest.Server, st api.Stream, source string) (conn string) {
	t.Helper()
	conn = id.New(id.Publisher)
	a := stream.Attempt{PublisherID: conn, Source: source, Key: st.StreamKey, RemoteIP: "192.0.2.1"}
	if source == stream.SourceWebRTC {
		a.Key, a.StreamID = "", st.ID
	}
	_, err := s.Streams.Publish(t.Context(), a)
	require.NoError(t, err)
	_, err = s.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
	return conn
}

// idsOf returns the ids of a page of streams.
func idsOf(page api.AdminStreamPage) []string {
	return each(page.Items, func(item api.AdminStream) string { return item.ID })
}

func each[R, T any](rows []R, convert func(R) T) []T {
	list := []T{}
	for _, r := range rows {
		list = append(list, convert(r))
	}
	return list
}

func TestAdminsListStreams(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.Support)
	a, b := s.Register(t), s.Register(t)
	idle, live, away, over := a.Stream(t, nil), a.Stream(t, nil), b.Stream(t, map[string]any{"reconnectWindowSec": 60}), b.Stream(t, nil)
	airAs(t, s, live, stream.SourceRTMP)
	require.NoError(t, s.Streams.Unpublish(t.Context(), airAs(t, s, away, stream.SourceRTMP)))
	require.NoError(t, s.Streams.Unpublish(t.Context(), airAs(t, s, over, stream.SourceWebRTC)))
	require.NoError(t, sums.AddRowCounts(t.Context(), s.Pool))

	for query, want := range map[string][]string{
		"/live":                                        {away.ID, live.ID},
		"/live?tenantId=" + a.TenantID:                 {live.ID},
		"/live?tenantId=ten_unknown":                   {},
		"/history":                                     {over.ID, away.ID, live.ID},
		"/history?status=&tenantId=":                   {over.ID, away.ID, live.ID},
		"/history?status=IDLE":                         {idle.ID},
		"/history?status=LIVE":                         {live.ID},
		"/history?status=RECONNECTING":                 {away.ID},
		"/history?status=ENDED":                        {over.ID},
		"/history?tenantId=" + b.TenantID:              {over.ID, away.ID},
		"/history?status=IDLE&tenantId=" + b.TenantID:  {},
		"/history?status=ENDED&tenantId=" + b.TenantID: {over.ID},
		"/history?status=LIVE&tenantId=" + b.TenantID:  {},
		"/history?tenantId=ten_unknown":                {},
	} {
		var page api.AdminStreamPage
		root.Call(t, "GET", adminStreamsPath+query, nil).Into(t, 200, &page)
		require.Equal(t, want, idsOf(page), query)
		require.Equal(t, len(want), page.Total, query)
	}
	for number, want := range map[int]string{1: over.ID, 2: away.ID, 3: live.ID} {
		var page api.AdminStreamPage
		root.Call(t, "GET", fmt.Sprintf("%s/history?page=%d&pageSize=1", adminStreamsPath, number), nil).Into(t, 200, &page)
		require.Equal(t, []string{want}, idsOf(page))
		require.Equal(t, 3, page.Total)
	}
	var beyond api.AdminStreamPage
	root.Call(t, "GET", adminStreamsPath+"/history?page=4&pageSize=1", nil).Into(t, 200, &beyond)
	require.Empty(t, beyond.Items)
	root.Call(t, "GET", adminStreamsPath+"/history?status=live", nil).Problem(t, 400, "invalid_input")
	root.Call(t, "GET", adminStreamsPath+"/live?page=x", nil).Problem(t, 400, "invalid_input")
}

func TestAdminsGetAStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.Support), s.Register(t)
	st := owner.Stream(t, nil)
	var d api.AdminStreamDetail
	root.Call(t, "GET", adminStreamsPath+"/"+st.ID, nil).Into(t, 200, &d)
	require.True(t, d.Publisher.IsNull())
	require.Equal(t, "stream.create", d.Audit[0].Action)
	require.Empty(t, d.Recordings)
	require.True(t, d.Stream.PictureURL.IsNull())

	conn := airAs(t, s, st, stream.SourceRTMP)
	root.Call(t, "GET", adminStreamsPath+"/"+st.ID, nil).Into(t, 200, &d)
	p := d.Publisher.MustGet()
	require.Equal(t, conn, p.ID)
	require.Equal(t, api.StreamPublisherSourceRTMP, p.Source)
	require.Equal(t, s.Node, p.Node)
	require.Equal(t, "192.0.2.1", p.RemoteIP)
	require.False(t, p.LiveAt.IsNull())
	require.Equal(t, owner.TenantID, d.Tenant.ID)
	require.Equal(t, api.StreamStatusLIVE, d.Stream.Status)
	token, found := strings.CutPrefix(d.Stream.PictureURL.MustGet(), apitest.PublicURL+"/live/")
	require.True(t, found)
	token, found = strings.CutSuffix(token, "/thumbnail.jpg")
	require.True(t, found)
	pictured, expires, err := s.Playback.CheckPicture(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, st.ID, pictured)
	require.WithinRange(t, expires, s.Clock.Now().Add(5*time.Minute), s.Clock.Now().Add(10*time.Minute))

	recorded := owner.Stream(t, map[string]any{"recordingEnabled": true})
	airAs(t, s, recorded, stream.SourceRTMP)
	root.Call(t, "GET", adminStreamsPath+"/"+recorded.ID, nil).Into(t, 200, &d)
	require.Len(t, d.Recordings, 1)
	require.Equal(t, recorded.ID, d.Recordings[0].StreamID.MustGet())
	root.Call(t, "GET", adminStreamsPath+"/str_unknown", nil).Problem(t, 404, "not_found")
}

func TestAdminsStopAStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	st := owner.Stream(t, nil)
	path := adminStreamsPath + "/" + st.ID + "/force-stop"
	root.Call(t, "POST", path, map[string]any{"reason": "no"}).Problem(t, 409, "conflict")
	root.Call(t, "POST", path, map[string]any{"reason": " "}).Problem(t, 400, "invalid_input")
	root.Call(t, "POST", adminStreamsPath+"/str_unknown/force-stop", map[string]any{"reason": "no"}).Problem(t, 404, "not_found")

	airAs(t, s, st, stream.SourceRTMP)
	var stopped api.AdminStream
	root.Call(t, "POST", path, map[string]any{"reason": "Copyright"}).Into(t, 201, &stopped)
	require.Equal(t, api.StreamStatusENDED, stopped.Status)
	require.True(t, stopped.BlockedUntil.MustGet().Equal(s.Clock.Now().Add(300*time.Second)))
	root.Call(t, "POST", path, map[string]any{"reason": "again"}).Problem(t, 409, "conflict")

	var d api.AdminStreamDetail
	root.Call(t, "GET", adminStreamsPath+"/"+st.ID, nil).Into(t, 200, &d)
	require.Equal(t, "stream.force_stop", d.Audit[0].Action)
	require.Equal(t, "Copyright", d.Audit[0].Reason.MustGet())
	require.Equal(t, "LIVE", d.Audit[0].Before.MustGet()["status"])
	require.Equal(t, "ENDED", d.Audit[0].After.MustGet()["status"])

	var page api.AdminStreamKeyPage
	root.Call(t, "GET", adminKeysPath+"?q="+st.ID, nil).Into(t, 200, &page)
	require.False(t, page.Items[0].BlockedUntil.IsNull())
	s.Clock.Advance(301 * time.Second)
	root = s.Admin(t, platform.Support)
	root.Call(t, "GET", adminKeysPath+"?q="+st.ID, nil).Into(t, 200, &page)
	require.True(t, page.Items[0].BlockedUntil.IsNull())
}

func TestAdminsListStreamKeys(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.Support)
	a, b := s.Register(t), s.Register(t)
	plain, rotated := a.Stream(t, map[string]any{"name": "Fifty % off_sale"}), b.Stream(t, map[string]any{"name": "Second"})
	airAs(t, s, rotated, stream.SourceRTMP)
	var next api.Stream
	s.Clock.Advance(time.Second)
	b.Call(t, "POST", "/v1/me/streams/"+rotated.ID+"/rotate-key", nil).Into(t, 201, &next)
	_, err := s.Pool.Exec(t.Context(), "UPDATE tenants SET name = 'Acme' WHERE id = $1", b.TenantID)
	require.NoError(t, err)
	last4 := func(st api.Stream) string { return st.StreamKey[len(st.StreamKey)-4:] }
	first, old, current := last4(plain), last4(rotated), last4(next)
	require.NoError(t, sums.AddRowCounts(t.Context(), s.Pool))

	for query, want := range map[string][]string{
		"":                                       {current, old, first},
		"?consumed=&q=&tenantId=":                {current, old, first},
		"?consumed=true":                         {old},
		"?consumed=false":                        {current, first},
		"?tenantId=" + b.TenantID:                {current, old},
		"?consumed=false&tenantId=" + b.TenantID: {current},
		"?consumed=true&tenantId=" + a.TenantID:  {},
		"?q=" + current:                          {current},
		"?q=second":                              {current, old},
		"?q=second&consumed=true":                {old},
		"?q=acme":                                {current, old},
		"?q=acme&tenantId=" + a.TenantID:         {},
		"?q=" + url.QueryEscape("y % o"):         {first},
		"?q=off_sale":                            {first},
		"?q=" + plain.ID:                         {first},
		"?q=" + a.TenantID:                       {first},
		"?q=nothing":                             {},
		"?pageSize=1&page=2&q=second":            {old},
		"?pageSize=1&page=3":                     {first},
	} {
		var page api.AdminStreamKeyPage
		root.Call(t, "GET", adminKeysPath+query, nil).Into(t, 200, &page)
		require.Equal(t, want, each(page.Items, func(k api.AdminStreamKey) string { return k.Last4 }), query)
	}
	var page api.AdminStreamKeyPage
	root.Call(t, "GET", adminKeysPath+"?pageSize=1", nil).Into(t, 200, &page)
	require.Equal(t, 3, page.Total)
	root.Call(t, "GET", adminKeysPath+"?consumed=true", nil).Into(t, 200, &page)
	require.Equal(t, 1, page.Total)
	used := page.Items[0]
	require.Equal(t, api.StreamKeyStatusROTATED, used.Status)
	require.True(t, used.Consumed)
	require.True(t, used.ConsumedAt.MustGet().Equal(used.LastUsedAt.MustGet().Time))
	root.Call(t, "GET", adminKeysPath+"?consumed=yes", nil).Problem(t, 400, "invalid_input")
}

func TestAdminsRevokeAStreamKey(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	st := owner.Stream(t, map[string]any{"reconnectWindowSec": 60})
	airAs(t, s, st, stream.SourceRTMP)
	var page api.AdminStreamKeyPage
	root.Call(t, "GET", adminKeysPath+"?tenantId="+owner.TenantID, nil).Into(t, 200, &page)
	require.Len(t, page.Items, 1)
	path := adminKeysPath + "/" + page.Items[0].ID + "/revoke"
	root.Call(t, "POST", path, map[string]any{}).Problem(t, 400, "invalid_input")
	root.Call(t, "POST", adminKeysPath+"/skey_unknown/revoke", map[string]any{"reason": "x"}).Problem(t, 404, "not_found")

	var revoked api.AdminStreamKey
	root.Call(t, "POST", path, map[string]any{"reason": "Published"}).Into(t, 201, &revoked)
	require.Equal(t, api.StreamKeyStatusREVOKED, revoked.Status)
	require.Equal(t, "Published", revoked.RevokedReason.MustGet())
	root.Call(t, "POST", path, map[string]any{"reason": "again"}).Problem(t, 409, "conflict")

	var d api.AdminStreamDetail
	root.Call(t, "GET", adminStreamsPath+"/"+st.ID, nil).Into(t, 200, &d)
	require.Equal(t, api.StreamStatusENDED, d.Stream.Status)
	require.True(t, d.Publisher.IsNull())
	require.Equal(t, "stream.revoke_key", d.Audit[0].Action)

	// The key is refused, also by the callbacks of SRS servers, until the tenant rotates it.
	callback := map[string]any{
		"client_id": "c1", "stream": st.StreamKey, "ip": "192.0.2.1", "action": "on_publish", "app": "live", "vhost": "v",
	}
	refused := s.With(t, "").Call(t, "POST", "/v1/ingest/media/publish", callback)
	require.Equal(t, 403, refused.Status)
	require.Contains(t, string(refused.Body), "rotate the stream's key")
	airAs(t, s, st, stream.SourceWebRTC) // a host's browser needs no key
	var next api.Stream
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/rotate-key", nil).Into(t, 201, &next)
	airAs(t, s, next, stream.SourceRTMP)
	root.Call(t, "POST", path, map[string]any{"reason": "again"}).Problem(t, 409, "conflict")
}

// TestRevokingTheNewKeySparesTheOldOnesBroadcast: only an encoder that publishes with the revoked key is disconnected.
func TestRevokingTheNewKeySparesTheOldOnesBroadcast(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, owner := s.Admin(t, platform.SuperAdmin), s.Register(t)
	st := owner.Stream(t, nil)
	airAs(t, s, st, stream.SourceRTMP)
	s.Clock.Advance(time.Second)
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/rotate-key", nil).Is(t, 201)
	var page api.AdminStreamKeyPage
	s.Admin(t, platform.Support).Call(t, "GET", adminKeysPath+"?tenantId="+owner.TenantID, nil).Into(t, 200, &page)
	require.Len(t, page.Items, 2)
	root.Call(t, "POST", adminKeysPath+"/"+page.Items[1].ID+"/revoke", map[string]any{"reason": "x"}).Problem(t, 409, "conflict")
	root.Call(t, "POST", adminKeysPath+"/"+page.Items[0].ID+"/revoke", map[string]any{"reason": "x"}).Is(t, 201)
	var d api.AdminStreamDetail
	root.Call(t, "GET", adminStreamsPath+"/"+st.ID, nil).Into(t, 200, &d)
	require.Equal(t, api.StreamStatusLIVE, d.Stream.Status)
}
