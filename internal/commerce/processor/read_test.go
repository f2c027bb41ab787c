package processor_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/processor"
)

func TestPagesAsTheyAre(t *testing.T) {
	t.Parallel()
	open := processor.PaymentPage{
		ID: "cs_1", OrderID: "ord_1", URL: "https://pay.example/cs_1", Status: processor.Open,
		TotalCents: 4320, Currency: "eur", CustomerEmail: "ada@example.com", ExpiresAt: at,
	}
	for name, tt := range map[string]struct {
		fields string
		want   func(s *processor.PaymentPage)
	}{
		"open":      {`"status":"open","payment_status":"unpaid"`, func(*processor.PaymentPage) {}},
		"open, odd": {`"status":"open","payment_status":"no_payment_required"`, func(*processor.PaymentPage) {}},
		"paid": {
			`"status":"complete","payment_status":"paid","payment_intent":"pi_1","customer_details":{"email":"typed@example.com"}`,
			func(s *processor.PaymentPage) {
				s.Status, s.Paid, s.PaymentIntentID, s.CustomerEmail = processor.Complete, true, "pi_1", "typed@example.com"
			},
		},
		"paid, with the payment itself": {
			`"status":"complete","payment_status":"paid","payment_intent":{"id":"pi_1","object":"payment_intent"}`,
			func(s *processor.PaymentPage) { s.Status, s.Paid, s.PaymentIntentID = processor.Complete, true, "pi_1" },
		},
		"nothing to pay": {`"status":"complete","payment_status":"no_payment_required","payment_intent":null`, func(s *processor.PaymentPage) {
			s.Status, s.Paid = processor.Complete, true
		}},
		"not yet paid": {`"status":"complete","payment_status":"unpaid","payment_intent":"pi_1"`, func(s *processor.PaymentPage) {
			s.Status, s.PaymentIntentID = processor.Complete, "pi_1"
		}},
		"failed": {
			`"status":"complete","payment_status":"unpaid","payment_intent":{"id":"pi_1","status":"requires_payment_method"}`,
			func(s *processor.PaymentPage) {
				s.Status, s.Failed, s.PaymentIntentID = processor.Complete, true, "pi_1"
			},
		},
		"cancelled": {
			`"status":"complete","payment_status":"unpaid","payment_intent":{"id":"pi_1","status":"canceled"}`,
			func(s *processor.PaymentPage) {
				s.Status, s.Failed, s.PaymentIntentID = processor.Complete, true, "pi_1"
			},
		},
		"open after a failed try": {
			`"status":"open","payment_status":"unpaid","payment_intent":{"id":"pi_1","status":"requires_payment_method"}`,
			func(s *processor.PaymentPage) { s.PaymentIntentID = "pi_1" },
		},
		"on its way": {
			`"status":"complete","payment_status":"unpaid","payment_intent":{"id":"pi_1","status":"processing"}`,
			func(s *processor.PaymentPage) { s.Status, s.PaymentIntentID = processor.Complete, "pi_1" },
		},
		"expired": {`"status":"expired","payment_status":"unpaid","url":null`, func(s *processor.PaymentPage) {
			s.Status, s.URL = processor.Expired, ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := open
			tt.want(&want)
			body := pageJSON("cs_1", "ord_1", at, tt.fields)
			c, _ := recorded(t, answer(http.StatusOK, body))
			got, err := c.GetPage(t.Context(), "acct_1", "cs_1")
			require.NoError(t, err)
			require.Equal(t, want, got)
			reported, err := processor.Event{ID: "evt_1", AccountID: "acct_1", Payload: []byte(`{"data":{"object":` + body + `}}`)}.PaymentPage()
			require.NoError(t, err)
			require.Equal(t, want, reported, "a report says the same")
		})
	}
}

func pageJSON(id, order string, created time.Time, fields string) string {
	if !strings.Contains(fields, `"url"`) {
		fields += `,"url":"https://pay.example/` + id + `"`
	}
	return fmt.Sprintf(`{"object":"checkout.session","id":%q,"metadata":{"order_id":%q},"created":%d,"amount_total":4320,"currency":"eur",`+
		`"customer_email":"ada@example.com","expires_at":%d,%s}`, id, order, created.Unix(), at.Unix(), fields)
}

