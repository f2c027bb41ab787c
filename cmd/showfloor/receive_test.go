package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReceivePrintsAndChecksWebhooks(t *testing.T) {
	t.Parallel()
	const (
		body = `{"event":"stream.started","data":{}}`
		// Made with: printf '%s' "$body" | openssl dgst -sha256 -hmac whsec_test
		good = "sha256=c5b03b900e4f4a9b0329a9d1d27426ca5fe2f1dd522a48e85eaf39e46e3c3238"
	)
	for name, c := range map[string]struct {
		secret, signature, body, says string
		status                        int
	}{
		"right":       {"whsec_test", good, body, "signature ok", http.StatusOK},
		"wrong":       {"whsec_other", good, body, "WRONG SIGNATURE", http.StatusUnauthorized},
		"missing":     {"whsec_test", "", body, "WRONG SIGNATURE", http.StatusUnauthorized},
		"not checked": {"", good, body, "signature not checked", http.StatusOK},
		"not JSON":    {"", "", "\x00\x1b[31m", `\x1b`, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook", strings.NewReader(c.body))
			r.Header.Set("X-Service-Event", "stream.started")
			r.Header.Set("X-Service-Event-Id", "evt_1")
			r.Header.Set("X-Service-Sequence", "3")
			r.Header.Set("X-Service-Signature", c.signature)
			w := httptest.NewRecorder()
			receiveCommand{Secret: c.secret}.printer(&out).ServeHTTP(w, r)
			require.Equal(t, c.status, w.Code)
			require.Contains(t, out.String(), c.says)
			require.Contains(t, out.String(), "stream.started  evt_1  sequence 3")
		})
	}
}
