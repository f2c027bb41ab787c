package apitest

import (
	"maps"
	"net/http"
	"testing"

	"showfloor/gen/api"
)

// Ring makes a call from ada to ben; fields replace or add to the request's body.
func (c *Caller) Ring(t testing.TB, fields map[string]any) api.CallAdmission {
	t.Helper()
	body := map[string]any{"fromUserId": "ada", "toUserId": "ben", "kind": "video"}
	maps.Copy(body, fields)
	var a api.CallAdmission
	c.Call(t, "POST", "/v1/me/calls/invite", body).Into(t, http.StatusCreated, &a)
	return a
}
