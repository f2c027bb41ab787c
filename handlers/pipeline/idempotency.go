package pipeline

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/idempotency"
)

const (
	idempotencyKeyHeader     = "Idempotency-Key"
	idempotentReplayedHeader = "Idempotent-Replayed"
	// longestKey is the largest number of characters in an Idempotency-Key.
	longestKey = 255
	// fingerprintKey is the key under which an echo.Context holds the fingerprint of a request.
	fingerprintKey = "idempotency fingerprint"
)

// idempotent reports whether an operation takes an Idempotency-Key: every POST
// below /v1/me that needs a credential, except those with x-idempotent: false.
// cmd/specbundle applies the same rule to the document.
func idempotent(method, path string, op *openapi3.Operation, open bool) bool {
	return method == http.MethodPost && strings.HasPrefix(path, "/v1/me/") && !open && op.Extensions["x-idempotent"] != false
}

// fingerprint hashes a request that has an Idempotency-Key, before anything
// changes its body.
func (c *contract) fingerprint(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		r := e.Request()
		keys := r.Header[idempotencyKeyHeader]
		if len(keys) == 0 {
			return next(e)
		}
		op := c.find(e)
		if op == nil || !op.idempotent {
			return next(e)
		}
		if len(keys) > 1 || !goodKey(keys[0]) {
			return badInput(idempotencyKeyHeader, fmt.Sprintf("must be one value of 1 to %d printable ASCII characters", longestKey))
		}
		body, err := readBody(r)
		if err != nil {
			return err
		}
		e.Set(fingerprintKey, hashParts(r.Method, r.URL.RequestURI(), r.Header.Get(echo.HeaderContentType), string(body)))
		return next(e)
	}
}

func goodKey(key string) bool {
	return key != "" && len(key) <= longestKey && strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// hashParts hashes a list of texts. Each text is preceded by its length, so that no
// two different lists have the same input.
func hashParts(parts ...string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// hashWithCaller adds the caller's user and scopes to a request's hash. API keys have no user,
// so keys with the same scopes share answers. A stored answer can hold a new key or token,
// which only a caller with the same permissions may read.
func hashWithCaller(c tenancy.Caller, sum [sha256.Size]byte) [sha256.Size]byte {
	parts := []string{string(sum[:]), c.UserID}
	if c.Impersonation != nil {
		parts = append(parts, c.Impersonation.AdminID)
	}
	if c.Participant != nil {
		parts = append(parts, c.Participant.RoomID, c.Participant.UserID)
	}
	for _, scope := range c.Scopes {
		parts = append(parts, string(scope))
	}
	return hashParts(parts...)
}

// keyFor returns the key under which an answer is stored. Participants have a
// namespace of their own. Otherwise a participant could guess the keys of its
// tenant's server and so block that server's requests.
func keyFor(c tenancy.Caller, key string) string {
	if c.Participant == nil {
		return key
	}
	sum := hashParts(c.Participant.RoomID, c.Participant.UserID, key)
	return "participant " + hex.EncodeToString(sum[:])
}

// executeOnce executes a request with an Idempotency-Key a single time, however often it
// is sent. It is the last layer: a request that an earlier layer refuses has not
// begun, so the client may correct it and send it again under the same key.
func (c *contract) executeOnce(s *idempotency.Service, log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			sum, ok := e.Get(fingerprintKey).([sha256.Size]byte)
			ctx := e.Request().Context()
			caller := request.Caller(ctx)
			if !ok || caller.TenantID == "" {
				return next(e)
			}
			run, answer, err := s.Begin(ctx, idempotency.Request{
				TenantID: caller.TenantID, Key: keyFor(caller, e.Request().Header.Get(idempotencyKeyHeader)),
				Fingerprint: hashWithCaller(caller, sum), RunID: request.ID(ctx),
			})
			switch {
			case err != nil:
				return err
			case answer != nil:
				e.Response().Header().Set(idempotentReplayedHeader, "true")
				return e.Blob(answer.Status, answer.ContentType, answer.Body)
			default:
				return carryOut(e, next, run, log)
			}
		}
	}
}

// carryOut runs the handler and stores its answer before sending it, so that a client
// that received it and one that lost the connection read the same answer afterwards.
func carryOut(e echo.Context, next echo.HandlerFunc, run *idempotency.Run, log *slog.Logger) error {
	ctx := e.Request().Context()
	e.SetRequest(e.Request().WithContext(postgres.WithHook(idempotency.WithKey(ctx, run), run)))
	out := e.Response().Writer
	held := &heldAnswer{header: out.Header()}
	e.Response().Writer = held
	defer func() {
		e.Response().Writer = out
		if err := run.Release(ctx); err != nil { // for a run without a stored answer, also after a panic
			log.WarnContext(ctx, "idempotency key not released", "error", err, "requestId", request.ID(ctx))
		}
	}()
	if err := next(e); err != nil {
		e.Error(err) // writes the answer
	}
	if worthKeeping(held.code()) {
		err := run.Keep(ctx, idempotency.Answer{
			Status: held.code(), ContentType: e.Response().Header().Get(echo.HeaderContentType), Body: held.body.Bytes(),
		})
		if err != nil { // the client still gets the answer
			log.WarnContext(ctx, "answer not stored for its idempotency key", "error", err, "requestId", request.ID(ctx))
		}
	}
	out.WriteHeader(held.code())
	_, err := out.Write(held.body.Bytes())
	return err
}

// worthKeeping reports whether an answer is stored and repeated. Answers that may differ
// the next time are not: they depend on the state of the caller or of the server.
func worthKeeping(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, statusHungUp:
		return false
	default:
		return status < http.StatusInternalServerError
	}
}

// heldAnswer is an http.ResponseWriter that buffers the answer.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// code returns the answer's status. It is 200 if none was written, as in net/http.
func (h *heldAnswer) code() int {
	if h.status == 0 {
		return http.StatusOK
	}
	return h.status
}

// Header implements http.ResponseWriter.
func (h *heldAnswer) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter.
func (h *heldAnswer) WriteHeader(status int) { h.status = status }

// Write implements http.ResponseWriter.
func (h *heldAnswer) Write(b []byte) (int, error) { return h.body.Write(b) }
