package subscription

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/mail"
)

// noticeLife is how long a mail about a subscription may still be sent.
const noticeLife = 3 * 24 * time.Hour

// notice is the text of a mail to the tenant's owners.
type notice struct {
	kind, subject string
	// opening are paragraphs after the greeting.
	opening []string
	link    *mail.Link
	closing []string
}

// mailOwners mails a notice to the tenant's owners. Without a mail server nothing is sent.
func (c *changes) mailOwners(ctx context.Context, n notice) error {
	return c.config.Accounts.MailOwnersTx(ctx, c.tx, c.tenant.ID, func(owner db.User) mail.Letter {
		return mail.Letter{
			TenantID: c.tenant.ID, Kind: "billing_" + n.kind, To: owner.Email, Subject: n.subject, Until: c.now.Add(noticeLife),
			Opening: append([]string{fmt.Sprintf("Hello %s,", owner.Name)}, n.opening...), Link: n.link, Closing: n.closing,
		}
	})
}

// mailChange mails the most important part of a subscription's change, if there is one that people should know.
func (c *changes) mailChange(ctx context.Context, before *db.Subscription, after db.Subscription) error {
	n, ok := c.noticeOf(before, after)
	if !ok {
		return nil
	}
	return c.mailOwners(ctx, n)
}

func (c *changes) noticeOf(before *db.Subscription, after db.Subscription) (notice, bool) {
	name := c.planName(after.Plan)
	if before == nil {
		before = &db.Subscription{Plan: after.Plan, BillingInterval: after.BillingInterval}
	}
	if before.Status != after.Status {
		if n, ok := c.statusNotice(name, before.Status, after); ok {
			return n, true
		}
	}
	switch {
	case after.Status == Canceled:
		return notice{}, false
	case before.Plan != after.Plan || before.BillingInterval != after.BillingInterval:
		return notice{kind: "changed", subject: "Your plan is now " + name, opening: []string{
			fmt.Sprintf("your plan is %s from now on, charged by the %s. Its limits apply at once.", name, inWords(after.BillingInterval)),
		}}, true
	case after.Status == Trialing && postponed(before.TrialEndsAt, after.TrialEndsAt):
		return notice{kind: "trial_extended", subject: "Your trial of " + name + " now ends on " + day(*after.TrialEndsAt), opening: []string{
			fmt.Sprintf("your trial of %s is extended: it ends on %s.", name, day(*after.TrialEndsAt)), c.afterTrial(after),
		}}, true
	case after.CancelAtPeriodEnd && !before.CancelAtPeriodEnd:
		return notice{kind: "cancel_booked", subject: "Your subscription ends on " + day(after.PeriodEnd), opening: []string{
			fmt.Sprintf("your subscription to %s was cancelled. It runs until %s.", name, day(after.PeriodEnd)),
			"After that, the limits of the plan Free apply.",
		}, closing: []string{"Until then you can withdraw the cancellation."}}, true
	case before.CancelAtPeriodEnd && !after.CancelAtPeriodEnd:
		return notice{kind: "cancel_withdrawn", subject: "Your subscription continues", opening: []string{
			fmt.Sprintf("the cancellation was withdrawn: your subscription to %s continues after %s.", name, day(after.PeriodEnd)),
		}}, true
	case after.PendingPlan != nil && before.PendingPlan == nil:
		return notice{kind: "change_booked", subject: "Your plan changes on " + day(*after.PendingAt), opening: []string{
			fmt.Sprintf("your plan changes to %s, charged by the %s, on %s. Until then nothing changes.",
				c.planName(*after.PendingPlan), inWords(*after.PendingInterval), day(*after.PendingAt)),
		}}, true
	case before.PendingPlan != nil && after.PendingPlan == nil && runs(after.Status):
		return notice{kind: "change_withdrawn", subject: "Your plan stays " + name, opening: []string{
			fmt.Sprintf("the change to %s, which was booked for %s, is withdrawn: your plan stays %s.",
				c.planName(*before.PendingPlan), day(*before.PendingAt), name),
		}, closing: []string{"You can book it again at any time."}}, true
	default:
		return notice{}, false
	}
}

// postponed reports whether a trial ends later than before.
func postponed(before, after *time.Time) bool {
	return before != nil && after != nil && after.After(*before)
}

// grantNotice is for a plan that an admin has given to a tenant without a charge.
func (c *changes) grantNotice(plan string) notice {
	name := c.planName(plan)
	closing := "Nothing is charged for it."
	if plan == free {
		closing = "Nothing is deleted. New work above the limits is refused."
	}
	return notice{kind: "granted", subject: "Your plan is now " + name, opening: []string{
		fmt.Sprintf("your plan is %s from now on, and its limits apply.", name), closing,
	}}
}

