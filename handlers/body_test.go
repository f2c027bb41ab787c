package handlers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
)

// TestBodiesThatAreMadeToBeWork sends small bodies that are expensive to
// validate. The server must refuse them with little work and a small answer.
func TestBodiesThatAreMadeToBeWork(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	const room = 1<<20 - 200
	fill := func(unit string) string { return strings.Repeat(unit, room/len(unit)) }
	many := func(unit string) string { return strings.Repeat(unit, 49_000) }
	stream := func(more string) string { return `{"name":"x",` + more + `}` }
	keys := &strings.Builder{}
	for i := range 95_000 {
		fmt.Fprintf(keys, `"%x":1,`, i)
	}
	for name, c := range map[string]struct{ path, body, field, message string }{
		"a list of wrong entries":       {"/v1/me/webhooks", `{"url":"https://x.example","events":[` + many("1,") + `1]}`, "events", "maximum number of items is 100"},
		"a longer one":                  {"/v1/me/webhooks", `{"url":"https://x.example","events":[` + fill("1,") + `1]}`, "body", "holds more than 91000 values"},
		"nothing but lists":             {"/v1/me/streams", stream(`"ignored":[` + fill("[],") + `1]`), "body", "holds more than 91000 values"},
		"nothing but keys":              {"/v1/me/streams", stream(keys.String() + `"last":1`), "body", "holds more than 91000 values"},
		"deep lists":                    {"/v1/me/streams", stream(`"ignored":` + strings.Repeat("[", 64) + strings.Repeat("]", 64)), "body", "is nested deeper than 64 levels"},
		"deep objects":                  {"/v1/me/streams", stream(`"ignored":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)), "body", "is nested deeper than 64 levels"},
		"a number of a megabyte":        {"/v1/me/streams", stream(`"reconnectWindowSec":` + fill("9")), "body", "holds a number of more than 64 characters, or beyond 1e±308"},
		"a fraction of a megabyte":      {"/v1/me/streams", stream(`"ignored":0.` + fill("3")), "body", "holds a number of more than 64 characters, or beyond 1e±308"},
		"a number of a billion digits":  {"/v1/me/streams", stream(`"ignored":1e999999999`), "body", "holds a number of more than 64 characters, or beyond 1e±308"},
		"one that is all but nothing":   {"/v1/me/streams", stream(`"ignored":-1E-999999999`), "body", "holds a number of more than 64 characters, or beyond 1e±308"},
		"an exponent of many digits":    {"/v1/me/streams", stream(`"ignored":1e` + strings.Repeat("0", 50) + "9"), "", ""},
		"a text of escapes":             {"/v1/me/streams", `{"name":"` + fill(`\u0041`) + `"}`, "name", "maximum string length is 200"},
		"brackets and digits in a text": {"/v1/me/streams", stream(`"ignored":"` + strings.Repeat(`[{\"9`, 10_000) + `\\"`), "", ""},
		"as deep as may be":             {"/v1/me/streams", stream(`"ignored":` + strings.Repeat("[", 63) + strings.Repeat("]", 63)), "", ""},
		"as long as may be":             {"/v1/me/streams", stream(`"ignored":[` + many("-1.5e-300,") + `1]`), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := owner.Call(t, "POST", c.path, c.body)
			if c.message == "" {
				r.Is(t, 201)
				return
			}
			p := r.Problem(t, 400, "invalid_input")
			require.Len(t, p.Errors, 1)
			require.Equal(t, c.field, p.Errors[0].Field)
			require.Equal(t, c.message, p.Errors[0].Message)
			require.Less(t, len(r.Body), 1000)
		})
	}
}

func TestOnlySomeOfManyFaultsAreReported(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	body := `{"url":"https://x.example","events":[` + strings.Repeat(`1,`, 99) + `1],"disabled":5}`
	p := owner.Call(t, "POST", "/v1/me/webhooks", body).Problem(t, 400, "invalid_input")
	require.NotEmpty(t, p.Errors)
	require.LessOrEqual(t, len(p.Errors), 100)
}

// TestListsInRequestsHaveALimit checks that every list has one, because lists
// determine how many faults a request can have.
func TestListsInRequestsHaveALimit(t *testing.T) {
	t.Parallel()
	seen := map[*openapi3.Schema]bool{}
	var walk func(where string, s *openapi3.Schema)
	walk = func(where string, s *openapi3.Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if s.Type.Is(openapi3.TypeArray) {
			require.NotNil(t, s.MaxItems, "%s: give the list maxItems", where)
			walk(where+"[]", s.Items.Value)
		}
		if of := s.AdditionalProperties.Schema; of != nil && (of.Value.Type != nil || len(of.Value.AllOf) > 0) {
			require.NotNil(t, s.MaxProps, "%s: give the map maxProperties", where)
			walk(where+"{}", of.Value)
		}
		for name, p := range s.Properties {
			walk(where+"."+name, p.Value)
		}
		for _, parts := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
			for _, part := range parts {
				walk(where, part.Value)
			}
		}
	}
	for _, op := range operations(t) {
		if op.spec.RequestBody == nil {
			continue
		}
		if media := op.spec.RequestBody.Value.Content["application/json"]; media != nil {
			walk(op.id, media.Schema.Value)
		}
	}
}

// TestTheLimitOfABodyIsTheDocuments sends one byte too many to every operation
// with a body.
func TestTheLimitOfABodyIsTheDocuments(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	stated := 0
	for _, op := range operations(t) {
		if op.spec.RequestBody == nil || len(scopesOf(op, "tenantToken")) == 0 {
			continue
		}
		limit, says := 1<<20, "1 MiB"
		if n, ok := op.spec.RequestBody.Value.Extensions["x-max-bytes"].(float64); ok {
			stated++
			limit, says = int(n), fmt.Sprintf("%d MiB", int(n)>>20)
		}
		r, err := http.NewRequestWithContext(t.Context(), op.method, s.URL+op.at("none"), http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+owner.Token)
		// The server trusts the Content-Length, so the test needn't send the body.
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("")), int64(limit)+1
		recorder := httptest.NewRecorder()
		s.Handler.ServeHTTP(recorder, r)
		require.Equal(t, 413, recorder.Code, op.id)
		require.Contains(t, recorder.Body.String(), "the body is larger than "+says, op.id)
	}
	require.NotZero(t, stated, "the catalog's sync has a limit of its own")
}

// overTheWire sends bytes unchanged on a connection of its own and returns the answer.
func overTheWire(t *testing.T, addr string, parts ...string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	for _, part := range parts {
		_, err = io.WriteString(conn, part)
		require.NoError(t, err)
	}
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
	if tcp, ok := conn.(*net.TCPConn); ok && len(parts) == 2 {
		require.NoError(t, tcp.CloseWrite()) // no more bytes follow
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestBodiesThatDontArrive sends a body that stops, and one that takes too long.
func TestBodiesThatDontArrive(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	slow := httptest.NewUnstartedServer(s.Handler)
	slow.Config.ReadTimeout = 300 * time.Millisecond
	slow.Start()
	t.Cleanup(slow.Close)
	head := "POST /v1/me/streams HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + owner.Token +
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
	for _, key := range []string{"", "Idempotency-Key: k\r\n"} {
		resp := overTheWire(t, slow.Listener.Addr().String(), head+key+"\r\n"+`{"name":`)
		require.Equal(t, 408, resp.StatusCode)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), `"request_timeout"`)

		resp = overTheWire(t, strings.TrimPrefix(s.URL, "http://"), head+key+"\r\n", `{"name":`)
		require.Equal(t, 400, resp.StatusCode)
		body, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), "ended too early")
	}
}
