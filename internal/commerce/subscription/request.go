package subscription

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy/audit"
)

// request is a change of a subscription that a person asks the processor for.
type request struct {
	actor audit.Actor
	row   db.Subscription
	// action names the change in the audit log; asked is what was asked for.
	action, reason string
	asked          map[string]any
}

// afterwards is how long the steps after a failed call may take; the caller's own time may be over.
const afterwards = 10 * time.Second

// ask makes a change at the processor. Its audit entry is written before, as requested, so that no change is without one. A call that
// fails adds another entry with its outcome. The entry of the result follows with the copy.
func (s *Service) ask(ctx context.Context, r request, call func() error) error {
	if err := s.writeRequest(ctx, r, r.action, map[string]any{"requested": r.asked}); err != nil {
		return err
	}
	err := call()
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	outcome := map[processor.Outcome]string{processor.Refused: "REFUSED", processor.NotDone: "NOT_DONE", processor.Unknown: "UNKNOWN"}
	return errors.Join(err, s.writeRequest(ctx, r, r.action+"_failed", map[string]any{
		"requested": r.asked, "outcome": outcome[processor.OutcomeOf(err)],
	}))
}

func (s *Service) writeRequest(ctx context.Context, r request, action string, after map[string]any) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		return audit.WriteTx(ctx, db.New(tx), s.config.Now(), audit.Entry{
			Actor: r.actor, TenantID: r.row.TenantID, Action: action, Entity: "subscription", EntityID: r.row.ID, Reason: r.reason,
			Before: auditView(r.row), After: after,
		})
	})
}

// withoutBooking withdraws the booked change of a subscription, and makes another change. If that was definitely not made, the booked
// one is booked again. After a lost answer it isn't: its schedule could undo a change that was made.
func (s *Service) withoutBooking(ctx context.Context, theirs processor.Subscription, call func() error) error {
	if err := s.config.Processor.ReleaseSchedule(ctx, theirs); err != nil {
		return err
	}
	err := call()
	if err == nil || theirs.Next == nil || processor.OutcomeOf(err) == processor.Unknown {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	if again := s.bookAgain(ctx, theirs); again != nil {
		s.config.Log.ErrorContext(ctx, "a booked change of a subscription is lost: another change failed, and it can't be booked again",
			"processorSubscriptionId", theirs.ID, "plan", theirs.Next.Plan, "error", again)
	}
	return err
}

// bookAgain books the change that a subscription had.
func (s *Service) bookAgain(ctx context.Context, theirs processor.Subscription) error {
	interval := intervalOf(theirs.Next.Yearly)
	plan, err := s.plan(ctx, theirs.Next.Plan)
	if err != nil {
		return err
	}
	price, err := s.priceOf(ctx, plan, interval)
	if err != nil {
		return err
	}
	if theirs.Next.UnitCents > 0 {
		price.UnitCents = theirs.Next.UnitCents
	}
	theirs.ScheduleID = ""
	return s.config.Processor.SchedulePrice(ctx, theirs, theirs.Next.Plan, price)
}
