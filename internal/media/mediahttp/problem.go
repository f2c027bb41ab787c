// Package mediahttp has what the HTTP servers of playlists and media share: methods and CORS,
// refusals as problems, compressed texts, and write deadlines.
package mediahttp

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Problem is an error response, in the form of all problems of the API (RFC 9457).
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"requestId"`

	// RetryAfter is in seconds; 0: the client decides.
	RetryAfter int `json:"-"`
	// Passing is set if the answer may change at any moment, so that it must not be cached.
	Passing bool `json:"-"`
}

// Refuse makes a Problem. One with status 503 is passing.
func Refuse(status int, code, message string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Message: message,
		Passing: status == http.StatusServiceUnavailable}
}

// NotFound refuses a request for a file that doesn't exist.
func NotFound() *Problem {
	return Refuse(http.StatusNotFound, "not_found", "there is no such file, or no longer")
}

// Expired refuses a request whose token has expired.
func Expired() *Problem {
	return Refuse(http.StatusForbidden, "playback_token_expired", "the playback URL has expired; ask for another one")
}

// Invalid refuses a request whose token was not signed by this server.
func Invalid() *Problem {
	return Refuse(http.StatusForbidden, "invalid_playback_token", "the playback URL is not valid")
}

// Write sends the refusal. Unless it is passing, it may be cached for a second, so that many
// clients with a wrong request cost little. The request's id is the one in the response's header.
func (p *Problem) Write(w http.ResponseWriter) {
	h := w.Header()
	p.RequestID = h.Get("X-Request-ID")
	body, err := json.Marshal(p)
	if err != nil {
		return // unreachable: strings and a number
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "max-age=1")
	if p.Passing {
		h.Set("Cache-Control", "no-store")
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // an error means that the viewer has gone
}
