package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// TestMetadataOfAStream sets metadata at creation, merges it by key, and deletes a key
// with an empty value.
func TestMetadataOfAStream(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var st api.Stream
	owner.Call(t, "POST", "/v1/me/streams", map[string]any{"name": "Launch"}).Into(t, http.StatusCreated, &st)
	require.Empty(t, st.Metadata)
	owner.Call(t, "POST", "/v1/me/streams", map[string]any{"name": "Launch", "metadata": map[string]string{"a": "1", "b": "2", "c": ""}}).
		Into(t, http.StatusCreated, &st)
	require.Equal(t, api.Metadata{"a": "1", "b": "2"}, st.Metadata)
	path := "/v1/me/streams/" + st.ID
	for _, c := range []struct {
		body map[string]any
		name string
	}{
		{map[string]any{"metadata": map[string]string{"a": "", "b": "3", "d": "4"}}, "Launch"},
		{map[string]any{"name": "Spring"}, "Spring"},
		{map[string]any{}, "Spring"},
	} {
		var patched, got api.Stream // new values, because decoding into an existing map keeps its keys
		owner.Call(t, "PATCH", path, c.body).Into(t, http.StatusOK, &patched)
		require.Equal(t, c.name, patched.Name)
		require.Equal(t, api.Metadata{"b": "3", "d": "4"}, patched.Metadata)
		owner.Call(t, "GET", path, nil).Into(t, http.StatusOK, &got)
		require.Equal(t, patched, got)
	}
	refuses(t, owner, path)
	owner.Call(t, "PATCH", path, map[string]any{"name": " "}).Problem(t, http.StatusBadRequest, "invalid_input")
	s.Register(t).Call(t, "PATCH", path, map[string]any{}).Problem(t, http.StatusNotFound, "not_found")
}

// TestMetadataOfAnOrder sets metadata at the checkout and reads it in the order's events.
func TestMetadataOfAnOrder(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Seller(t)
	sale := owner.Sale(t, owner.Stream(t, nil).ID, owner.Product(t, nil).ID)
	path := "/v1/me/commerce/orders/" + sale.ID
	var o api.Order
	owner.Call(t, "PATCH", path, map[string]any{"metadata": map[string]string{"desk": "7"}}).Into(t, http.StatusOK, &o)
	require.Equal(t, api.Metadata{"desk": "7"}, o.Metadata)
	refuses(t, owner, path)
	owner.Call(t, "GET", path, nil).Into(t, http.StatusOK, &o)
	require.Equal(t, api.Metadata{"desk": "7"}, o.Metadata)
	s.Register(t).Call(t, "PATCH", path, map[string]any{}).Problem(t, http.StatusNotFound, "not_found")
}

