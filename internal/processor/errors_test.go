package processor_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

// answer always answers the same.
func answer(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", "req_1")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func said(kind, code, message string) string {
	return `{"error":{"type":"` + kind + `","code":"` + code + `","message":"` + message + `"}}`
}

const invalid = "invalid_request_error"

// TestRefusals are definite: nothing was done.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status     int
		kind, code string
	}{
		{400, invalid, "parameter_invalid_integer"},
		{400, invalid, "charge_already_refunded"},
		{402, "card_error", "card_declined"},
		{403, invalid, "account_invalid"},
		{404, invalid, "resource_missing"},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			c, _ := recorded(t, answer(tt.status, said(tt.kind, tt.code, "No with "+key+" for 'bo@buyer.example'")))
			for _, one := range calls() {
				err := one.do(t, c)
				var refusal *processor.Refusal
				require.ErrorAs(t, err, &refusal, one.name)
				require.Equal(t, processor.Refusal{Status: tt.status, Code: tt.code, Message: "No with (key) for '(e-mail address)'"}, *refusal)
				_, known := problem.As(err)
				require.False(t, known, "the caller decides what its own caller reads")
				require.ErrorContains(t, err, tt.code)
			}
		})
	}
}

// TestUnknownEnds: all that isn't a definite no leaves open what was done.
func TestUnknownEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		log    string
	}{
		"failed":                   {500, said("api_error", "", "Sorry"), "500 api_error : Sorry (request req_1)"},
		"failed with its own code": {500, said(invalid, "parameter_missing", "Sorry"), "500"},
		"away":                     {503, "upstream connect error", "upstream connect error"},
		"too many":                 {429, said(invalid, "rate_limit", "Slow down"), "429 invalid_request_error rate_limit: Slow down"},
		"our key is wrong":         {401, said(invalid, "", "Invalid API Key provided: "+key), "Invalid API Key provided: (key)"},
		"our key may not":          {403, said(invalid, "more_permissions_required", "No"), "more_permissions_required"},
		"the same is being done":   {409, said("idempotency_error", "idempotency_key_in_use", "Wait"), "409"},
		"asked with other values":  {400, said("idempotency_error", "", "Keys for idempotent requests"), "400 idempotency_error"},
		"locked":                   {409, said(invalid, "lock_timeout", "Wait"), "409"},
		"a proxy's no":             {400, "<html>Bad Request</html>", "<html>Bad Request</html>"},
		"a proxy's no in JSON":     {403, `{"error":{"message":"forbidden"}}`, "forbidden"},
		"no error in it":           {400, `{}`, "{}"},
		"a proxy's page":           {200, "<html>Welcome</html>", "<html>Welcome</html>"},
		"nothing":                  {200, "", "JSON"},
		"nothing in it":            {200, `{}`, "lacks"},
		"null":                     {200, `null`, "lacks"},
		"another thing":            {200, `{"object":"event"}`, "lacks"},
		"a redirect":               {307, "", "JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, peer := recorded(t, answer(tt.status, tt.body))
			for _, one := range calls() {
				err := one.do(t, c)
				requireUnavailable(t, err)
				require.ErrorContains(t, err, tt.log, one.name)
				require.NotContains(t, err.Error(), key)
			}
			require.Len(t, peer.requests(), len(calls()), "each was sent once")
		})
	}
}

func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	p, known := problem.As(err)
	require.True(t, known, "%v", err)
	require.Equal(t, problem.New(problem.Unavailable, "processor_unavailable", "the payment processor can't be reached; try again later"), p)
	var refusal *processor.Refusal
	require.NotErrorAs(t, err, &refusal)
}

