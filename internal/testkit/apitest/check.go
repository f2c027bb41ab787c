package apitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/labstack/echo/v4"

	"showfloor/gen"
	"showfloor/gen/api"
	"showfloor/internal/testkit/schematest"
)

// contract is the API document with a router for it.
type contract struct {
	spec   *openapi3.T
	router routers.Router
}

// document is read once per process.
//
//nolint:gochecknoglobals // it takes long to read and never changes
var document = sync.OnceValues(func() (contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		return contract{}, fmt.Errorf("read the embedded API document: %w", err)
	}
	openapi3filter.RegisterBodyDecoder("text/vtt", openapi3filter.FileBodyDecoder)
	router, err := legacy.NewRouter(doc)
	return contract{doc, router}, err
})

// instant is the API's format of timestamps.
var instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// Document returns the embedded API document. All tests share it: don't change it.
func Document(t testing.TB) *openapi3.T {
	t.Helper()
	d, err := document()
	must(t, err)
	return d.spec
}

// checked fails the test for each response that doesn't match the document.
func checked(t testing.TB, next http.Handler) http.Handler {
	t.Helper()
	d, err := document()
	must(t, err)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := &recorder{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			if p := recover(); p != nil {
				panic(p) // the handler has closed the connection on purpose
			}
			if record.taken {
				return // it is a WebSocket
			}
			if err := check(d.router, r, record); err != nil {
				t.Errorf("%s %s answered %d %s\n%v", r.Method, r.URL.Path, record.status, record.body.Bytes(), err)
			}
		}()
		next.ServeHTTP(record, r)
	})
}

// check compares a response with the document.
func check(router routers.Router, r *http.Request, got *recorder) error {
	if got.Header().Get(echo.HeaderXRequestID) == "" {
		return errors.New("no X-Request-Id")
	}
	if got.status >= http.StatusBadRequest && got.Header().Get("Content-Type") == "application/problem+json" && r.Method != http.MethodHead {
		if err := checkProblem(got); err != nil {
			return err
		}
	}
	if r.Method == http.MethodOptions && r.Header.Get(echo.HeaderAccessControlRequestMethod) != "" {
		return nil // a preflight concerns no operation
	}
	// The lookup uses only the path: the document's server URL is this server.
	lookup := r.Clone(context.Background())
	lookup.URL.Host, lookup.Host = "", ""
	route, params, err := router.FindRoute(lookup)
	if err != nil {
		return nil //nolint:nilerr // an unknown route, or a page
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: lookup, PathParams: params, Route: route},
		Status:                 got.status,
		Header:                 got.Header(),
		Body:                   io.NopCloser(bytes.NewReader(got.body.Bytes())),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		return fmt.Errorf("not as the document says: %w", err)
	}
	if r.Method == http.MethodHead {
		return nil // the handler's answer can't be checked
	}
	body, err := schematest.DecodeBody(got.Header().Get("Content-Type"), got.body.Bytes())
	if err != nil {
		return err
	}
	return errors.Join(schematest.CheckAnswer(schematest.Answer{
		Method: route.Method, Path: route.Path, Status: got.status, ContentType: got.Header().Get("Content-Type"), Value: body,
	}), walkTimes(body))
}

// checkProblem checks what the schema can't express.
func checkProblem(got *recorder) error {
	var p api.Problem
	if err := json.Unmarshal(got.body.Bytes(), &p); err != nil {
		return fmt.Errorf("not a problem: %w", err)
	}
	switch {
	case p.Status != got.status:
		return fmt.Errorf("the problem says %d", p.Status)
	case p.Type != "about:blank", p.Title != http.StatusText(got.status), p.Code == "", p.Message == "":
		return errors.New("the problem is incomplete")
	case p.RequestID != got.Header().Get(echo.HeaderXRequestID) && got.Header().Get("Idempotent-Replayed") == "":
		return errors.New("the problem names another request")
	case (got.status == http.StatusUnauthorized) != (got.Header().Get("WWW-Authenticate") == "Bearer"):
		return errors.New("WWW-Authenticate goes with 401")
	}
	return nil
}

// walkTimes requires that every field …At has the API's format of timestamps.
func walkTimes(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := walkTimes(e); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, e := range v {
			text, isText := e.(string)
			if isText && (name == "at" || len(name) > 2 && name[len(name)-2:] == "At") && !instant.MatchString(text) {
				return fmt.Errorf("%s is %q", name, text)
			}
			if err := walkTimes(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// recorder passes the response on and keeps a copy.
type recorder struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
	// taken: the connection was hijacked and no longer uses HTTP.
	taken bool
}

// Hijack implements http.Hijacker.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.taken = true
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	r.body.Write(b)
	return r.ResponseWriter.Write(b)
}

// ReadFrom keeps a copy of what would go from a file to the connection directly.
func (r *recorder) ReadFrom(src io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{r}, src)
}

// Unwrap gives http.ResponseController access to the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
