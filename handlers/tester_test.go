package handlers_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestCaptureKeepsTheWholeRequest(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	made := owner.CaptureURL(t)
	require.Regexp(t, `^[0-9A-Za-z]{32}$`, made.Token)
	require.True(t, strings.HasSuffix(made.URL, "/v1/webhooks/capture/"+made.Token))
	require.Zero(t, made.Captured)
	require.True(t, made.LastCapturedAt.IsNull())

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+apitest.CapturePath(t, made)+"/orders/a%2Fb?x=1&x=2&y=%ZZ;z", strings.NewReader(`{"a":1}`))
	require.NoError(t, err)
	r.Host = "hooks.example.test"
	r.Header = http.Header{"Content-Type": {"text/anything; charset=x"}, "X-Multi": {"one", "two"}, "Authorization": {"Bearer not-ours"}}
	var receipt api.CaptureReceipt
	s.With(t, "").Do(t, r).Into(t, 200, &receipt)
	require.True(t, receipt.Captured)

	list := owner.Captures(t, made)
	require.Len(t, list, 1)
	c := list[0]
	require.Equal(t, receipt.ID, c.ID)
	require.Equal(t, "POST", c.Method)
	require.Equal(t, apitest.CapturePath(t, made)+"/orders/a%2Fb", c.Path)
	require.Equal(t, "x=1&x=2&y=%ZZ;z", c.Query)
	require.JSONEq(t, `{"a":1}`, c.Body)
	require.False(t, c.BodyBase64)
	require.Equal(t, 7, c.BodyBytes)
	require.Equal(t, "127.0.0.1", c.IP)
	require.WithinDuration(t, s.Clock.Now(), c.CapturedAt.Time, 0)
	require.Equal(t, []string{"hooks.example.test"}, values(c, "Host"))
	require.Equal(t, []string{"one", "two"}, values(c, "X-Multi"))
	require.Equal(t, []string{"Bearer not-ours"}, values(c, "Authorization"))
	require.True(t, slices.IsSortedFunc(c.Headers, func(a, b api.CapturedHeader) int { return cmp(a.Name, b.Name) }))

	var urls []api.CaptureURL
	owner.Call(t, "GET", "/v1/me/webhook-tester", nil).Into(t, 200, &urls)
	require.Len(t, urls, 1)
	require.EqualValues(t, 1, urls[0].Captured)
	require.WithinDuration(t, s.Clock.Now(), urls[0].LastCapturedAt.MustGet().Time, 0)
}

// values returns the values of a header of a captured request.
func values(c api.Capture, name string) (list []string) {
	for _, h := range c.Headers {
		if h.Name == name {
			list = append(list, h.Value)
		}
	}
	return list
}

func TestEveryMethodIsCaptured(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	methods := []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "PURGE", "FOO", "CONNECT", "get", "M-SEARCH"}
	for _, suffix := range []string{"", "/", "/x", "/x/y/", "?q=1", "/x?q=1"} {
		for _, method := range methods {
			r, err := http.NewRequestWithContext(t.Context(), method, s.URL+apitest.CapturePath(t, u)+suffix, strings.NewReader("body"))
			require.NoError(t, err)
			if method == "CONNECT" { // the HTTP client would open a tunnel
				sent := exchange(t, s, "CONNECT "+apitest.CapturePath(t, u)+suffix+" HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
				require.Contains(t, sent, "HTTP/1.1 200 OK")
			} else {
				got := s.With(t, "").Do(t, r).Is(t, 200)
				require.Equal(t, "application/json", strings.Split(got.Header.Get("Content-Type"), ";")[0], method)
				require.Equal(t, method == "HEAD", len(got.Body) == 0)
			}
			c := owner.Captures(t, u)[0]
			require.Equal(t, method, c.Method, suffix)
			require.Equal(t, "body", c.Body, method)
			path, query, _ := strings.Cut(suffix, "?")
			require.Equal(t, apitest.CapturePath(t, u)+path, c.Path, method)
			require.Equal(t, query, c.Query)
		}
	}
}

