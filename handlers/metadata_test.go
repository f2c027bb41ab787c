package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/apitest"
)

// TestMetadataOfAStream: set at creation, merged by key, deleted by an empty value.
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
		var patched, got api.Stream // a fresh one: a map that is there keeps its keys
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

// TestMetadataOfAnOrder: set at the checkout, and sent with its events.
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

// refuses sends metadata beyond each limit, which changes nothing.
func refuses(t *testing.T, c *apitest.Caller, path string) {
	t.Helper()
	many := map[string]any{}
	for i := range 51 {
		many[fmt.Sprint("key-", i)] = "x"
	}
	for _, m := range []any{
		many, "text", map[string]any{"a": 1}, map[string]any{"": "x"}, map[string]any{strings.Repeat("x", 41): "x"}, map[string]any{"a": strings.Repeat("x", 501)},
	} {
		c.Call(t, "PATCH", path, map[string]any{"metadata": m}).Problem(t, http.StatusBadRequest, "invalid_input")
	}
}
