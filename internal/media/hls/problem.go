package hls

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// problem is an error response, in the form of all problems of the API (RFC 9457).
type problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"requestId"`

	retryAfter int  // seconds; 0: the client decides
	passing    bool // the answer may change at any moment
}

func refuse(status int, code, message string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Message: message,
		passing: status == http.StatusServiceUnavailable}
}

func notFound() *problem {
	return refuse(http.StatusNotFound, "not_found", "there is no such file, or no longer")
}

// notYet is notFound for a file that may exist in a moment.
func notYet() *problem {
	p := refuse(http.StatusNotFound, "not_found", "there is no such file yet")
	p.passing = true
	return p
}

func badReload() *problem {
	return refuse(http.StatusBadRequest, "bad_reload", "_HLS_msn and _HLS_part must be numbers, and _HLS_skip YES or v2")
}

func expired() *problem {
	return refuse(http.StatusForbidden, "playback_token_expired", "the playback URL has expired; ask for another one")
}

// write sends the refusal. Unless it is passing, it may be cached for a second, so that many
// clients with a wrong request cost little. The request's id is the one in the response's header.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	p.RequestID = h.Get("X-Request-ID")
	body, err := json.Marshal(p)
	if err != nil {
		return // unreachable: strings and a number
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "max-age=1")
	if p.passing {
		h.Set("Cache-Control", "no-store")
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // an error means that the viewer has gone
}
