package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/mail"
)

// maxFailing is how long all attempts of an endpoint may fail before it is
// disabled.
const maxFailing = 5 * 24 * time.Hour

// Why an endpoint is disabled.
const (
	goneReason     = "it answered 410 Gone"
	failingReason  = "every attempt failed for five days"
	disabledReason = "disabled by the tenant"
)

// changesHealth reports whether an attempt changes the stored health of its
// endpoint.
func changesHealth(d db.ListDeliveriesForAttemptRow, o outcome, now time.Time) bool {
	if o.failure == "" || o.gone || d.FailingSince == nil {
		return o.gone || (o.failure == "") != (d.FailingSince == nil)
	}
	return now.Sub(*d.FailingSince) >= maxFailing
}

// noteHealth stores the time since which an endpoint fails. It disables the endpoint if it
// has failed for maxFailing or answered 410 Gone.
func (s *Service) noteHealth(ctx context.Context, tx pgx.Tx, d db.ListDeliveriesForAttemptRow, o outcome, now time.Time) error {
	q := db.New(tx)
	var err error
	switch {
	case !changesHealth(d, o, now):
	case o.gone:
		return s.disable(ctx, tx, d, goneReason, nil)
	case o.failure == "":
		err = q.NoteWebhookSuccess(ctx, db.NoteWebhookSuccessParams{TenantID: d.TenantID, ID: d.EndpointID})
	case d.FailingSince == nil:
		err = q.NoteWebhookFailure(ctx, db.NoteWebhookFailureParams{TenantID: d.TenantID, ID: d.EndpointID, Now: now})
	default:
		return s.disable(ctx, tx, d, failingReason, new(now.Add(-maxFailing)))
	}
	if err != nil {
		return fmt.Errorf("note health of endpoint: %w", err)
	}
	return nil
}

// disable disables an endpoint; with failingBefore only if it has failed since
// then or longer.
func (s *Service) disable(
	ctx context.Context, tx pgx.Tx, d db.ListDeliveriesForAttemptRow, why string, failingBefore *time.Time,
) error {
	q, now := db.New(tx), s.config.Now()
	n, err := q.DisableWebhookEndpoint(ctx, db.DisableWebhookEndpointParams{
		TenantID: d.TenantID, ID: d.EndpointID, DisabledReason: &why, FailingBefore: failingBefore, Now: now,
	})
	if err != nil {
		return fmt.Errorf("disable endpoint: %w", err)
	}
	if n == 0 {
		return nil
	}
	err = s.config.Owners.MailOwnersTx(ctx, tx, d.TenantID, func(owner db.User) mail.Letter { return disabledLetter(owner, d, why, now) })
	if err != nil {
		return err
	}
	return audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: audit.System("webhooks"), TenantID: d.TenantID,
		Action: "webhook.disable", Entity: endpointEntity, EntityID: d.EndpointID, Reason: why,
	})
}

// noticeLife is how long the mail about a disabled endpoint may still be sent.
const noticeLife = 3 * 24 * time.Hour

// disabledLetter says that an endpoint was disabled. It omits the query of the
// endpoint's URL, which may contain keys.
func disabledLetter(owner db.User, d db.ListDeliveriesForAttemptRow, why string, now time.Time) mail.Letter {
	address, _, _ := strings.Cut(d.URL, "?")
	return mail.Letter{
		TenantID: owner.TenantID, Kind: "webhook_disabled", To: owner.Email, Until: now.Add(noticeLife),
		Subject: "A webhook endpoint was disabled",
		Opening: []string{
			fmt.Sprintf("Hello %s,", owner.Name),
			fmt.Sprintf("we deliver no more events to %s (%s): %s.", address, d.EndpointID, why),
		},
		Closing: []string{
			"Once it works again, set the endpoint's status to active, and ask for the recovery of what it has missed: " +
				"events are kept for 30 days. If you don't need it any more, delete it.",
		},
	}
}
