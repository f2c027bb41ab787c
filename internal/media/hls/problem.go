package hls

import (
	"encoding/json"
	"net/http"
)

// refusal is an answer that is not media, in the shape of RFC 9457.
type refusal struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func refuse(status int, code, message string) *refusal {
	return &refusal{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Message: message}
}

func notFound() *refusal {
	return refuse(http.StatusNotFound, "not_found", "There is no such file, or no longer.")
}

// write sends the refusal. It may be cached for a second, so that a crowd that
// asks for something wrong costs little.
func (p *refusal) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil {
		return // unreachable: strings and a number
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "max-age=1")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a viewer that has gone doesn't matter
}
