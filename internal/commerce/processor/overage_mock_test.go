package processor_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/processor"
)

// TestCallsAboutOverageAreOfTheDocument sends each call about meters and overage subscriptions to the processor's mock, which refuses
// requests that don't match its API document.
func TestCallsAboutOverageAreOfTheDocument(t *testing.T) {
	t.Parallel()
	n := processor.NewOverage{
		Key: "overage-ten_1-1", CustomerID: "cus_1", TenantID: "ten_1", PriceIDs: []string{"price_1", "price_2"}, FirstPeriodEnd: at,
		PaymentMethodID: "pm_1", AutomaticTax: true,
	}
	invoiced := processor.NewOverage{
		Key: "overage-ten_1-2", CustomerID: "cus_1", TenantID: "ten_1", PriceIDs: []string{"price_1"}, FirstPeriodEnd: at, ByInvoice: true,
		DaysUntilDue: 14,
	}
	labels := url.Values{
		"customer": {"cus_1"}, "metadata[tenant_id]": {"ten_1"}, "metadata[showfloor_kind]": {"overage"}, "items[0][price]": {"price_1"},
		"billing_cycle_anchor": {"1772366400"}, "proration_behavior": {"none"},
	}
	type sent struct {
		request string
		form    url.Values
		key     string
	}
	for _, c := range []struct {
		name string
		do   func(ctx context.Context, c *processor.Client) error
		want []sent
	}{
		{"ensure meter", func(ctx context.Context, c *processor.Client) error {
			id, err := c.EnsureMeter(ctx, "EGRESS_BYTES")
			require.NotEmpty(t, id)
			return err
		}, []sent{
			{"GET /v1/billing/meters", url.Values{"limit": {"100"}, "status": {"active"}}, ""},
			{"POST /v1/billing/meters", url.Values{
				"display_name": {"Egress above the included usage, in cents"}, "event_name": {"showfloor_overage_egress_bytes"},
				"default_aggregation[formula]": {"sum"}, "customer_mapping[type]": {"by_id"},
				"customer_mapping[event_payload_key]": {"stripe_customer_id"}, "value_settings[event_payload_key]": {"value"},
			}, ""},
		}},
		{"ensure price", func(ctx context.Context, c *processor.Client) error {
			id, err := c.EnsureOveragePrice(ctx, "VIEWER_MINUTES", "mtr_1", "eur")
			require.NotEmpty(t, id)
			return err
		}, []sent{
			{"GET /v1/prices", url.Values{"limit": {"100"}, "lookup_keys[0]": {"showfloor_overage_viewer_minutes_eur"}}, ""},
			{"POST /v1/prices", url.Values{
				"currency": {"eur"}, "unit_amount": {"1"}, "lookup_key": {"showfloor_overage_viewer_minutes_eur"},
				"product_data[name]": {"Viewer minutes above the included usage"}, "recurring[interval]": {"month"},
				"recurring[usage_type]": {"metered"}, "recurring[meter]": {"mtr_1"},
			}, "showfloor_overage_viewer_minutes_eur-"},
		}},
		{"create", func(ctx context.Context, c *processor.Client) error {
			id, err := c.CreateOverageSubscription(ctx, n)
			require.NotEmpty(t, id)
			return err
		}, []sent{{"POST /v1/subscriptions", with(labels, "items[1][price]", "price_2", "default_payment_method", "pm_1",
			"automatic_tax[enabled]", "true"), "overage-ten_1-1"}}},
		{"create with invoices", func(ctx context.Context, c *processor.Client) error {
			_, err := c.CreateOverageSubscription(ctx, invoiced)
			return err
		}, []sent{{"POST /v1/subscriptions", with(labels, "collection_method", "send_invoice", "days_until_due", "14"), "overage-ten_1-2"}}},
		{"create for the last day of each month", func(ctx context.Context, c *processor.Client) error {
			n := invoiced
			n.AnchorDay, n.ByInvoice = 31, false
			_, err := c.CreateOverageSubscription(ctx, n)
			return err
		}, []sent{{"POST /v1/subscriptions", url.Values{
			"customer": {"cus_1"}, "metadata[tenant_id]": {"ten_1"}, "metadata[showfloor_kind]": {"overage"}, "items[0][price]": {"price_1"},
			"billing_cycle_anchor_config[day_of_month]": {"31"}, "billing_cycle_anchor_config[hour]": {"12"},
			"billing_cycle_anchor_config[minute]": {"0"}, "billing_cycle_anchor_config[second]": {"0"}, "proration_behavior": {"none"},
		}, "overage-ten_1-2"}}},
		{"add price", func(ctx context.Context, c *processor.Client) error {
			return c.AddOveragePrice(ctx, processor.OverageSubscription{ID: "sub_1", PriceIDs: []string{"price_1"}}, "price_2")
		}, []sent{{"POST /v1/subscriptions/sub_1", url.Values{"items[0][price]": {"price_2"}, "proration_behavior": {"none"}}, ""}}},
		{"add price again", func(ctx context.Context, c *processor.Client) error {
			return c.AddOveragePrice(ctx, processor.OverageSubscription{ID: "sub_1", PriceIDs: []string{"price_1"}}, "price_1")
		}, nil},
		{"follow a card", func(ctx context.Context, c *processor.Client) error {
			return c.FollowPayment(ctx, "sub_1", processor.Subscription{ID: "sub_2", PaymentMethodID: "pm_1", DaysUntilDue: 14})
		}, []sent{{"POST /v1/subscriptions/sub_1", url.Values{
			"default_payment_method": {"pm_1"}, "collection_method": {"charge_automatically"},
		}, ""}}},
		{"follow invoices", func(ctx context.Context, c *processor.Client) error {
			return c.FollowPayment(ctx, "sub_1", processor.Subscription{ID: "sub_2", ByInvoice: true, DaysUntilDue: 14})
		}, []sent{{"POST /v1/subscriptions/sub_1", url.Values{
			"default_payment_method": {""}, "collection_method": {"send_invoice"}, "days_until_due": {"14"},
		}, ""}}},
		{"end", func(ctx context.Context, c *processor.Client) error {
			return c.EndOverageSubscription(ctx, "sub_1")
		}, []sent{{"DELETE /v1/subscriptions/sub_1", url.Values{"invoice_now": {"true"}}, ""}}},
		{"report", func(ctx context.Context, c *processor.Client) error {
			return c.ReportOverage(ctx, processor.OverageReport{ID: "ovr_1", Meter: "EGRESS_BYTES", CustomerID: "cus_1", Cents: 125, At: at})
		}, []sent{{"POST /v1/billing/meter_events", url.Values{
			"event_name": {"showfloor_overage_egress_bytes"}, "identifier": {"ovr_1"}, "timestamp": {"1772366400"},
			"payload[stripe_customer_id]": {"cus_1"}, "payload[value]": {"125"},
		}, ""}}},
		{"sum", func(ctx context.Context, c *processor.Client) error {
			_, err := c.SumOverage(ctx, "mtr_1", "cus_1", at.Add(-1), at.Add(1))
			return err
		}, []sent{{"GET /v1/billing/meters/mtr_1/event_summaries", url.Values{
			"limit": {"100"}, "customer": {"cus_1"}, "start_time": {"1772366340"}, "end_time": {"1772366460"},
		}, ""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, peer := documented(t)
			require.NoError(t, c.do(t.Context(), client))
			got := peer.requests()
			require.Len(t, got, len(c.want))
			for i, want := range c.want {
				require.Equal(t, want.request, got[i].method+" "+got[i].path)
				require.Equal(t, want.form, got[i].form)
				require.Empty(t, got[i].header.Get("Stripe-Account"), "the platform's own account")
				if want.key != "" {
					require.True(t, strings.HasPrefix(got[i].header.Get("Idempotency-Key"), want.key), got[i].header.Get("Idempotency-Key"))
				}
			}
		})
	}
}

// TestOverageNames requires a name for each meter that invoices can show.
func TestOverageNames(t *testing.T) {
	t.Parallel()
	for meter, want := range map[string]string{
		"STREAM_MINUTES": "Stream minutes", "VIEWER_MINUTES": "Viewer minutes", "PARTICIPANT_MINUTES": "Participant minutes",
		"RECORDING_MINUTES": "Recording minutes", "STORAGE_BYTES": "Storage", "EGRESS_BYTES": "Egress", "INGRESS_BYTES": "Ingress",
		"TRANSCODE_MINUTES": "Transcode minutes", "PUSHES": "Pushes",
	} {
		client, peer := documented(t)
		_, err := client.EnsureOveragePrice(t.Context(), meter, "mtr_1", "usd")
		require.NoError(t, err)
		require.Equal(t, want+" above the included usage", peer.requests()[1].form.Get("product_data[name]"))
	}
}

// TestADuplicateReportIsASuccess: the processor's answer to a known identifier has no code, later versions' answer has one.
func TestADuplicateReportIsASuccess(t *testing.T) {
	t.Parallel()
	report := func(body string) error {
		c, _ := recorded(t, answer(http.StatusBadRequest, body))
		return c.ReportOverage(t.Context(), processor.OverageReport{ID: "ovr_1", Meter: "EGRESS_BYTES", CustomerID: "cus_1", Cents: 1, At: at})
	}
	require.NoError(t, report(`{"error":{"type":"invalid_request_error","message":"An event already exists with identifier ovr_1."}}`))
	require.NoError(t, report(`{"error":{"type":"invalid_request_error","code":"duplicate_meter_event","message":"Known."}}`))
	var refusal *processor.Refusal
	require.ErrorAs(t, report(`{"error":{"type":"invalid_request_error","code":"archived_meter","message":"No."}}`), &refusal)
	require.Equal(t, "archived_meter", refusal.Code)
}

// TestAMeterThatDoesNotFit is an error: its sums would be charged.
func TestAMeterThatDoesNotFit(t *testing.T) {
	t.Parallel()
	c, peer := recorded(t, answer(http.StatusOK, `{"object":"list","has_more":false,"data":[{"id":"mtr_1","object":"billing.meter",`+
		`"event_name":"showfloor_overage_egress_bytes","status":"active","default_aggregation":{"formula":"count"},`+
		`"customer_mapping":{"type":"by_id","event_payload_key":"stripe_customer_id"},"value_settings":{"event_payload_key":"value"}}]}`))
	_, err := c.EnsureMeter(t.Context(), "EGRESS_BYTES")
	require.ErrorContains(t, err, "mtr_1")
	require.Len(t, peer.requests(), 1)
}

// TestReadingACustomerOfAnotherAccount is a refusal, also if the processor answers with empty lists.
func TestReadingACustomerOfAnotherAccount(t *testing.T) {
	t.Parallel()
	const missing = `{"error":{"type":"invalid_request_error","code":"resource_missing","param":"id","message":"No such customer: 'cus_x'"}}`
	c, peer := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/customers/") {
			answer(http.StatusNotFound, missing).ServeHTTP(w, r)
			return
		}
		answer(http.StatusOK, `{"object":"list","has_more":false,"data":[],"url":"/v1/subscriptions"}`).ServeHTTP(w, r)
	}))
	state, err := c.ReadCustomer(t.Context(), "cus_x")
	var refusal *processor.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "resource_missing", refusal.Code)
	require.Empty(t, state)
	_, err = c.ReadCustomer(t.Context(), "")
	require.Error(t, err)
	require.Len(t, peer.requests(), 2, "an empty id would list the subscriptions of all customers")
}

