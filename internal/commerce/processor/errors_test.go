package processor_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

// answer always gives the same answer.
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

// TestRefusals: nothing was done at the processor.
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
				require.Equal(t, processor.Refused, processor.OutcomeOf(err))
				require.ErrorContains(t, err, tt.code)
			}
		})
	}
}

// TestFailures: all failures that aren't definite refusals are the same problem
// for callers of the API. Their outcomes differ.
func TestFailures(t *testing.T) {
	t.Parallel()
	const unknown, notDone = processor.Unknown, processor.NotDone
	for name, tt := range map[string]struct {
		status int
		body   string
		log    string
		want   processor.Outcome
	}{
		"failed":                   {500, said("api_error", "", "Sorry"), "500 api_error : Sorry (request req_1)", unknown},
		"failed with its own code": {500, said(invalid, "parameter_missing", "Sorry"), "500", unknown},
		"away":                     {503, "upstream connect error", "upstream connect error", unknown},
		"away, in its own words":   {503, said("api_error", "", "Busy"), "503", unknown},
		"too many":                 {429, said(invalid, "rate_limit", "Slow down"), "429 invalid_request_error rate_limit: Slow down", notDone},
		"too many, without a code": {429, said(invalid, "", "Slow down"), "429", notDone},
		"too many for one object":  {429, said(invalid, "lock_timeout", "Wait"), "429", unknown},
		"a proxy's too many":       {429, "<html>Too Many Requests</html>", "<html>Too Many Requests</html>", unknown},
		"our key is wrong":         {401, said(invalid, "", "Invalid API Key provided: "+key), "Invalid API Key provided: (key)", notDone},
		"our key may not":          {403, said(invalid, "more_permissions_required", "No"), "more_permissions_required", notDone},
		"the same is being done":   {409, said("idempotency_error", "idempotency_key_in_use", "Wait"), "409", unknown},
		"asked with other values":  {400, said("idempotency_error", "", "Keys for idempotent requests"), "400 idempotency_error", unknown},
		"locked":                   {409, said(invalid, "lock_timeout", "Wait"), "409", unknown},
		"a proxy's no":             {400, "<html>Bad Request</html>", "<html>Bad Request</html>", unknown},
		"a proxy's no in JSON":     {403, `{"error":{"message":"forbidden"}}`, "forbidden", unknown},
		"no error in it":           {400, `{}`, "{}", unknown},
		"a proxy's page":           {200, "<html>Welcome</html>", "<html>Welcome</html>", unknown},
		"nothing":                  {200, "", "JSON", unknown},
		"nothing in it":            {200, `{}`, "lacks", unknown},
		"null":                     {200, `null`, "lacks", unknown},
		"another thing":            {200, `{"object":"event"}`, "lacks", unknown},
		"a redirect":               {307, "", "JSON", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, peer := recorded(t, answer(tt.status, tt.body))
			for _, one := range calls() {
				err := one.do(t, c)
				requireUnavailable(t, err)
				require.ErrorContains(t, err, tt.log, one.name)
				require.NotContains(t, err.Error(), key)
				if one.name != createPage { // its first call only creates a coupon
					require.Equal(t, tt.want, processor.OutcomeOf(err), one.name)
				}
			}
			require.Len(t, peer.requests(), len(calls()), "each was sent once")
		})
	}
}

// createPage is the name of the call that makes two requests.
const createPage = "create payment page"

func requireUnavailable(t *testing.T, err error) {
	t.Helper()
	p, known := problem.As(err)
	require.True(t, known, "%v", err)
	require.Equal(t, problem.New(problem.Unavailable, "processor_unavailable", "the payment processor can't be reached; try again later"), p)
	var refusal *processor.Refusal
	require.NotErrorAs(t, err, &refusal)
}

// TestCheck: Check reports the result of the last call.
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
	require.NoError(t, c.Check(t.Context()), "the caller cancelled, the processor did not fail")
	require.Len(t, peer.requests(), 4, "Check makes no call")
}

