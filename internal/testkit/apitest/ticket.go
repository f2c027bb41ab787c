package apitest

import (
	"bytes"
	"net/http"
	"net/url"
	"testing"

	"showfloor/gen/api"
)

// Upload sends a file to a path that takes the name of the file as a parameter.
func (c *Caller) Upload(t testing.TB, path, name string, body []byte) Response {
	t.Helper()
	at := c.server.URL + path + "?name=" + url.QueryEscape(name)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, bytes.NewReader(body))
	must(t, err)
	r.Header.Set("Content-Type", "application/octet-stream")
	return c.Do(t, r)
}

// TicketAttachment uploads a file for a ticket.
func (c *Caller) TicketAttachment(t testing.TB, name string, body []byte) (a api.TicketAttachment) {
	t.Helper()
	c.Upload(t, "/v1/me/ticket-attachments", name, body).Into(t, http.StatusCreated, &a)
	return a
}