// TestReadingOverage tells the overage subscription and its invoice from those of the plan.
func TestReadingOverage(t *testing.T) {
	t.Parallel()
	const subs = `{"object":"list","has_more":false,"data":[{"id":"sub_2","object":"subscription","status":"past_due",
		"metadata":{"showfloor_kind":"overage"},"currency":"usd","created":1772366400,"current_period_start":1772366400,"current_period_end":1775044800,
		"collection_method":"send_invoice","days_until_due":14,"default_payment_method":"pm_1",
		"latest_invoice":{"id":"in_2","object":"invoice","status":"open","hosted_invoice_url":"https://pay.example/in_2"},
		"items":{"object":"list","data":[{"id":"si_2","created":1772366400,"price":{"id":"price_2","object":"price"}}]}},
		{"id":"sub_1","object":"subscription","status":"active","metadata":{},"default_payment_method":{"id":"pm_2","object":"payment_method"}}]}`
	const invoices = `{"object":"list","has_more":false,"data":[{"id":"in_3","object":"invoice","subscription":"sub_9",
		"subscription_details":{"metadata":{"showfloor_kind":"overage"}}},{"id":"in_2","object":"invoice","subscription":"sub_2"},
		{"id":"in_1","object":"invoice","subscription":"sub_1","subscription_details":{"metadata":{}}}]}`
	c, _ := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/invoices" {
			answer(http.StatusOK, invoices).ServeHTTP(w, r)
			return
		}
		answer(http.StatusOK, subs).ServeHTTP(w, r)
	}))
	state, err := c.ReadCustomer(t.Context(), "cus_1")
	require.NoError(t, err)
	require.Equal(t, []processor.OverageSubscription{{
		ID: "sub_2", Status: "past_due", PriceIDs: []string{"price_2"}, Since: map[string]time.Time{"price_2": at}, Currency: "usd",
		PeriodStart: at, PeriodEnd: at.AddDate(0, 1, 0), CreatedAt: at,
		PaymentMethodID: "pm_1", ByInvoice: true, DaysUntilDue: 14, PaymentURL: "https://pay.example/in_2",
	}}, state.Overage)
	require.Len(t, state.Subscriptions, 1)
	require.Equal(t, "pm_2", state.Subscriptions[0].PaymentMethodID)
	overage := []bool{}
	for _, i := range state.Invoices {
		overage = append(overage, i.Overage)
	}
	require.Equal(t, []bool{true, true, false}, overage)
}
