package subscription

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/audit"
)

// announce writes the audit entry and the event of a subscription's change.
func (c *changes) announce(ctx context.Context, before *db.Subscription, after db.Subscription) error {
	entry := audit.Entry{
		Actor: audit.System(component), TenantID: after.TenantID, Action: "subscription.create", Entity: "subscription", EntityID: after.ID,
		After: auditView(after),
	}
	if before != nil {
		entry.Action, entry.Before = "subscription.update", auditView(*before)
	}
	if err := audit.WriteTx(ctx, c.q, c.now, entry); err != nil {
		return err
	}
	return c.config.Events.EmitTx(ctx, c.tx, event.Event{
		TenantID: after.TenantID, Name: event.SubscriptionUpdated, Subject: after.ID,
		Data: eventdata.SubscriptionUpdatedData{TenantSubscription: Shown(after)},
	})
}

func auditView(s db.Subscription) map[string]any {
	return map[string]any{
		"status": s.Status, "plan": s.Plan, "interval": s.BillingInterval, "priceCents": s.PriceCents,
		"periodEnd": timestamp.Format(s.PeriodEnd), "cancelAtPeriodEnd": s.CancelAtPeriodEnd,
	}
}

// announceGraceEnd writes the event and mails that an UNPAID tenant has the limits of FREE from now on.
func (c *changes) announceGraceEnd(ctx context.Context, s db.Subscription) error {
	err := c.config.Events.EmitTx(ctx, c.tx, event.Event{
		TenantID: s.TenantID, Name: event.SubscriptionUpdated, Subject: s.ID,
		Data: eventdata.SubscriptionUpdatedData{TenantSubscription: Shown(s)},
	})
	if err != nil {
		return err
	}
	return c.mailOwners(ctx, notice{kind: "limits_ended", subject: "The limits of the plan Free apply now", opening: []string{
		fmt.Sprintf("your plan %s is still unpaid, so the limits of the plan Free apply now. Nothing is deleted.", c.planName(s.Plan)),
		"With the payment, your plan is back.",
	}, link: paymentLink(s.PaymentURL)})
}

// announceInvoice writes the events of an invoice's change: it was paid, or an attempt to collect its payment failed.
func (c *changes) announceInvoice(ctx context.Context, before *db.Invoice, after db.Invoice) error {
	if before == nil {
		before = &db.Invoice{}
	}
	shown, err := ShownInvoice(after)
	if err != nil {
		return err
	}
	if after.FailedAttempts > before.FailedAttempts {
		err := c.config.Events.EmitTx(ctx, c.tx, event.Event{
			TenantID: after.TenantID, Name: event.InvoicePaymentFailed, Subject: after.ID,
			Data: eventdata.InvoicePaymentFailedData{TenantInvoice: shown},
		})
		if err != nil {
			return err
		}
		if after.Status != Paid {
			if err := c.mailOwners(ctx, failedLetter(after)); err != nil {
				return err
			}
		}
	}
	if after.Status != Paid || before.Status == Paid {
		return nil
	}
	return c.config.Events.EmitTx(ctx, c.tx, event.Event{
		TenantID: after.TenantID, Name: event.InvoicePaid, Subject: after.ID, Data: eventdata.InvoicePaidData{TenantInvoice: shown},
	})
}

// Shown is a subscription as the API and the events show it.
func Shown(s db.Subscription) eventdata.TenantSubscription {
	out := eventdata.TenantSubscription{
		ID: s.ID, Plan: eventdata.PlanTier(s.Plan), Status: eventdata.SubscriptionStatus(s.Status),
		Interval: eventdata.BillingInterval(s.BillingInterval), PriceCents: s.PriceCents, Currency: strings.ToLower(s.Currency),
		TrialEndsAt: timestamp.Optional(s.TrialEndsAt), CurrentPeriodStart: timestamp.From(s.PeriodStart),
		CurrentPeriodEnd: timestamp.From(s.PeriodEnd), CancelAtPeriodEnd: s.CancelAtPeriodEnd, CanceledAt: timestamp.Optional(s.CanceledAt),
		Collection: new(eventdata.CollectionMethod(s.Collection)), PaymentURL: s.PaymentURL,
	}
	if s.PendingPlan != nil && s.PendingInterval != nil && s.PendingAt != nil {
		out.PendingChange = &eventdata.PendingSubscriptionChange{
			Plan: eventdata.PlanTier(*s.PendingPlan), Interval: eventdata.BillingInterval(*s.PendingInterval), At: timestamp.From(*s.PendingAt),
		}
	}
	return out
}

// ShownInvoice is an invoice as the API and the events show it.
func ShownInvoice(i db.Invoice) (eventdata.TenantInvoice, error) {
	out := eventdata.TenantInvoice{
		ID: i.ID, Number: i.Number, Status: eventdata.InvoiceStatus(i.Status), TotalCents: i.TotalCents, PaidCents: i.PaidCents,
		Currency: strings.ToLower(i.Currency), HostedInvoiceURL: i.HostedURL, DueAt: timestamp.Optional(i.DueAt),
		PaidAt:    timestamp.Optional(i.PaidAt),
		CreatedAt: timestamp.From(i.CreatedAt), SubtotalCents: &i.SubtotalCents, TaxCents: &i.TaxCents, PdfURL: i.PdfURL,
	}
	if err := json.Unmarshal(i.Lines, &out.Lines); err != nil {
		return out, fmt.Errorf("read lines of invoice %s: %w", i.ID, err)
	}
	return out, nil
}
