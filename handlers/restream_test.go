package handlers_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

const (
	targetsPath  = "/v1/me/restream/targets"
	restreamPath = "/v1/me/restream/streams/"
)

func attach(targets ...api.RestreamTarget) map[string]any {
	ids := make([]string, len(targets))
	for i, target := range targets {
		ids[i] = target.ID
	}
	return map[string]any{"targetIds": ids}
}

func routes(t *testing.T, owner *apitest.Caller, streamID string) (list []api.RestreamRoute) {
	t.Helper()
	owner.Call(t, "GET", restreamPath+streamID, nil).Into(t, 200, &list)
	return list
}

func TestRestreamTargets(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	const address = "rtmps://live.platform.example/app/key-4f9q2x"
	target := owner.RestreamTarget(t, address)
	require.Equal(t, "************4f9q2x", target.RtmpURL)
	require.True(t, target.Active)
	var list []api.RestreamTarget
	owner.Call(t, "GET", targetsPath, nil).Into(t, 200, &list)
	require.Equal(t, []api.RestreamTarget{target}, list)
	var text string
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT t::text || (SELECT string_agg(a::text, '') FROM audit_entries a) FROM restream_targets t WHERE id = $1", target.ID).Scan(&text))
	require.NotContains(t, text, "platform.example")
	require.NotContains(t, text, "key-4f9q2x")

	for _, bad := range []string{"http://h.example/a/b", "rtmp://u:p@h.example/a/b", "rtmp://h.example", "rtmp://h.example//b"} {
		owner.Call(t, "POST", targetsPath, map[string]any{"name": "n", "platform": "custom", "rtmpUrl": bad}).Problem(t, 400, "invalid_input")
	}
	s.Register(t).Call(t, "DELETE", targetsPath+"/"+target.ID, nil).Problem(t, 404, "not_found")
	var gone api.RestreamTarget
	owner.Call(t, "DELETE", targetsPath+"/"+target.ID, nil).Into(t, 200, &gone)
	target.Active = false
	require.Equal(t, target, gone)
	owner.Call(t, "DELETE", targetsPath+"/"+target.ID, nil).Problem(t, 404, "not_found")
	owner.Call(t, "GET", targetsPath, nil).Into(t, 200, &list)
	require.Empty(t, list)
	var sealed []byte
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT address FROM restream_targets WHERE id = $1", target.ID).Scan(&sealed))
	require.Nil(t, sealed)
}

func TestPrivateRestreamTargetsAreRefusedInProduction(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{Production: true}).Register(t)
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "10.0.0.1:1935", "[::1]", "169.254.169.254"} {
		body := map[string]any{"name": "n", "platform": "custom", "rtmpUrl": "rtmp://" + host + "/live/key"}
		owner.Call(t, "POST", targetsPath, body).Problem(t, 400, "invalid_input")
	}
	owner.RestreamTarget(t, "rtmp://93.184.216.34/live/key")
}

func TestAttachingAndDetaching(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "PRO")
	st := owner.Stream(t, nil)
	one, two := owner.RestreamTarget(t, "rtmp://h.example/a/1"), owner.RestreamTarget(t, "rtmp://h.example/a/2")
	foreign := s.Register(t).RestreamTarget(t, "rtmp://h.example/a/3")
	at := restreamPath + st.ID

	owner.Call(t, "POST", at, attach(one, foreign)).Problem(t, 404, "not_found")
	owner.Call(t, "POST", restreamPath+"str_unknown", attach(one)).Problem(t, 404, "not_found")
	require.Empty(t, routes(t, owner, st.ID))
	owner.Call(t, "DELETE", at+"/"+one.ID, nil).Problem(t, 404, "not_found")

	for _, body := range []map[string]any{attach(one, one), attach(one, two)} {
		var got api.RestreamAttached
		owner.Call(t, "POST", at, body).Into(t, 201, &got)
		require.Equal(t, len(body["targetIds"].([]string))-map[bool]int{true: 1}[body["targetIds"].([]string)[1] == one.ID], got.Attached)
	}
	list := routes(t, owner, st.ID)
	require.Len(t, list, 2)
	require.Equal(t, []any{two.ID, api.RestreamRouteStatusPending, "Our channel"}, []any{list[0].TargetID, list[0].Status, list[0].Target.Name})
	require.True(t, list[0].Health.IsNull(), "it isn't forwarded")

	for range 2 {
		var ended api.RestreamRoute
		owner.Call(t, "DELETE", at+"/"+one.ID, nil).Into(t, 200, &ended)
		require.Equal(t, []any{list[1].ID, api.RestreamRouteStatusEnded, true}, []any{ended.ID, ended.Status, ended.StartedAt.IsNull()})
		require.False(t, ended.EndedAt.IsNull())
		require.True(t, ended.Health.IsNull() && ended.ErrorMessage.IsNull())
	}
	owner.Call(t, "POST", at, attach(one)).Is(t, 201)
	require.Len(t, routes(t, owner, st.ID), 3, "a new route")

	owner.Call(t, "DELETE", targetsPath+"/"+one.ID, nil).Is(t, 200)
	list = routes(t, owner, st.ID)
	require.Equal(t, api.RestreamRouteStatusEnded, list[0].Status)
	require.Equal(t, api.RestreamRouteStatusPending, list[1].Status, "the other target's")
	owner.Call(t, "POST", at, attach(one)).Problem(t, 404, "not_found")
}