// TestFindPage reads list pages until it finds the payment page or older entries.
func TestFindPage(t *testing.T) {
	t.Parallel()
	all := []string{}
	for i := range 250 { // one every 10 seconds, newest first
		all = append(all, pageJSON(fmt.Sprintf("cs_%d", i), fmt.Sprintf("ord_%d", i), at.Add(-10*time.Second*time.Duration(i)), `"status":"open"`))
	}
	c, peer := recorded(t, paged(all, "cs_"))
	find := func(orderID string, since time.Duration) *processor.PaymentPage {
		t.Helper()
		found, err := c.FindPage(t.Context(), processor.Search{AccountID: "acct_1", Match: of(orderID), From: at.Add(-since), Until: at})
		require.NoError(t, err)
		require.Empty(t, found.Next)
		return found.Page
	}
	require.Equal(t, "cs_130", find("ord_130", time.Hour).ID)
	require.Len(t, peer.requests(), 2)
	require.Equal(t, "cs_99", peer.requests()[1].form.Get("starting_after"))
	require.Equal(t, "acct_1", peer.requests()[1].header.Get("Stripe-Account"))

	require.Nil(t, find("ord_x", time.Hour))
	require.Len(t, peer.requests(), 5)

	for order, want := range map[string]bool{"ord_66": true, "ord_67": false} { // a minute and 10 of slack
		require.Equal(t, want, find(order, time.Minute) != nil, order)
	}
	require.Len(t, peer.requests(), 7, "no further than needed")
}

// of returns a match for the pages of an order.
func of(orderID string) func(processor.PaymentPage) bool {
	return func(s processor.PaymentPage) bool { return s.OrderID == orderID }
}

// TestALongSearchGoesOn: a search continues where it stopped, after 1000 pages and
// after a failure.
func TestALongSearchGoesOn(t *testing.T) {
	t.Parallel()
	all := []string{}
	for i := range 2500 {
		all = append(all, pageJSON(fmt.Sprintf("cs_%d", i), fmt.Sprintf("ord_%d", i), at, `"status":"open"`))
	}
	c, peer := recorded(t, paged(all, "cs_"))
	s := processor.Search{AccountID: "acct_1", Match: of("ord_2345"), From: at, Until: at}
	for _, next := range []string{"cs_999", "cs_1999"} {
		found, err := c.FindPage(t.Context(), s)
		require.NoError(t, err)
		require.Nil(t, found.Page)
		require.Equal(t, next, found.Next)
		s.After = found.Next
	}
	found, err := c.FindPage(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "cs_2345", found.Page.ID)
	require.Len(t, peer.requests(), 24)

	whole := slices.Clone(all)
	all[300] = "" // the fourth list fails
	s.After = ""
	found, err = c.FindPage(t.Context(), s)
	requireUnavailable(t, err)
	require.Equal(t, "cs_299", found.Next)
	copy(all, whole)
	s.After, s.Match = found.Next, of("ord_300")
	found, err = c.FindPage(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "cs_300", found.Page.ID)
}

// TestASearchEndsAtItsDeadline: a search ends at its deadline and returns its position.
func TestASearchEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	all := []string{}
	for i := range 300 {
		all = append(all, pageJSON(fmt.Sprintf("cs_%d", i), fmt.Sprintf("ord_%d", i), at, `"status":"open"`))
	}
	ctx, cancel := context.WithCancel(t.Context())
	lists := paged(all, "cs_")
	c, _ := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("starting_after") == "cs_99" {
			cancel()
			<-r.Context().Done()
			return
		}
		lists.ServeHTTP(w, r)
	}))
	found, err := c.FindPage(ctx, processor.Search{AccountID: "acct_1", Match: of("ord_250"), From: at, Until: at})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, "cs_99", found.Next)
}

// TestFieldsThatBuyersSetNameNoOrder: buyers can choose the client_reference_id on
// a payment link.
func TestFieldsThatBuyersSetNameNoOrder(t *testing.T) {
	t.Parallel()
	body := strings.Replace(pageJSON("cs_1", "ord_1", at, `"status":"complete","payment_status":"paid"`), `"metadata":{"order_id":"ord_1"}`,
		`"client_reference_id":"ord_1","metadata":{}`, 1)
	c, _ := recorded(t, answer(http.StatusOK, body))
	got, err := c.GetPage(t.Context(), "acct_1", "cs_1")
	require.NoError(t, err)
	require.Empty(t, got.OrderID)
	reported, err := processor.Event{ID: "evt_1", AccountID: "acct_1", Payload: []byte(`{"data":{"object":` + body + `}}`)}.PaymentPage()
	require.NoError(t, err)
	require.Empty(t, reported.OrderID)
}

