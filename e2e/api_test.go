package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/testkit/schematest"
)

// document is the API document and a router for its operations.
type document struct {
	spec   *openapi3.T
	router routers.Router
}

var contract = sync.OnceValues(func() (document, error) {
	doc, err := api.GetSpec()
	if err != nil {
		return document{}, err
	}
	openapi3filter.RegisterBodyDecoder("text/vtt", openapi3filter.FileBodyDecoder)
	router, err := legacy.NewRouter(doc)
	return document{doc, router}, err
})

// checked is a transport that checks each answer against the API document.
type checked struct{ t testing.TB }

func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	doc, err := contract()
	if err != nil {
		return nil, err
	}
	bare := r.Clone(r.Context())
	bare.URL.Scheme, bare.URL.Host, bare.Host = "", "", ""
	route, params, err := doc.router.FindRoute(bare)
	if err != nil {
		c.t.Errorf("%s %s is not in the API document: %v", r.Method, r.URL.Path, err)
		return resp, nil
	}
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: bare, PathParams: params, Route: route},
		Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		c.t.Errorf("%s %s answered against the API document: %v\n%s", r.Method, r.URL.Path, err, body)
	}
	if err := checkStrictly(route, resp, body); err != nil && r.Method != http.MethodHead {
		c.t.Errorf("%s %s: %v\n%s", r.Method, r.URL.Path, err, body)
	}
	return resp, nil
}

// checkStrictly compares an answer with the document once more, with the strict validator.
func checkStrictly(route *routers.Route, resp *http.Response, body []byte) error {
	value, err := schematest.DecodeBody(resp.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	return schematest.CheckAnswer(schematest.Answer{
		Method: route.Method, Path: route.Path, Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Value: value,
	})
}

// tenant is one tenant of a server with all its credentials.
type tenant struct {
	t testing.TB
	*client.ClientWithResponses

	id, email, password, token, apiKey string
}

// signUp registers a tenant and creates an API key, which the tenant's client
// uses from then on.
func signUp(t testing.TB, s *server) *tenant {
	t.Helper()
	a := &tenant{t: t, email: strings.ToLower(rand.Text()) + "@e2e.example", password: "pw-" + rand.Text()}
	credentials := func(_ context.Context, r *http.Request) error {
		if a.apiKey != "" {
			r.Header.Set("Authorization", "Bearer "+a.apiKey)
		} else if a.token != "" {
			r.Header.Set("Authorization", "Bearer "+a.token)
		}
		return nil
	}
	var err error
	a.ClientWithResponses, err = client.NewClientWithResponses(s.url,
		client.WithHTTPClient(&http.Client{Transport: checked{t}, Timeout: 30 * time.Second}), client.WithRequestEditorFn(credentials))
	require.NoError(t, err)

	login := created(a.RegisterWithResponse(t.Context(), api.RegistrationInput{TenantName: t.Name(), Name: "Ada", Email: a.email, Password: a.password}))(t)
	a.id, a.token = login.Tenant.ID, login.Token
	key := created(a.CreateAPIKeyWithResponse(t.Context(), api.APIKeyInput{Name: "e2e"}))(t)
	require.NotNil(t, key.Key)
	a.apiKey = *key.Key
	return a
}

// asOwner makes one call with the owner's token instead of the API key.
func (a *tenant) asOwner(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer "+a.token)
	return nil
}

// creation is the type of the client's answers to a POST.
type creation[T any] interface {
	GetJSON201() *T
	GetBody() []byte
	StatusCode() int
}

// created returns the resource that a POST created; any other answer fails the test.
func created[T any](answer creation[T], err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, answer.StatusCode(), "%s", answer.GetBody())
		return *answer.GetJSON201()
	}
}

// newStream creates a stream of a mode.
func (a *tenant) newStream(mode api.StreamMode, reconnectWindowSec int) api.Stream {
	a.t.Helper()
	return created(a.CreateStreamWithResponse(a.t.Context(), api.StreamInput{
		Name: "Launch", Mode: &mode, ReconnectWindowSec: &reconnectWindowSec,
	}))(a.t)
}

// target returns the URL to which encoders publish.
func target(s api.Stream) string { return s.IngestURL + "/" + s.StreamKey }

func (a *tenant) stream(id string) api.Stream {
	a.t.Helper()
	answer, err := a.GetStreamWithResponse(a.t.Context(), id)
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	return *answer.JSON200
}

// await waits until the stream has the status.
func (a *tenant) await(id string, status api.StreamStatus) api.Stream {
	a.t.Helper()
	var s api.Stream
	until(a.t, "the stream is "+string(status), func() bool {
		s = a.stream(id)
		return s.Status == status
	})
	return s
}

// playback returns a playback URL of the stream.
func (a *tenant) playback(id string) api.PlaybackURL {
	a.t.Helper()
	return created(a.CreatePlaybackURLWithResponse(a.t.Context(), id, api.PlaybackURLInput{}))(a.t)
}

// deliveries returns the endpoint's deliveries, oldest first.
func (a *tenant) deliveries(endpoint string) []api.WebhookDelivery {
	a.t.Helper()
	limit := 200
	answer, err := a.ListWebhookDeliveriesWithResponse(a.t.Context(), endpoint, &api.ListWebhookDeliveriesParams{Limit: &limit})
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	list := *answer.JSON200
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}
