package apitest

import (
	"maps"
	"net/http"
	"testing"

	"showfloor/gen/api"
)

// Channel creates a group channel with a host, ada, and a guest, ben; fields
// replace or add to the request's body.
func (c *Caller) Channel(t testing.TB, fields map[string]any) api.Channel {
	t.Helper()
	body := map[string]any{"name": "Backstage", "hostId": "ada", "userIds": []string{"ben"}}
	maps.Copy(body, fields)
	var ch api.Channel
	c.Call(t, "POST", "/v1/me/channels", body).Into(t, http.StatusCreated, &ch)
	return ch
}

// Say sends a message to a channel, which may be that of a stream or session.
func (c *Caller) Say(t testing.TB, channelID, authorID, text string) Response {
	t.Helper()
	return c.Call(t, "POST", "/v1/me/channels/"+channelID+"/messages", map[string]any{
		"body": text, "authorId": authorID, "authorName": "User " + authorID,
	})
}