func TestEveryMethodDeletesACaptureURL(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "FOO", "get", "M-SEARCH"} {
		u := owner.CaptureURL(t)
		s.Send(t, u, "POST", "", []byte("x"))
		path := "/v1/me/webhook-tester/" + u.Token
		s.With(t, "").Call(t, method, path+"/delete", nil).Is(t, 401)
		owner.Call(t, method, path+"/delete", nil).Is(t, 200)
		s.With(t, "").Call(t, "POST", apitest.CapturePath(t, u), nil).Problem(t, 404, "not_found")
		owner.Call(t, "GET", path+"/captures", nil).Problem(t, 404, "not_found")
		var kept int
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM captures WHERE tenant_id = $1", owner.TenantID).Scan(&kept))
		require.Zero(t, kept)
		for _, again := range []string{method, "DELETE"} {
			owner.Call(t, again, path+"/delete", nil).Is(t, 200)
		}
	}
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", "/v1/me/webhook-tester", nil).Body))
	for _, path := range []string{"/v1/me/webhook-tester/delete", "/v1/me/webhook-tester/a/b/delete", "/v1/me/webhook-tester/a/deleted"} {
		owner.Call(t, "FOO", path, nil).Problem(t, 404, "not_found")
	}
	entries, err := db.New(s.Pool).ListAuditEntries(t.Context(), db.ListAuditEntriesParams{TenantID: owner.TenantID, MaxRows: 100})
	require.NoError(t, err)
	actions := map[string]int{}
	for _, e := range entries {
		actions[e.Action]++
	}
	require.Equal(t, 12, actions["capture_url.create"])
	require.Equal(t, 12, actions["capture_url.delete"], "once each")
}

func TestTwentyCaptureURLs(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	s.Register(t).CaptureURL(t)
	var mu sync.Mutex
	statuses := map[int]int{}
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			status := owner.Call(t, "POST", "/v1/me/webhook-tester", nil).Status
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	wg.Wait()
	require.Equal(t, map[int]int{201: 20, 409: 10}, statuses)
	owner.Call(t, "POST", "/v1/me/webhook-tester", nil).Problem(t, 409, "conflict")
	var urls []api.CaptureURL
	owner.Call(t, "GET", "/v1/me/webhook-tester", nil).Into(t, 200, &urls)
	require.Len(t, urls, 20)
	require.True(t, slices.IsSortedFunc(urls, func(a, b api.CaptureURL) int { return -cmp(a.ID, b.ID) }), "newest first")
	owner.Call(t, "DELETE", "/v1/me/webhook-tester/"+urls[0].Token+"/delete", nil).Is(t, 200)
	owner.CaptureURL(t)
}

// TestThousandsOfCaptures sends requests at once. The last 200 are kept
// completely, and there are never more rows than that.
func TestThousandsOfCaptures(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u, other := owner.CaptureURL(t), owner.CaptureURL(t)
	s.Send(t, other, "GET", "", nil)
	const requests, senders = 10_000, 200
	var wg sync.WaitGroup
	work := make(chan int)
	for range senders {
		wg.Go(func() {
			for n := range work {
				r := s.With(t, "").Call(t, "POST", apitest.CapturePath(t, u), fmt.Sprintf(`{"n":%d}`, n))
				if r.Status != 200 {
					t.Errorf("%d: %s", r.Status, r.Body)
				}
			}
		})
	}
	for n := range requests {
		work <- n
		if n%1000 == 0 {
			var rows int
			require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM captures WHERE tenant_id = $1", owner.TenantID).Scan(&rows))
			require.LessOrEqual(t, rows, 201)
		}
	}
	close(work)
	wg.Wait()
	list := owner.Captures(t, u)
	require.Len(t, list, 200)
	seen := map[string]bool{}
	for _, c := range list {
		require.False(t, seen[c.Body])
		seen[c.Body] = true
	}
	require.Len(t, owner.Captures(t, other), 1, "each URL has its own 200")
	var urls []api.CaptureURL
	owner.Call(t, "GET", "/v1/me/webhook-tester", nil).Into(t, 200, &urls)
	require.EqualValues(t, requests, urls[1].Captured)

	last := s.Send(t, u, "PUT", "", nil)
	list = owner.Captures(t, u)
	require.Len(t, list, 200)
	require.Equal(t, last, list[0].ID)
}

func TestPagesOfCapturesAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	body := bytes.Repeat([]byte{0}, 1<<20)
	var want []string
	for range 7 {
		want = append([]string{s.Send(t, u, "POST", "", body)}, want...)
	}
	first := owner.Call(t, "GET", "/v1/me/webhook-tester/"+u.Token+"/captures", nil)
	var page []api.Capture
	first.Into(t, 200, &page)
	require.Len(t, page, 4, "4 MiB of bodies")
	require.True(t, page[0].BodyBase64)
	require.Equal(t, 1<<20, page[0].BodyBytes)
	var rest []api.Capture
	owner.Call(t, "GET", first.NextPage(t), nil).Into(t, 200, &rest)
	var got []string
	for _, c := range append(page, rest...) {
		got = append(got, c.ID)
	}
	require.Equal(t, want, got)
	require.Equal(t, want, follow(t, owner, "/v1/me/webhook-tester/"+u.Token+"/captures?limit=1", 1))
	owner.Call(t, "GET", "/v1/me/webhook-tester/"+u.Token+"/captures?cursor=str_1", nil).Problem(t, 400, "invalid_input")
	s.With(t, "").Call(t, "POST", apitest.CapturePath(t, u), append(body, 'x')).Problem(t, 413, "body_too_large")
}

func TestCapturesAreKeptSevenDays(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)}) // the deletion concerns all tenants
	owner := s.Register(t)
	u, deleted := owner.CaptureURL(t), owner.CaptureURL(t)
	s.Send(t, u, "POST", "", nil)
	owner.Call(t, "DELETE", "/v1/me/webhook-tester/"+deleted.Token+"/delete", nil).Is(t, 200)
	s.Clock.Advance(7*24*time.Hour - time.Second)
	owner = owner.LogInAgain(t)
	young := s.Send(t, u, "POST", "", nil)
	require.Len(t, owner.Captures(t, u), 2)
	s.Clock.Advance(2 * time.Second)
	require.Len(t, owner.Captures(t, u), 1, "not shown, even if it isn't deleted yet")
	require.NoError(t, s.Tester.DeleteOld(t.Context()))
	var ids []string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT array_agg(id) FROM captures WHERE tenant_id = $1", owner.TenantID).Scan(&ids))
	require.Equal(t, []string{young}, ids)
	owner.Call(t, "DELETE", "/v1/me/webhook-tester/"+deleted.Token+"/delete", nil).Problem(t, 404, "not_found")
	require.Len(t, owner.Captures(t, u), 1, "a URL lives until it is deleted")
}

// TestCapturesBelongToTheirTenant checks that a token allows every client to send
// and only its tenant to read. An id doesn't give access to another URL's captures.
func TestCapturesBelongToTheirTenant(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	u, second := owner.CaptureURL(t), owner.CaptureURL(t)
	theirs := other.CaptureURL(t)
	captured := s.Send(t, u, "POST", "", []byte("secret"))
	body := map[string]any{"url": "http://127.0.0.1:1/"}
	for _, path := range []string{theirs.Token + "/captures/" + captured, u.Token + "/captures/" + captured, theirs.Token + "/captures/" + theirs.Token} {
		other.Call(t, "POST", "/v1/me/webhook-tester/"+path+"/replay", body).Problem(t, 404, "not_found")
	}
	owner.Call(t, "POST", "/v1/me/webhook-tester/"+second.Token+"/captures/"+captured+"/replay", body).Problem(t, 404, "not_found")
	s.With(t, "").Call(t, "GET", "/v1/me/webhook-tester/"+u.Token+"/captures", nil).Problem(t, 401, "unauthenticated")
	reader := owner.Key(t, tenancy.WebhooksRead)
	require.Len(t, reader.Captures(t, u), 1)
	reader.Call(t, "POST", "/v1/me/webhook-tester", nil).Problem(t, 403, "forbidden")
}
