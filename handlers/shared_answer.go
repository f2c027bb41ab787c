package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"showfloor/internal/base/timestamp"
)

// sharedAnswer is an answer of which only the server's time differs from caller to caller. Many callers get the same text, so it is
// encoded once.
type sharedAnswer struct {
	text []byte
	now  time.Time
	// public answers may be kept for a second by shared caches.
	public bool
}

// encodeShared encodes an answer that has the member serverTime.
func encodeShared(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a shared answer: %w", err)
	}
	return text, nil
}

// serverTimeMember begins the member. Inside of a string its quotes would be escaped.
const serverTimeMember = `"serverTime":`

func (a sharedAnswer) write(w http.ResponseWriter) error {
	before, rest, ok := bytes.Cut(a.text, []byte(serverTimeMember))
	_, after, quoted := bytes.Cut(rest, []byte(`Z"`))
	if !ok || !quoted {
		return errors.New("a shared answer has no serverTime")
	}
	now, err := json.Marshal(timestamp.From(a.now))
	if err != nil {
		return fmt.Errorf("encode the server's time: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	if a.public {
		w.Header().Set("Cache-Control", "public, max-age=1")
	}
	w.WriteHeader(http.StatusOK)
	for _, part := range [][]byte{before, []byte(serverTimeMember), now, after} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("write a shared answer: %w", err)
		}
	}
	return nil
}

// VisitGetShowResponse implements api.GetShowResponseObject.
func (a sharedAnswer) VisitGetShowResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitGetReplayResponse implements api.GetReplayResponseObject.
func (a sharedAnswer) VisitGetReplayResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitGetParticipantReplayResponse implements api.GetParticipantReplayResponseObject.
func (a sharedAnswer) VisitGetParticipantReplayResponse(w http.ResponseWriter) error {
	return a.write(w)
}
