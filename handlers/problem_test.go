package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/gen"
	"showfloor/gen/api"
	"showfloor/handlers"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/testkit/apitest"
)

func TestEveryLayerAnswersWithAProblem(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{
		PagePaths: []string{"/broken"},
		Pages:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret detail") }),
	})
	owner := s.Register(t)
	for _, c := range []struct {
		layer, method, path string
		body                any
		status              int
		code                string
	}{
		{"router, path", "GET", "/v1/nothing", nil, 404, "not_found"},
		{"router, no prefix", "GET", "/me", nil, 404, "not_found"},
		{"router, double slash", "GET", "//v1/me", nil, 404, "not_found"},
		{"router, method", "PATCH", "/v1/me/streams", nil, 405, "method_not_allowed"},
		{"router, method of a public path", "PUT", "/v1/health", nil, 405, "method_not_allowed"},
		{"validator, body", "POST", "/v1/me/streams", "{}", 400, "invalid_input"},
		{"validator, query", "GET", "/v1/me/streams?limit=0", nil, 400, "invalid_input"},
		{"use case, missing", "GET", "/v1/me/streams/str_nope", nil, 404, "not_found"},
		{"use case, input", "POST", "/v1/me/webhooks", map[string]any{"url": "ftp://x.example"}, 400, "invalid_input"},
		{"panic", "GET", "/broken", nil, 500, "internal_error"},
		{"playback", "GET", "/live/nonsense/index.m3u8", nil, 0, ""},
	} {
		t.Run(c.layer, func(t *testing.T) {
			t.Parallel()
			r := owner.Call(t, c.method, c.path, c.body)
			if c.status == 0 { // the media plane has its own texts in the same format
				require.GreaterOrEqual(t, r.Status, 400)
				require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
				return
			}
			p := r.Problem(t, c.status, c.code)
			require.Equal(t, "about:blank", p.Type)
			require.Equal(t, http.StatusText(c.status), p.Title)
			require.Equal(t, c.status, p.Status)
			require.NotEmpty(t, p.Message)
			require.Equal(t, r.Header.Get("X-Request-Id"), p.RequestID)
			require.True(t, id.Request.Matches(p.RequestID), p.RequestID)
			require.Equal(t, c.code == "invalid_input", len(p.Errors) > 0, "errors are for input faults")
			require.NotContains(t, string(r.Body), "secret")
			var members map[string]any
			require.NoError(t, json.Unmarshal(r.Body, &members))
			for _, m := range []string{"type", "title", "status", "code", "message", "requestId"} {
				require.Contains(t, members, m)
			}
		})
	}
}

func TestMethodNotAllowedListsTheAllowedMethods(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for path, methods := range map[string][]string{
		"/v1/me/streams":           {"GET", "POST"},
		"/v1/me/webhooks/wh_1":     {"GET", "PATCH", "DELETE"},
		"/v1/auth/login":           {"POST"},
		"/v1/ingest/media/publish": {"POST"},
	} {
		r := owner.Call(t, "TRACE", path, nil).Is(t, 405)
		var allowed []string
		for m := range strings.SplitSeq(r.Header.Get("Allow"), ",") {
			if m = strings.TrimSpace(m); m != "OPTIONS" {
				allowed = append(allowed, m)
			}
		}
		require.ElementsMatch(t, methods, allowed, path)
	}
	require.Empty(t, owner.Call(t, "HEAD", "/v1/nothing", nil).Is(t, 404).Body)
}

