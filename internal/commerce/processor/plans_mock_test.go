package processor_test

import (
	"context"
	"maps"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/processor"
)

// TestCallsAboutPlansAreOfTheDocument sends each call about customers, subscriptions and their pages to the processor's mock, which
// refuses requests that don't match its API document.
func TestCallsAboutPlansAreOfTheDocument(t *testing.T) {
	t.Parallel()
	pro := processor.Price{ProductID: "prod_1", UnitCents: 9900, Currency: "usd", Yearly: true}
	sub := processor.Subscription{
		ID: "sub_1", ItemID: "si_1", Status: "active", Price: processor.Price{ProductID: "prod_0", UnitCents: 2900, Currency: "usd"},
		PeriodStart: at, PeriodEnd: at.AddDate(0, 1, 0), ScheduleID: "sub_sched_1",
	}
	paused, trialing := sub, sub
	paused.Status, trialing.Status = "paused", "trialing"
	price := url.Values{
		"items[0][id]": {"si_1"}, "items[0][price_data][product]": {"prod_1"}, "items[0][price_data][currency]": {"usd"},
		"items[0][price_data][unit_amount]": {"9900"}, "items[0][price_data][recurring][interval]": {"year"},
	}
	for _, c := range []struct {
		name, request string
		do            func(ctx context.Context, c *processor.Client) error
		form          url.Values
	}{
		{"create customer", "POST /v1/customers", func(ctx context.Context, c *processor.Client) error {
			_, err := c.CreateCustomer(ctx, "ten_1", "Acme", "ada@example.com")
			return err
		}, url.Values{"name": {"Acme"}, "email": {"ada@example.com"}, "metadata[tenant_id]": {"ten_1"}}},
		{"create product", "POST /v1/products", func(ctx context.Context, c *processor.Client) error {
			_, err := c.CreatePlanProduct(ctx, "PRO", "Pro")
			return err
		}, url.Values{"name": {"Pro"}, "metadata[plan]": {"PRO"}}},
		{"create page", "POST /v1/checkout/sessions", func(ctx context.Context, c *processor.Client) error {
			_, err := c.CreatePlanPage(ctx, processor.NewPlanPage{
				CustomerID: "cus_1", TenantID: "ten_1", Price: pro, TrialDays: 14, SuccessURL: "https://a.example/", CancelURL: "https://b.example/",
				AutomaticTax: true,
			})
			return err
		}, url.Values{
			"mode": {"subscription"}, "customer": {"cus_1"}, "client_reference_id": {"ten_1"}, "success_url": {"https://a.example/"},
			"cancel_url": {"https://b.example/"}, "allow_promotion_codes": {"true"}, "metadata[tenant_id]": {"ten_1"},
			"line_items[0][quantity]": {"1"}, "line_items[0][price_data][product]": {"prod_1"}, "line_items[0][price_data][currency]": {"usd"},
			"line_items[0][price_data][unit_amount]": {"9900"}, "line_items[0][price_data][recurring][interval]": {"year"},
			"subscription_data[metadata][tenant_id]": {"ten_1"}, "subscription_data[trial_period_days]": {"14"},
			"automatic_tax[enabled]": {"true"}, "tax_id_collection[enabled]": {"true"}, "customer_update[address]": {"auto"}, "customer_update[name]": {"auto"},
		}},
		{"create portal", "POST /v1/billing_portal/sessions", func(ctx context.Context, c *processor.Client) error {
			_, err := c.CreatePortal(ctx, "cus_1", "bpc_1", "https://a.example/")
			return err
		}, url.Values{"customer": {"cus_1"}, "configuration": {"bpc_1"}, "return_url": {"https://a.example/"}}},
		{"upgrade", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.ChangePrice(ctx, sub, pro, processor.PayAtOnce)
		}, with(price, "proration_behavior", "always_invoice", "payment_behavior", "pending_if_incomplete")},
		{"change of an admin", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.ChangePrice(ctx, sub, pro, processor.PayWithNext)
		}, with(price, "proration_behavior", "create_prorations")},
		{"change in a trial", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.ChangePrice(ctx, trialing, pro, processor.PayNothing)
		}, with(price, "proration_behavior", "none")},
		{"downgrade", "POST /v1/subscription_schedules/sub_sched_1", func(ctx context.Context, c *processor.Client) error {
			return c.SchedulePrice(ctx, sub, "PRO", pro)
		}, url.Values{
			"end_behavior": {"release"}, "phases[0][start_date]": {"1772366400"}, "phases[0][end_date]": {"1775044800"},
			"phases[0][items][0][quantity]": {"1"}, "phases[0][items][0][price_data][product]": {"prod_0"},
			"phases[0][items][0][price_data][currency]": {"usd"}, "phases[0][items][0][price_data][unit_amount]": {"2900"},
			"phases[0][items][0][price_data][recurring][interval]": {"month"}, "phases[0][proration_behavior]": {"none"},
			"phases[1][items][0][quantity]": {"1"}, "phases[1][items][0][price_data][product]": {"prod_1"},
			"phases[1][items][0][price_data][currency]": {"usd"}, "phases[1][items][0][price_data][unit_amount]": {"9900"},
			"phases[1][items][0][price_data][recurring][interval]": {"year"}, "phases[1][proration_behavior]": {"none"},
			"phases[1][iterations]": {"1"}, "phases[1][metadata][plan]": {"PRO"}, "phases[1][metadata][interval]": {"year"},
			"phases[1][metadata][unit_cents]": {"9900"},
		}},
		{"release", "POST /v1/subscription_schedules/sub_sched_1/release", func(ctx context.Context, c *processor.Client) error {
			return c.ReleaseSchedule(ctx, sub)
		}, url.Values{}},
		{"cancel later", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.SetCancelAtPeriodEnd(ctx, "sub_1", true)
		}, url.Values{"cancel_at_period_end": {"true"}}},
		{"cancel now", "DELETE /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.CancelSubscription(ctx, "sub_1", true)
		}, url.Values{"prorate": {"true"}, "invoice_now": {"true"}}},
		{"pause", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.PauseCollection(ctx, "sub_1")
		}, url.Values{"pause_collection[behavior]": {"void"}}},
		{"resume", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.ResumeSubscription(ctx, sub, true)
		}, url.Values{"pause_collection": {""}, "billing_cycle_anchor": {"now"}, "proration_behavior": {"none"}}},
		{"resume a trial", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.ResumeSubscription(ctx, trialing, true)
		}, url.Values{"pause_collection": {""}, "proration_behavior": {"none"}}},
		{"resume after a trial", "POST /v1/subscriptions/sub_1/resume", func(ctx context.Context, c *processor.Client) error {
			return c.ResumeSubscription(ctx, paused, true)
		}, url.Values{"billing_cycle_anchor": {"now"}, "proration_behavior": {"none"}}},
		{"extend a trial", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.SetTrialEnd(ctx, "sub_1", at)
		}, url.Values{"trial_end": {"1772366400"}, "proration_behavior": {"none"}}},
		{"change to invoices", "POST /v1/subscriptions/sub_1", func(ctx context.Context, c *processor.Client) error {
			return c.SendInvoices(ctx, sub, pro, 14)
		}, with(price, "proration_behavior", "create_prorations", "collection_method", "send_invoice", "days_until_due", "14")},
		{"book by invoices", "POST /v1/subscriptions", func(ctx context.Context, c *processor.Client) error {
			return c.CreateInvoicedSubscription(ctx, "key", "cus_1", "ten_1", pro, 14, true)
		}, url.Values{
			"customer": {"cus_1"}, "metadata[tenant_id]": {"ten_1"}, "collection_method": {"send_invoice"}, "days_until_due": {"14"},
			"items[0][price_data][product]": {"prod_1"}, "items[0][price_data][currency]": {"usd"}, "items[0][price_data][unit_amount]": {"9900"},
			"items[0][price_data][recurring][interval]": {"year"}, "automatic_tax[enabled]": {"true"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, peer := documented(t)
			require.NoError(t, c.do(t.Context(), client))
			got := peer.requests()
			require.Len(t, got, 1)
			require.Equal(t, c.request, got[0].method+" "+got[0].path)
			require.Equal(t, c.form, got[0].form)
			require.Empty(t, got[0].header.Get("Stripe-Account"), "the platform's own account")
		})
	}
}

// TestReadingACustomer reads the mock's samples, and nothing for a customer that doesn't exist.
func TestReadingACustomer(t *testing.T) {
	t.Parallel()
	client, peer := documented(t)
	state, err := client.ReadCustomer(t.Context(), "cus_1")
	require.NoError(t, err)
	require.Len(t, peer.requests(), 2)
	require.Equal(t, url.Values{
		"customer": {"cus_1"}, "limit": {"100"}, "status": {"all"}, "expand[0]": {"data.schedule"}, "expand[1]": {"data.latest_invoice"},
	}, peer.requests()[0].form)
	require.NotEmpty(t, state.Subscriptions)
	require.NotEmpty(t, state.Invoices)
	require.NotEmpty(t, state.Subscriptions[0].ID)
}

// with returns the values with further ones: pairs of a name and a value.
func with(base url.Values, more ...string) url.Values {
	out := url.Values{}
	maps.Copy(out, base)
	for i := 0; i < len(more); i += 2 {
		out.Set(more[i], more[i+1])
	}
	return out
}