// statusNotice is for a new status, if it needs a mail.
func (c *changes) statusNotice(name, before string, after db.Subscription) (notice, bool) {
	switch {
	case after.Status == Trialing && before == "" && after.TrialEndsAt != nil:
		return notice{kind: "trial_began", subject: "Your trial of " + name + " has begun", opening: []string{
			fmt.Sprintf("you can use everything in the plan %s until %s, free of charge.", name, day(*after.TrialEndsAt)),
		}, closing: []string{c.afterTrial(after)}}, true
	case after.Status == Trialing && before == Paused && after.TrialEndsAt != nil:
		return notice{kind: "resumed", subject: "Your trial of " + name + " continues", opening: []string{
			fmt.Sprintf("your trial of %s is no longer paused. It ends on %s.", name, day(*after.TrialEndsAt)), c.afterTrial(after),
		}}, true
	case after.Status == Active && (before == "" || before == Incomplete):
		return notice{kind: "booked", subject: "You have booked " + name, opening: []string{
			fmt.Sprintf("thank you. The plan %s is active, charged by the %s. The next period begins on %s.",
				name, inWords(after.BillingInterval), day(after.PeriodEnd)),
		}}, true
	case after.Status == Active && before == Trialing:
		return notice{kind: "trial_paid", subject: "Your trial has ended, and " + name + " continues", opening: []string{
			fmt.Sprintf("your trial of %s has ended, and the first payment is being collected.", name),
			fmt.Sprintf("The next period begins on %s.", day(after.PeriodEnd)),
		}}, true
	case after.Status == PastDue && after.Collection == Invoice:
		return notice{kind: "overdue", subject: "An invoice for your plan is overdue", opening: []string{
			fmt.Sprintf("the invoice for your plan %s is overdue. Please pay it.", name),
		}, link: paymentLink(after.PaymentURL)}, true
	case after.Status == Active:
		return notice{kind: "recovered", subject: "Your plan " + name + " is active again", opening: []string{
			fmt.Sprintf("the plan %s is active, with all its limits.", name),
		}}, true
	default:
		return c.lossNotice(name, before, after)
	}
}

// lossNotice is for a status with which a tenant loses its plan, at once or later.
func (c *changes) lossNotice(name, before string, after db.Subscription) (notice, bool) {
	switch {
	case after.Status == Unpaid:
		return notice{kind: "unpaid", subject: "Your plan " + name + " is unpaid", opening: []string{
			fmt.Sprintf("several attempts to collect the payment for %s have failed.", name),
			fmt.Sprintf("If it isn't paid, the limits of the plan Free apply from %s on.", day(c.now.Add(c.config.Grace))),
			"Nothing is deleted. Streams that are on air continue.",
		}, link: paymentLink(after.PaymentURL)}, true
	case after.Status == Paused && after.ProcessorSubscriptionID == nil && after.TrialEndsAt != nil && !after.TrialEndsAt.After(c.now):
		return notice{kind: "trial_ended", subject: "Your trial of " + name + " has ended", opening: []string{
			fmt.Sprintf("your trial of %s has ended. The limits of the plan Free apply now. Nothing is deleted.", name),
		}, closing: []string{"Book a plan to continue where you stopped."}}, true
	case after.Status == Paused:
		return notice{kind: "paused", subject: "Your subscription is paused", opening: []string{
			fmt.Sprintf("your subscription to %s is paused. Nothing is charged, and the limits of the plan Free apply.", name),
		}}, true
	case after.Status == Canceled && before != "" && before != Incomplete && !c.hasAnother(after):
		return notice{kind: "ended", subject: "Your subscription to " + name + " has ended", opening: []string{
			fmt.Sprintf("your subscription to %s has ended. The limits of the plan Free apply now. Nothing is deleted.", name),
		}}, true
	default:
		return notice{}, false
	}
}

// hasAnother reports whether another subscription gives the tenant its plan.
func (c *changes) hasAnother(s db.Subscription) bool {
	now := current(c.list)
	return now != nil && now.ID != s.ID && runs(now.Status)
}

// trialReminder is for a trial that ends soon.
func (c *changes) trialReminder(s db.Subscription) notice {
	name := c.planName(s.Plan)
	return notice{kind: "trial_ends", subject: "Your trial of " + name + " ends on " + day(*s.TrialEndsAt), opening: []string{
		fmt.Sprintf("your trial of %s ends on %s.", name, day(*s.TrialEndsAt)), c.afterTrial(s),
	}}
}

// afterTrial says what happens after a trial.
func (c *changes) afterTrial(s db.Subscription) string {
	if s.ProcessorSubscriptionID == nil {
		return "Book a plan before that to keep its limits; otherwise those of the plan Free apply. " +
			"We have no payment details of you, so nothing is charged."
	}
	return fmt.Sprintf("Then the first payment is collected, by the %s. You can cancel before that.", inWords(s.BillingInterval))
}

// failedLetter is for an invoice whose payment failed.
func failedLetter(i db.Invoice) notice {
	subject, purpose := "A payment for your plan failed", "your plan"
	if i.Overage {
		subject, purpose = "A payment for your usage failed", "usage above what your plan includes"
	}
	return notice{kind: "payment_failed", subject: subject, opening: []string{
		fmt.Sprintf("the payment of %s for %s failed, or must be confirmed by you.", Amount(i.DueCents, i.Currency), purpose),
		"Pay here, or change your card in the billing portal. Failed charges of a running plan are repeated in the next days.",
	}, link: paymentLink(i.HostedURL)}
}

func paymentLink(url *string) *mail.Link {
	if url == nil {
		return nil
	}
	return &mail.Link{Label: "Pay the invoice", URL: *url}
}

func (c *changes) planName(plan string) string {
	for _, p := range c.plans {
		if p.Tier == plan {
			return p.Name
		}
	}
	return plan
}

func inWords(interval string) string {
	if interval == Year {
		return "year"
	}
	return "month"
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// Amount writes cents of a currency with two decimals.
func Amount(cents int64, currency string) string {
	return fmt.Sprintf("%d.%02d %s", cents/100, cents%100, currency)
}
