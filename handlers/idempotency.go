package handlers

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

	"showfloor/internal/account"
	"showfloor/internal/idempotency"
	"showfloor/internal/postgres"
)

const (
	idempotencyKeyHeader     = "Idempotency-Key"
	idempotentReplayedHeader = "Idempotent-Replayed"
	// longestKey is how many characters an Idempotency-Key may have.
	longestKey = 255
	// onceKey is where an echo.Context holds the fingerprint of a request.
	onceKey = "idempotency fingerprint"
)

// idempotent tells whether an operation takes an Idempotency-Key: every POST of
// tenants below /v1/me does, but for those that say x-idempotent: false.
// cmd/specbundle writes the same rule into the document.
func idempotent(method, path string, op *openapi3.Operation, open bool) bool {
	return method == http.MethodPost && strings.HasPrefix(path, "/v1/me/") && !open && op.Extensions["x-idempotent"] != false
}

// fingerprint takes the measure of a request with an Idempotency-Key while its
// body is as it came.
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
		e.Set(onceKey, measure(r.Method, r.URL.RequestURI(), r.Header.Get(echo.HeaderContentType), string(body)))
		return next(e)
	}
}

func goodKey(key string) bool {
	return key != "" && len(key) <= longestKey && strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// measure hashes texts so that no two lists of them look the same.
func measure(parts ...string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// measureFor makes a request the user's, or that of the API keys with the same
// scopes: an answer can hold what only who may do as much would have been given,
// such as a fresh key or token.
func measureFor(c account.Caller, request [sha256.Size]byte) [sha256.Size]byte {
	parts := []string{string(request[:]), c.UserID}
	if c.Participant != nil {
		parts = append(parts, c.Participant.RoomID, c.Participant.UserID)
	}
	for _, scope := range c.Scopes {
		parts = append(parts, string(scope))
	}
	return measure(parts...)
}

// keyFor is the key as it is kept. A participant's are its own: by guessing those
// of its tenant's server it would hold up what that asks for.
func keyFor(c account.Caller, key string) string {
	if c.Participant == nil {
		return key
	}
	sum := measure(c.Participant.RoomID, c.Participant.UserID, key)
	return "participant " + hex.EncodeToString(sum[:])
}

// once carries a request with an Idempotency-Key out a single time, however
// often it is sent. It comes last: what is refused before has not begun, and may
// be put right and sent again under the same key.
func (c *contract) once(s *idempotency.Service, log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			sum, ok := e.Get(onceKey).([sha256.Size]byte)
			ctx := e.Request().Context()
			caller := callerFrom(ctx)
			if !ok || caller.TenantID == "" {
				return next(e)
			}
			run, answer, err := s.Begin(ctx, idempotency.Request{
				TenantID: caller.TenantID, Key: keyFor(caller, e.Request().Header.Get(idempotencyKeyHeader)),
				Fingerprint: measureFor(caller, sum), RunID: requestIDFrom(ctx),
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

// carryOut runs the handler and keeps its answer before it is sent, so that a
// sender who has it and one who lost the connection read the same afterwards.
func carryOut(e echo.Context, next echo.HandlerFunc, run *idempotency.Run, log *slog.Logger) error {
	ctx := e.Request().Context()
	e.SetRequest(e.Request().WithContext(postgres.WithHook(idempotency.WithKey(ctx, run), run)))
	out := e.Response().Writer
	held := &heldAnswer{header: out.Header()}
	e.Response().Writer = held
	defer func() {
		e.Response().Writer = out
		if err := run.Release(ctx); err != nil { // of a run that no Keep has ended, also by a panic
			log.WarnContext(ctx, "idempotency key not released", "error", err, "requestId", requestIDFrom(ctx))
		}
	}()
	if err := next(e); err != nil {
		e.Error(err) // writes the answer
	}
	if worthKeeping(held.code()) {
		err := run.Keep(ctx, idempotency.Answer{
			Status: held.code(), ContentType: e.Response().Header().Get(echo.HeaderContentType), Body: held.body.Bytes(),
		})
		if err != nil { // it is a good answer all the same
			log.WarnContext(ctx, "answer not kept for its idempotency key", "error", err, "requestId", requestIDFrom(ctx))
		}
	}
	out.WriteHeader(held.code())
	_, err := out.Write(held.body.Bytes())
	return err
}

// worthKeeping tells whether the answer would be the same another time: it is,
// unless the caller or the server was not in a state to have it carried out.
func worthKeeping(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, statusHungUp:
		return false
	default:
		return status < http.StatusInternalServerError
	}
}

// heldAnswer is a http.ResponseWriter that holds an answer back.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// code is the answer's status; 200 when none was written, as net/http has it.
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