// TestCheck tells how the last call ended.
func TestCheck(t *testing.T) {
	t.Parallel()
	var next atomic.Pointer[http.Handler]
	c, peer := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*next.Load()).ServeHTTP(w, r) }))
	get := func(h http.Handler) {
		next.Store(&h)
		_, _ = c.GetAccount(t.Context(), "acct_1")
	}
	require.NoError(t, c.Check(t.Context()), "nothing is known yet")
	get(answer(500, ""))
	requireUnavailable(t, c.Check(t.Context()))
	get(answer(404, said(invalid, "resource_missing", "No such account")))
	require.NoError(t, c.Check(t.Context()), "a refusal comes from a processor that works")
	get(answer(401, said(invalid, "", "No such key")))
	requireUnavailable(t, c.Check(t.Context()))
	get(answer(200, `{"id":"acct_1"}`))
	require.NoError(t, c.Check(t.Context()))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.GetAccount(ctx, "acct_1")
	require.Error(t, err)
	require.NoError(t, c.Check(t.Context()), "it wasn't the processor who gave up")
	require.Len(t, peer.requests(), 4, "checking calls nobody")
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	c := processor.New(processor.Config{Key: key, URL: "http://" + l.Addr().String()})
	for _, one := range calls() {
		err := one.do(t, c)
		requireUnavailable(t, err)
		require.ErrorContains(t, err, one.doing())
	}
}

// doing is the first call's name in the log.
func (c call) doing() string {
	if c.name == "create payment page" {
		return "create coupon"
	}
	return c.name
}

// TestWithoutKey calls nobody and tells the operator which setting is missing.
func TestWithoutKey(t *testing.T) {
	t.Parallel()
	arrived := &recorder{next: answer(200, "{}")}
	peer := httptest.NewServer(arrived)
	t.Cleanup(peer.Close)
	c := processor.New(processor.Config{URL: peer.URL})
	require.False(t, c.Configured())
	for _, one := range calls() {
		err := one.do(t, c)
		requireUnavailable(t, err)
		require.ErrorContains(t, err, "PROCESSOR_KEY is not set")
	}
	require.NoError(t, c.Check(t.Context()), "it is meant to be so")
	require.Empty(t, arrived.requests())
	require.True(t, processor.New(processor.Config{Key: key}).Configured())
}

// TestLostAnswer requires that a request whose answer is lost isn't sent again,
// not even by Go's transport over a connection that it had used before.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	mock, err := document()
	require.NoError(t, err)
	var lose atomic.Bool
	c, peer := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lose.Load() {
			panic(http.ErrAbortHandler)
		}
		mock.ServeHTTP(w, r)
	}))
	for _, one := range calls() {
		if strings.HasPrefix(one.want[0].method, http.MethodGet) {
			continue // reading twice does no harm
		}
		lose.Store(false)
		require.NoError(t, one.do(t, c))
		before := len(peer.requests())
		lose.Store(true)
		requireUnavailable(t, one.do(t, c))
		require.Len(t, peer.requests(), before+1, one.name)
	}
}

// hang answers when the test ends.
func hang(t *testing.T) http.Handler {
	t.Helper()
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end })
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	arrived := &recorder{next: hang(t)}
	peer := httptest.NewServer(arrived)
	t.Cleanup(func() { go peer.Close() })
	c := processor.New(processor.Config{Key: key, URL: peer.URL, HTTPClient: &http.Client{Timeout: 50 * time.Millisecond}})
	for _, one := range calls() {
		requireUnavailable(t, one.do(t, c))
	}
	require.Len(t, arrived.requests(), len(calls()))
}

// TestGivenUp requires that whoever gave up sees so.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	peer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(peer.Close)
	c := processor.New(processor.Config{Key: key, URL: peer.URL})
	_, err := c.GetPage(ctx, "acct_1", "cs_1")
	require.ErrorIs(t, err, context.Canceled)
	requireUnavailable(t, err) // it may have been done

	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	_, err = c.CreateRefund(late, processor.NewRefund{RefundID: "ref_1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, context.Canceled)
}

// TestCouponIsThere requires that a second try goes on with the first one's coupon.
func TestCouponIsThere(t *testing.T) {
	t.Parallel()
	mock, err := document()
	require.NoError(t, err)
	c, peer := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/coupons" {
			answer(http.StatusBadRequest, said(invalid, "resource_already_exists", "Coupon already exists.")).ServeHTTP(w, r)
			return
		}
		mock.ServeHTTP(w, r)
	}))
	_, err = c.CreatePage(t.Context(), aPage())
	require.NoError(t, err)
	require.Equal(t, "order-ord_1", peer.requests()[1].form.Get("discounts[0][coupon]"))
}