// TestAtMostEightTargetsPerStream: exactly, also when requests race; and fewer on a smaller plan.
func TestAtMostEightTargetsPerStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	targets := make([]api.RestreamTarget, 12)
	for i := range targets {
		targets[i] = owner.RestreamTarget(t, fmt.Sprintf("rtmp://h.example/a/%d", i))
	}
	at := restreamPath + st.ID
	owner.Call(t, "POST", at, attach(targets[0])).Is(t, 201)
	owner.Call(t, "POST", at, attach(targets[1])).Problem(t, 403, "plan_limit")
	owner.Call(t, "POST", at, attach(targets[0])).Is(t, 201)
	owner.SetPlan(t, "PRO")
	owner.Call(t, "POST", at, attach(targets[:8]...)).Is(t, 201)
	owner.Call(t, "POST", at, attach(targets[7], targets[8])).Problem(t, 400, "too_many_targets")
	for _, target := range targets[:8] {
		owner.Call(t, "DELETE", at+"/"+target.ID, nil).Is(t, 200)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for _, target := range targets {
		wg.Go(func() {
			got := owner.Call(t, "POST", at, attach(target))
			mu.Lock()
			defer mu.Unlock()
			statuses[got.Status]++
		})
	}
	wg.Wait()
	require.Equal(t, map[int]int{201: 8, 400: 4}, statuses)
	open := 0
	for _, r := range routes(t, owner, st.ID) {
		if r.Status == api.RestreamRouteStatusPending {
			open++
		}
	}
	require.Equal(t, 8, open)
}