// TestNotSent: a request that finds no connection was definitely not carried out.
func TestNotSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	plain, secure := httptest.NewServer(answer(200, "{}")), httptest.NewTLSServer(answer(200, "{}"))
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	nameless := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "api.processor.example", IsNotFound: true}
	}}}
	for name, config := range map[string]processor.Config{
		"refused":           {URL: "http://" + l.Addr().String()},
		"no such name":      {URL: "http://api.processor.example", HTTPClient: nameless},
		"no such port":      {URL: "http://127.0.0.1:0"},
		"no TLS there":      {URL: strings.Replace(plain.URL, "http:", "https:", 1)},
		"a wrong signature": {URL: secure.URL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config.Key = key
			c := processor.New(config)
			for _, one := range calls() {
				err := one.do(t, c)
				requireUnavailable(t, err)
				require.ErrorContains(t, err, one.doing())
				require.Equal(t, processor.NotDone, processor.OutcomeOf(err), "%s: %v", one.name, err)
			}
			require.Error(t, c.Check(t.Context()))
		})
	}
}

// TestSentAndLost: with a connection, also a reused one, the outcome of a lost
// request is unknown.
func TestSentAndLost(t *testing.T) {
	t.Parallel()
	var lose atomic.Bool
	c, _ := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lose.Load() {
			panic(http.ErrAbortHandler)
		}
		answer(200, `{"id":"acct_1"}`).ServeHTTP(w, r)
	}))
	for _, used := range []bool{false, true} {
		lose.Store(!used)
		if used {
			_, err := c.GetAccount(t.Context(), "acct_1")
			require.NoError(t, err)
			lose.Store(true)
		}
		_, err := c.CreateRefund(t.Context(), processor.NewRefund{AccountID: "acct_1", RefundID: "ref_1", PaymentIntentID: "pi_1", AmountCents: 1})
		requireUnavailable(t, err)
		require.Equal(t, processor.Unknown, processor.OutcomeOf(err), used)
	}
}

// TestAPageWhoseCouponFailed: the page was not requested, for any outcome of the
// coupon.
func TestAPageWhoseCouponFailed(t *testing.T) {
	t.Parallel()
	c, peer := recorded(t, answer(http.StatusInternalServerError, said("api_error", "", "Sorry")))
	_, err := c.CreatePage(t.Context(), aPage())
	requireUnavailable(t, err)
	require.Equal(t, processor.NotDone, processor.OutcomeOf(err))
	require.Len(t, peer.requests(), 1)
	page := aPage()
	page.DiscountCents = 0
	_, err = c.CreatePage(t.Context(), page)
	requireUnavailable(t, err)
	require.Equal(t, processor.Unknown, processor.OutcomeOf(err))
}

// doing is the first call's name in the log.
func (c call) doing() string {
	if c.name == createPage {
		return "create coupon"
	}
	return c.name
}

// TestWithoutKey makes no call and names the missing setting for the operator.
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
		require.Equal(t, processor.NotDone, processor.OutcomeOf(err))
	}
	require.NoError(t, c.Check(t.Context()), "it is meant to be so")
	require.Empty(t, arrived.requests())
	require.True(t, processor.New(processor.Config{Key: key}).Configured())
}

// TestLostAnswer requires that a request whose answer is lost isn't sent again,
// not even by Go's transport over a reused connection.
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
	c := processor.New(processor.Config{Key: key, URL: peer.URL, HTTPClient: &http.Client{Timeout: time.Second}})
	list := calls()
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, one := range list {
		all.Go(func() { errs[i] = one.do(t, c) })
	}
	all.Wait()
	for _, err := range errs {
		requireUnavailable(t, err)
	}
	require.Len(t, arrived.requests(), len(list))
}

// TestACancelledCallReturnsTheContextsError requires that a caller who cancels gets the context's error.
func TestACancelledCallReturnsTheContextsError(t *testing.T) {
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
	requireUnavailable(t, err)
	require.Equal(t, processor.Unknown, processor.OutcomeOf(err), "it may have been done")

	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	_, err = c.CreateRefund(late, processor.NewRefund{RefundID: "ref_1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, context.Canceled)
	require.Equal(t, processor.NotDone, processor.OutcomeOf(err), "it had no connection yet")
}

// TestCouponIsThere requires that a second attempt uses the first one's coupon.
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
