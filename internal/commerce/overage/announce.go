package overage

import (
	"context"
	"fmt"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy/mail"
)

// announce sends the event and the mails if the charge of a period has reached 80 or 100 % of the spend cap. Each is sent once in a
// period, and again for a higher cap.
func (b *books) announce(ctx context.Context, p db.OveragePeriod, limit *int64, cents int64) error {
	if limit == nil || cents == 0 || !b.now.Before(p.PeriodEnd) {
		return nil
	}
	percent, known := capPercent(limit, cents), int(p.CapPercent)
	if p.AnnouncedCents != nil && *limit > *p.AnnouncedCents {
		known = 0
	}
	if percent <= known {
		return nil
	}
	err := b.q.SetAnnouncedCap(ctx, db.SetAnnouncedCapParams{
		TenantID: b.tenantID, PeriodStart: p.PeriodStart, CapPercent: int32(percent), AnnouncedCents: limit, Now: b.now,
	})
	if err != nil {
		return fmt.Errorf("note announced cap: %w", err)
	}
	err = b.config.Events.EmitTx(ctx, b.tx, event.Event{
		TenantID: b.tenantID, Name: event.UsageSpendCap, Subject: b.tenantID, Data: eventdata.UsageSpendCapData{
			Percent: int32(percent), OverageCents: cents, CapCents: *limit, Currency: currency(p.Currency),
			PeriodStart: timestamp.From(p.PeriodStart), PeriodEnd: timestamp.From(p.PeriodEnd),
		},
	})
	if err != nil {
		return err
	}
	return b.config.Accounts.MailAdministratorsTx(ctx, b.tx, b.tenantID, func(to db.User, tenant db.Tenant) mail.Letter {
		return letter(to, tenant, p, percent, cents, *limit)
	})
}

// letter says how far the spend cap is used up, and what follows.
func letter(to db.User, tenant db.Tenant, p db.OveragePeriod, percent int, cents, limit int64) mail.Letter {
	consequence := "At the cap, new work above the included usage is refused."
	if percent == 100 {
		consequence = "New work above the included usage is refused from now on."
	}
	consequence += " Work that runs continues, and isn't charged unless the cap is raised in the same period."
	return mail.Letter{
		TenantID: tenant.ID, Kind: "spend_cap", To: to.Email, Until: p.PeriodEnd.Add(lateEvery),
		Subject: fmt.Sprintf("%s has reached %d %% of its spend cap", tenant.Name, percent),
		Opening: []string{
			fmt.Sprintf("Hello %s,", to.Name),
			fmt.Sprintf("usage above what your plan includes costs %s since %s (UTC), without tax. The spend cap of your team is %s.",
				subscription.Amount(cents, p.Currency), p.PeriodStart.UTC().Format("2 January 2006"), subscription.Amount(limit, p.Currency)),
			consequence,
		},
		Closing: []string{"Owners and administrators can change the cap in the billing settings. A larger plan includes more."},
	}
}