func TestATenantHasAtMostAHundredTargets(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO restream_targets (id, tenant_id, name, platform, address, address_end, created_at, updated_at)
		SELECT 'rt_' || n, $1, 'n', 'custom', '', '', now(), now() FROM generate_series(1, 99) n`, owner.TenantID)
	require.NoError(t, err)
	owner.RestreamTarget(t, "rtmp://h.example/a/b")
	body := map[string]any{"name": "n", "platform": "custom", "rtmpUrl": "rtmp://h.example/a/b"}
	refusal := owner.Call(t, "POST", targetsPath, body)
	refusal.Problem(t, 403, "plan_limit")
	require.Contains(t, string(refusal.Body), `"restreamTargets"`)
}

func TestChangingARestreamTarget(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	target := owner.RestreamTarget(t, "rtmp://h.example/app/key-one")
	at := targetsPath + "/" + target.ID
	address := func() string {
		var sealed []byte
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT address FROM restream_targets WHERE id = $1", target.ID).Scan(&sealed))
		raw, err := s.Box.Open(sealed, "restream_targets/"+target.ID)
		require.NoError(t, err)
		return string(raw)
	}
	for _, step := range []struct {
		patch                   map[string]any
		name, platform, address string
	}{
		{map[string]any{}, "Our channel", "custom", "rtmp://h.example/app/key-one"},
		{map[string]any{"name": "Renamed"}, "Renamed", "custom", "rtmp://h.example/app/key-one"},
		{map[string]any{"rtmpUrl": "rtmps://h.example/app/key-two"}, "Renamed", "custom", "rtmps://h.example/app/key-two"},
		{map[string]any{"platform": "twitch"}, "Renamed", "twitch", "rtmps://h.example/app/key-two"},
		{map[string]any{"streamKey": "live_3?a=/b"}, "Renamed", "twitch", "rtmps://ingest.global-contribute.live-video.net:443/app/live_3?a=/b"},
		{map[string]any{"streamKey": "key-four", "platform": "youtube"}, "Renamed", "youtube", "rtmps://a.rtmps.youtube.com:443/live2/key-four"},
	} {
		for range 2 { // the second changes nothing
			var got api.RestreamTarget
			owner.Call(t, "PATCH", at, step.patch).Into(t, 200, &got)
			require.Equal(t, []any{target.ID, step.name, step.platform, true}, []any{got.ID, got.Name, got.Platform, got.Active})
			require.Equal(t, "************"+step.address[len(step.address)-6:], got.RtmpURL)
			require.Equal(t, step.address, address())
		}
	}
	for _, bad := range []map[string]any{
		{"name": " "}, {"rtmpUrl": "http://h.example/a/b"}, {"streamKey": "a/b"}, {"streamKey": "a b"},
		{"rtmpUrl": "rtmp://h.example/a/b", "streamKey": "c"}, {"platform": "custom", "streamKey": "c"},
	} {
		owner.Call(t, "PATCH", at, bad).Problem(t, 400, "invalid_input")
	}
	require.Equal(t, "rtmps://a.rtmps.youtube.com:443/live2/key-four", address())
	s.Register(t).Call(t, "PATCH", at, map[string]any{"name": "n"}).Problem(t, 404, "not_found")
	var entries int
	var text string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*), string_agg(a::text, '') FROM audit_entries a
		WHERE tenant_id = $1 AND action = 'restream_target.update'`, owner.TenantID).Scan(&entries, &text))
	require.Equal(t, 5, entries)
	require.NotContains(t, text, "key-")
	require.NotContains(t, text, "live_3")
	owner.Call(t, "DELETE", at, nil).Is(t, 200)
	owner.Call(t, "PATCH", at, map[string]any{"name": "n"}).Problem(t, 404, "not_found")
}

func TestAStreamKeyIsEnoughForKnownPlatforms(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Production: true})
	owner := s.Register(t)
	var presets []api.RestreamPreset
	owner.Call(t, "GET", "/v1/me/restream/presets", nil).Into(t, 200, &presets)
	require.Len(t, presets, 4)
	for _, p := range presets {
		var target api.RestreamTarget
		owner.Call(t, "POST", targetsPath, map[string]any{"name": p.Name, "platform": p.Platform, "streamKey": "key-4f9q2x"}).Into(t, 201, &target)
		require.Equal(t, []any{"************4f9q2x", p.Platform, true}, []any{target.RtmpURL, target.Platform, target.PresetServer})
		at := targetsPath + "/" + target.ID
		owner.Call(t, "PATCH", at, map[string]any{"rtmpUrl": "rtmp://93.184.216.34/live/key-4f9q2x"}).Into(t, 200, &target)
		require.False(t, target.PresetServer, "another server")
		owner.Call(t, "PATCH", at, map[string]any{"rtmpUrl": p.Address + "/key-4f9q2x"}).Into(t, 200, &target)
		require.True(t, target.PresetServer)
		owner.Call(t, "PATCH", at, map[string]any{"platform": "custom", "rtmpUrl": p.Address + "/key-4f9q2x"}).Into(t, 200, &target)
		require.False(t, target.PresetServer, "a platform without a preset")
	}
	got := owner.Call(t, "POST", targetsPath, map[string]any{"name": "n", "platform": "custom", "streamKey": "key"})
	got.Problem(t, 400, "invalid_input")
	require.Contains(t, string(got.Body), "facebook, trovo, twitch, youtube")
	owner.Call(t, "POST", targetsPath, map[string]any{"name": "n", "platform": "youtube"}).Problem(t, 400, "invalid_input")
	both := map[string]any{"name": "n", "platform": "youtube", "streamKey": "k", "rtmpUrl": "rtmp://93.184.216.34/live/key"}
	owner.Call(t, "POST", targetsPath, both).Problem(t, 400, "invalid_input")
}