// paged lists 100 entries at a time, and fails at an empty entry.
func paged(all []string, prefix string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := 0
		if after := r.URL.Query().Get("starting_after"); after != "" {
			_, _ = fmt.Sscanf(after, prefix+"%d", &start)
			start++
		}
		end := min(start+100, len(all))
		if all[start] == "" {
			answer(http.StatusInternalServerError, said("api_error", "", "Sorry")).ServeHTTP(w, r)
			return
		}
		answer(http.StatusOK, fmt.Sprintf(`{"object":"list","url":"/v1/x","has_more":%t,"data":[%s]}`, end < len(all), strings.Join(all[start:end], ","))).ServeHTTP(w, r)
	})
}

func TestFindAccount(t *testing.T) {
	t.Parallel()
	one := func(id, tenant string, age time.Duration) string {
		return fmt.Sprintf(`{"object":"account","id":%q,"created":%d,"details_submitted":true,"charges_enabled":false,"metadata":{"tenant_id":%q}}`,
			id, at.Add(-age).Unix(), tenant)
	}
	list := `{"object":"list","url":"/v1/accounts","has_more":false,"data":[` +
		strings.Join([]string{one("acct_1", "ten_1", 0), one("acct_2", "ten_2", time.Minute), one("acct_3", "ten_3", time.Hour)}, ",") + `]}`
	c, _ := recorded(t, answer(http.StatusOK, list))
	found, ok, err := c.FindAccount(t.Context(), "ten_2", at.Add(-10*time.Minute))
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, processor.Account{ID: "acct_2", DetailsSubmitted: true}, found)
	for _, tenant := range []string{"ten_3", "ten_4"} {
		_, ok, err = c.FindAccount(t.Context(), tenant, at.Add(-10*time.Minute))
		require.NoError(t, err)
		require.False(t, ok, "%s is too old, or isn't there", tenant)
	}
}

func TestListRefunds(t *testing.T) {
	t.Parallel()
	var all []string
	for i, status := range []string{"pending", "requires_action", "succeeded", "failed", "canceled"} {
		all = append(all, fmt.Sprintf(`{"object":"refund","id":"re_%d","status":%q,"amount":%d,"payment_intent":"pi_1","metadata":{"refund_id":"ref_%[1]d"}}`, i, status, 100+i))
	}
	c, _ := recorded(t, paged(all, "re_"))
	got, err := c.ListRefunds(t.Context(), "acct_1", "pi_1")
	require.NoError(t, err)
	states := []string{}
	for _, r := range got {
		states = append(states, r.Status)
	}
	require.Equal(t, []string{
		processor.RefundPending, processor.RefundPending, processor.RefundSucceeded, processor.RefundFailed, processor.RefundFailed,
	}, states)
	require.Equal(t, processor.Refund{ID: "re_2", RefundID: "ref_2", AmountCents: 102, Status: processor.RefundSucceeded}, got[2])

	for len(all) < 101 {
		all = append(all, strings.Replace(all[0], "re_0", fmt.Sprintf("re_%d", len(all)), 1))
	}
	c, _ = recorded(t, paged(all, "re_"))
	got, err = c.ListRefunds(t.Context(), "acct_1", "pi_1")
	require.NoError(t, err)
	require.Len(t, got, 101)

	all[100] = ""
	c, _ = recorded(t, paged(all, "re_"))
	got, err = c.ListRefunds(t.Context(), "acct_1", "pi_1")
	requireUnavailable(t, err)
	require.Empty(t, got, "a part of the list would look like all of it")
}

// TestFailureReported: only the report's type shows the failure, because the
// report contains only the payment's id.
func TestFailureReported(t *testing.T) {
	t.Parallel()
	body := pageJSON("cs_1", "ord_1", at, `"status":"complete","payment_status":"unpaid","payment_intent":"pi_1"`)
	for kind, want := range map[string]bool{"checkout.session.async_payment_failed": true, "checkout.session.completed": false} {
		got, err := processor.Event{ID: "evt_1", Type: kind, AccountID: "acct_1", Payload: []byte(`{"data":{"object":` + body + `}}`)}.PaymentPage()
		require.NoError(t, err)
		require.Equal(t, want, got.Failed, kind)
	}
}

func TestEmptyLists(t *testing.T) {
	t.Parallel()
	c, _ := recorded(t, answer(http.StatusOK, `{"object":"list","has_more":false,"data":[]}`))
	got, err := c.ListRefunds(t.Context(), "acct_1", "pi_1")
	require.NoError(t, err)
	require.Empty(t, got)
	found, err := c.FindPage(t.Context(), processor.Search{AccountID: "acct_1", Match: of("ord_1"), From: at, Until: at})
	require.NoError(t, err)
	require.Zero(t, found)
}