func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for name, body := range map[string]string{
		"cut off":       `{"name":`,
		"not JSON":      `name=x`,
		"text behind":   `{"name":"x"} x`,
		"two values":    `{"name":"x"}{"name":"y"}`,
		"list":          `[]`,
		"null":          `null`,
		"text":          `"x"`,
		"too deep":      strings.Repeat("[", 100_000),
		"not UTF-8":     "{\"name\":\"\xff\xfe\"}",
		"bare NUL":      "{\"name\":\"\x00\"}",
		"unfinished \\": `{"name":"\u00"}`,
		"byte order":    "\ufeff{\"name\":\"x\"}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := owner.Call(t, "POST", "/v1/me/streams", body).Problem(t, 400, "invalid_input")
			require.Equal(t, []string{"body"}, fieldsOf(p))
			require.NotEmpty(t, p.Errors[0].Message)
		})
	}
	p := owner.Call(t, "POST", "/v1/me/streams", nil).Problem(t, 400, "invalid_input")
	require.Equal(t, []string{"body"}, fieldsOf(p), "a body that is not there")
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	const limit = 1 << 20
	sized := func(n int) []byte {
		frame := `{"name":"x","filler":""}`
		return []byte(`{"name":"x","filler":"` + strings.Repeat("f", n-len(frame)) + `"}`)
	}
	for _, withLength := range []bool{true, false} {
		for size, status := range map[int]int{limit: 201, limit + 1: 413, 2 << 20: 413} {
			var body io.Reader = bytes.NewReader(sized(size))
			if !withLength {
				body = struct{ io.Reader }{body} // hides the length, so that the body is sent in chunks
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/me/streams", body)
			require.NoError(t, err)
			require.Equal(t, withLength, r.ContentLength > 0)
			r.Header.Set("Content-Type", "application/json")
			resp := owner.Do(t, r)
			require.Equal(t, status, resp.Status, "%d bytes, length sent: %v", size, withLength)
			if status == 413 {
				resp.Problem(t, 413, "body_too_large")
			}
		}
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for contentType, status := range map[string]int{
		"application/json":                  201,
		"application/json; charset=utf-8":   201,
		"APPLICATION/JSON":                  201,
		"":                                  415,
		"text/plain":                        415,
		"application/x-www-form-urlencoded": 415,
		"application/jsonx":                 415,
		"application/json; =":               415,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/me/streams", strings.NewReader(`{"name":"x"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", contentType)
		resp := owner.Do(t, r)
		require.Equal(t, status, resp.Status, contentType)
		if status == 415 {
			resp.Problem(t, 415, "unsupported_media_type")
		}
	}
}

func TestQueriesAndPathsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	for query, field := range map[string]string{
		"limit=NaN": "limit", "limit=-1": "limit", "limit=0": "limit", "limit=201": "limit", "limit=1.5": "limit",
		"limit=99999999999999999999": "limit", "limit=": "limit", "limit=1&limit=2": "limit", "limit=Infinity": "limit",
		"limit=0x10": "limit", "limit=1e2": "limit", "limit=%20": "limit",
		"cursor=%00": "cursor", "cursor=%ff": "cursor", "cursor=nonsense": "cursor", "cursor=": "cursor",
		"cursor=key_01m7y8fdt4f37bcq939dbb4t4b": "cursor", "cursor=" + strings.Repeat("x", 129): "cursor",
		"limit=%zz": "query", "limit=1;cursor=2": "query",
	} {
		p := owner.Call(t, "GET", "/v1/me/streams?"+query, nil).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p), query)
	}
	missing := owner.Call(t, "GET", "/v1/me/streams/str_nope", nil).Problem(t, 404, "not_found")
	for _, path := range []string{"%00", "%ff", "%2500", "%25zz", "a%2Fb", "%2F%00", "%2f%ff", ".", "..", "%F0%9F%92%A9"} {
		p := owner.Call(t, "GET", "/v1/me/streams/"+path, nil).Problem(t, 404, "not_found")
		require.Equal(t, missing.Message, p.Message, path)
	}
	owner.Call(t, "GET", "/v1/me/streams/?x=1", nil).Problem(t, 404, "not_found")
}

func TestRequestIDIsOursAlone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/health", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Request-Id", "chosen by the caller")
	first := s.With(t, "").Do(t, r).Header.Get("X-Request-Id")
	require.True(t, id.Request.Matches(first), first)
	require.NotEqual(t, first, s.With(t, "").Call(t, "GET", "/v1/health", nil).Header.Get("X-Request-Id"))
}