// TestMetadataOfASession sets metadata at creation and merges it by key, also after
// the end. Webhooks contain it, and participants don't see it.
func TestMetadataOfASession(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	made := owner.Session(t, map[string]any{"metadata": map[string]string{"a": "1", "b": "2", "c": ""}})
	require.Equal(t, &api.Metadata{"a": "1", "b": "2"}, made.Metadata)
	path := "/v1/me/sessions/" + made.ID
	host := owner.Join(t, made.ID, made.HostID, nil)

	var patched, got api.Session
	owner.Call(t, "PATCH", path, map[string]any{"locked": true, "metadata": map[string]string{"a": "", "b": "3"}}).Into(t, http.StatusOK, &patched)
	require.Equal(t, &api.Metadata{"b": "3"}, patched.Metadata)
	host.Call(t, "PATCH", path, map[string]any{"locked": false}).Into(t, http.StatusOK, &got)
	require.Nil(t, got.Metadata, "a participant doesn't see it")
	host.Call(t, "GET", path, nil).Into(t, http.StatusOK, &got)
	require.Nil(t, got.Metadata)
	host.Call(t, "PATCH", path, map[string]any{"metadata": map[string]string{"b": "4"}}).Problem(t, http.StatusForbidden, "forbidden")
	refuses(t, owner, path)
	owner.Call(t, "POST", "/v1/me/sessions", map[string]any{
		"type": "conference", "name": "Planning", "hostId": "ada", "metadata": map[string]string{"": "x"},
	}).Problem(t, http.StatusBadRequest, "invalid_input")

	var rooms, list []api.Session
	owner.Call(t, "POST", path+"/breakouts", map[string]any{"count": 1}).Into(t, http.StatusCreated, &rooms)
	require.Equal(t, &api.Metadata{"b": "3"}, rooms[0].Metadata, "a breakout room has its parent's")
	owner.Call(t, "GET", "/v1/me/sessions", nil).Into(t, http.StatusOK, &list)
	require.Equal(t, &api.Metadata{"b": "3"}, list[len(list)-1].Metadata)

	owner.Call(t, "POST", path+"/end", nil).Is(t, http.StatusCreated)
	var late api.Session
	owner.Call(t, "PATCH", path, map[string]any{"metadata": map[string]string{"invoice": "7"}}).Into(t, http.StatusOK, &late)
	require.Equal(t, &api.Metadata{"b": "3", "invoice": "7"}, late.Metadata)
	owner.Call(t, "PATCH", path, map[string]any{"name": "Late", "metadata": map[string]string{"invoice": "8"}}).
		Problem(t, http.StatusConflict, "conflict")
	s.Register(t).Call(t, "PATCH", path, map[string]any{"metadata": map[string]string{}}).Problem(t, http.StatusNotFound, "not_found")

	names, data := eventsOf(t, s, owner.TenantID, made.ID)
	sent := map[string]any{}
	for i, name := range names {
		if data[i]["metadata"] != nil {
			sent[name] = data[i]["metadata"]
		}
	}
	require.Equal(t, map[string]any{
		"session.created": map[string]any{"a": "1", "b": "2"}, "session.updated": map[string]any{"b": "3"}, "session.ended": map[string]any{"b": "3"},
	}, sent)
	for _, p := range s.Published() {
		require.NotContains(t, string(marshal(t, p.Data)), "metadata", "%s is published in the room", p.Type)
	}
	require.Len(t, auditActions(t, s, owner.TenantID, "session.update"), 3)
}

// TestMetadataOfACall checks that the session has the call's metadata, and that the
// events of both contain it.
func TestMetadataOfACall(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	call := owner.Ring(t, map[string]any{"metadata": map[string]string{"ticket": "7"}})
	require.Equal(t, &api.Metadata{"ticket": "7"}, call.Session.Metadata)
	owner.Call(t, "POST", "/v1/me/calls/"+call.SessionID+"/answer", map[string]any{"userId": "ben"}).Is(t, http.StatusCreated)
	owner.Call(t, "POST", "/v1/me/calls/"+call.SessionID+"/end", map[string]any{"userId": "ben"}).Is(t, http.StatusCreated)
	names, data := eventsOf(t, s, owner.TenantID, call.SessionID)
	require.Subset(t, names, []string{"session.created", "call.invited", "call.answered", "session.started", "call.ended", "session.ended"})
	for i, name := range names {
		require.Equal(t, map[string]any{"ticket": "7"}, data[i]["metadata"], name)
	}
	for _, p := range s.Published() {
		require.NotContains(t, string(marshal(t, p.Data)), "metadata", "%s is published in the room", p.Type)
	}
}

// TestMetadataOfASessionIsMergedAtOnce checks that concurrent updates of different
// keys are all kept.
func TestMetadataOfASessionIsMergedAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	path := "/v1/me/sessions/" + owner.Session(t, nil).ID
	want := api.Metadata{}
	var wait sync.WaitGroup
	for i := range 10 {
		key := fmt.Sprint("key-", i)
		want[key] = "x"
		wait.Go(func() {
			owner.Call(t, "PATCH", path, map[string]any{"metadata": map[string]string{key: "x"}}).Is(t, http.StatusOK)
		})
	}
	wait.Wait()
	var got api.Session
	owner.Call(t, "GET", path, nil).Into(t, http.StatusOK, &got)
	require.Equal(t, &want, got.Metadata)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// refuses sends metadata beyond each limit and checks that nothing changes.
func refuses(t *testing.T, c *apitest.Caller, path string) {
	t.Helper()
	many := map[string]any{}
	for i := range 51 {
		many[fmt.Sprint("key-", i)] = "x"
	}
	for _, m := range []any{
		many, "text", map[string]any{"a": 1}, map[string]any{"": "x"}, map[string]any{strings.Repeat("x", 41): "x"}, map[string]any{"a": strings.Repeat("x", 501)},
	} {
		refused := c.Call(t, "PATCH", path, map[string]any{"metadata": m}).Problem(t, http.StatusBadRequest, "invalid_input")
		require.Regexp(t, `^metadata(\.|$)`, refused.Errors[0].Field)
	}
}
