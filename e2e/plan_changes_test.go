package e2e

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireLedger requires that the ledger's sums are the recurring revenue, and the payments and failures of each invoice.
func (b *planBooks) requireLedger(t testing.TB) {
	t.Helper()
	recurring, paid, failures := map[string]int64{}, map[string]int64{}, map[string]int{}
	for _, e := range b.entries {
		switch e.Kind {
		case "PAYMENT":
			paid[text(e.InvoiceID)] += e.AmountCents
		case "FAILURE":
			failures[text(e.InvoiceID)]++
		case "REFUND":
			t.Errorf("nothing was refunded: %+v", e)
		default:
			recurring[text(e.SubscriptionID)] += e.AmountCents
		}
	}
	for _, row := range b.subscriptions {
		require.Equal(t, row.MonthlyCents, recurring[row.ID], "the ledger's sum for subscription %s, which is %s", row.ID, row.Status)
	}
	for _, row := range b.invoices {
		require.Equal(t, row.PaidCents, paid[row.ID], "the ledger's payments of invoice %s", row.ID)
		require.Equal(t, row.FailedAttempts, failures[row.ID], "the ledger's failures of invoice %s", row.ID)
	}
}

// shownPlan is the part of an event about a subscription that decides about mails.
type shownPlan struct{ Status, Collection string }

// requireChanges requires one event for each change: invoice.paid once for each paid invoice, invoice.payment_failed if an attempt has
// failed, and subscription.updated with an audit entry for each change of a subscription. Two equal events follow each other only at
// the end of a grace period.
func (b *planBooks) requireChanges(t testing.TB) {
	t.Helper()
	events, updates, graces := map[string]map[string]int{}, map[string][]string{}, map[string]int{}
	last := map[string]map[string]any{}
	for _, c := range b.changes {
		if events[c.Subject] == nil {
			events[c.Subject] = map[string]int{}
		}
		events[c.Subject][c.Event]++
		if c.Event != "subscription.updated" {
			continue
		}
		var data map[string]any
		require.NoError(t, json.Unmarshal(c.Data, &data))
		if before, known := last[c.Subject]; known && same(before, data) {
			require.Equal(t, "UNPAID", data["status"], "subscription %s was announced twice: %s", c.Subject, c.Data)
			graces[c.TenantID]++
		} else {
			updates[c.TenantID] = append(updates[c.TenantID], c.Subject)
		}
		last[c.Subject] = data
	}
	for id, a := range b.tenants {
		slices.Sort(updates[id])
		require.Equal(t, a.Updates, append([]string{}, updates[id]...), "each change of tenant %s has an audit entry", id)
		require.Equal(t, graces[id], b.mails[id]["billing_limits_ended"], "grace periods of tenant %s", id)
	}
	for _, row := range b.subscriptions {
		require.NotNil(t, last[row.ID], "subscription %s was announced", row.ID)
		require.Equal(t, []any{row.Status, row.Plan, row.BillingInterval, row.CancelAtPeriodEnd}, []any{
			last[row.ID]["status"], last[row.ID]["plan"], last[row.ID]["interval"], last[row.ID]["cancelAtPeriodEnd"],
		}, "the last event shows the subscription as it is")
	}
	for _, row := range b.invoices {
		want := 0
		if row.Status == "PAID" {
			want = 1
		}
		require.Equal(t, want, events[row.ID]["invoice.paid"], "invoice %s is %s", row.ID, row.Status)
		n := events[row.ID]["invoice.payment_failed"]
		require.Equal(t, row.FailedAttempts > 0, n > 0, "invoice %s has %d failed attempts", row.ID, row.FailedAttempts)
		require.LessOrEqual(t, n, row.FailedAttempts)
	}
}

// same reports whether two events show the same subscription. The URL of a payment's page may be another one.
func same(a, b map[string]any) bool {
	presence := func(e map[string]any) map[string]any {
		e = maps.Clone(e)
		if _, ok := e["paymentUrl"]; ok {
			e["paymentUrl"] = ""
		}
		return e
	}
	return reflect.DeepEqual(presence(a), presence(b))
}

// requireMails requires one mail for each change that has one: its kinds and numbers follow from the events.
func (b *planBooks) requireMails(t testing.TB) {
	t.Helper()
	want := map[string]map[string]int{}
	last := map[string]string{}
	for _, c := range b.changes {
		if want[c.TenantID] == nil {
			want[c.TenantID] = map[string]int{}
		}
		var data shownPlan
		require.NoError(t, json.Unmarshal(c.Data, &data))
		if c.Event == "invoice.payment_failed" && data.Status != "PAID" {
			want[c.TenantID]["billing_payment_failed"]++
		}
		if c.Event != "subscription.updated" {
			continue
		}
		if kind := letterOf(last[c.Subject], data); kind != "" {
			want[c.TenantID][kind]++
		}
		last[c.Subject] = data.Status
	}
	for id := range b.tenants {
		for _, kind := range []string{
			"billing_payment_failed", "billing_booked", "billing_trial_paid", "billing_recovered", "billing_overdue", "billing_unpaid", "billing_paused",
		} {
			got := b.mails[id][kind]
			if kind == "billing_paused" { // the events don't say which of both it is
				got += b.mails[id]["billing_trial_ended"]
			}
			require.Equal(t, want[id][kind], got, "mails %s to tenant %s; it got %v", kind, id, b.mails[id])
		}
	}
}

// letterOf returns the kind of the mail about a new status; empty if there is none, or if it depends on more than the status.
func letterOf(before string, now shownPlan) string {
	first := before == "" || before == "INCOMPLETE"
	switch {
	case before == now.Status:
		return ""
	case now.Status == "ACTIVE" && first:
		return "billing_booked"
	case now.Status == "ACTIVE" && before == "TRIALING":
		return "billing_trial_paid"
	case now.Status == "ACTIVE":
		return "billing_recovered"
	case now.Status == "PAST_DUE" && now.Collection == "INVOICE":
		return "billing_overdue"
	case now.Status == "UNPAID":
		return "billing_unpaid"
	case now.Status == "PAUSED":
		return "billing_paused"
	default:
		return ""
	}
}