// TestInternalErrorsAreLoggedAndNotShown calls a page that panics.
func TestInternalErrorsAreLoggedAndNotShown(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	s := apitest.New(t, apitest.Options{
		Log:       slog.New(slog.NewTextHandler(&lines, nil)),
		PagePaths: []string{"/broken"},
		Pages:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret detail") }),
	})
	record := httptest.NewRecorder()
	s.Handler.ServeHTTP(record, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/broken?token=also-secret", http.NoBody))
	require.Equal(t, 500, record.Code)
	var p api.Problem
	require.NoError(t, json.Unmarshal(record.Body.Bytes(), &p))
	require.Equal(t, "internal_error", p.Code)
	require.NotContains(t, record.Body.String(), "secret")
	require.Contains(t, lines.String(), p.RequestID)
	require.Contains(t, lines.String(), "secret detail")
	require.NotContains(t, lines.String(), "also-secret", "queries can hold keys")
	require.Equal(t, 1, strings.Count(lines.String(), "level=ERROR"), "logged once")
}

func TestADroppedConnectionIsNotAnError(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{
		PagePaths: []string{"/dropped"},
		Pages:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	})
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		s.Handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/dropped", http.NoBody))
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	var h api.Health
	s.With(t, "").Call(t, "GET", "/v1/health", nil).Into(t, 200, &h)
	require.Equal(t, api.CheckStatusOk, h.Status)
	var r api.Readiness
	s.With(t, "").Call(t, "GET", "/v1/health/ready", nil).Into(t, 200, &r)
	require.Equal(t, api.CheckStatusOk, r.Status)
	require.Len(t, r.Checks, 2)

	broken := apitest.New(t, apitest.Options{Checks: []handlers.Check{{
		Name: "files", Engine: func() string { return "a folder" }, Run: func(context.Context) error { return errors.New("/secret/path is full") },
	}}})
	resp := broken.With(t, "").Call(t, "GET", "/v1/health/ready", nil)
	resp.Into(t, 503, &r)
	require.Equal(t, api.CheckStatusFailing, r.Status)
	require.Equal(t, api.CheckStatusFailing, r.Checks[2].Status)
	require.NotContains(t, string(resp.Body), "secret")
	broken.With(t, "").Call(t, "GET", "/v1/health", nil).Is(t, 200)

	// A failed part whose work can wait in the queue is reported, and the
	// server stays ready.
	waiting := apitest.New(t, apitest.Options{Checks: []handlers.Check{{
		Name: "mail", Engine: func() string { return "SMTP" }, Deferred: true,
		Run: func(context.Context) error {
			return problem.New(problem.Unavailable, "mail_unavailable", "no server takes mail")
		},
	}}})
	waiting.With(t, "").Call(t, "GET", "/v1/health/ready", nil).Into(t, 200, &r)
	require.Equal(t, api.CheckStatusOk, r.Status)
	require.Equal(t, api.CheckStatusFailing, r.Checks[2].Status)
	require.Equal(t, "no server takes mail", *r.Checks[2].Message, "a problem is made to be read")
}

func TestTheDocumentIsServedInBothNotations(t *testing.T) {
	t.Parallel()
	anyone := apitest.New(t, apitest.Options{}).With(t, "")
	asJSON := anyone.Call(t, "GET", "/openapi.json", nil).Is(t, 200)
	require.Equal(t, "*", asJSON.Header.Get("Access-Control-Allow-Origin"))
	asYAML := anyone.Call(t, "GET", "/openapi.yaml", nil).Is(t, 200)
	require.Equal(t, gen.Document, asYAML.Body)
	doc, err := apitest.Document(t).MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, gen.Webhooks, anyone.Call(t, "GET", "/openapi-webhooks.yaml", nil).Is(t, 200).Body)

	// The JSON has one thing more: which operations are not built.
	served, err := openapi3.NewLoader().LoadFromData(asJSON.Body)
	require.NoError(t, err)
	marked := map[string]bool{}
	for _, item := range served.Paths.Map() {
		for _, operation := range item.Operations() {
			if operation.Extensions["x-unbuilt"] == true {
				marked[strings.ToLower(operation.OperationID)] = true
				delete(operation.Extensions, "x-unbuilt")
			}
		}
	}
	require.Equal(t, unbuiltOperations(), marked)
	unmarked, err := served.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(doc), string(unmarked), "both say the same, operationIds included")
}
