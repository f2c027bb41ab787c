package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

// HandleProcessorEvent works through an event that was taken in. It returns when
// to call again, or the zero time when there is nothing left to do; it may run
// twice, also at once. What can't be cured by another try is a problem of another
// kind than Unavailable.
func (s *Service) HandleProcessorEvent(ctx context.Context, eventID string) (again time.Time, err error) {
	row, todo, err := s.load(ctx, eventID)
	if err != nil || !todo {
		return time.Time{}, err
	}
	again, err = s.dispatch(ctx, row)
	if err != nil {
		return time.Time{}, s.describe(ctx, row, err)
	}
	if !again.IsZero() {
		return again, nil
	}
	now := s.config.Now()
	err = db.New(s.config.Pool).SetProcessorEventProcessed(ctx, db.SetProcessorEventProcessedParams{ID: eventID, Now: now})
	if err != nil {
		return time.Time{}, fmt.Errorf("set processor event processed: %w", err)
	}
	return time.Time{}, nil
}

func (s *Service) dispatch(ctx context.Context, row db.ProcessorEvent) (again time.Time, err error) {
	e := processor.Event{ID: row.ID, Type: row.Type, Payload: row.Payload}
	if row.AccountID != nil {
		e.AccountID = *row.AccountID
	}
	ours, err := s.isSeller(ctx, e.AccountID)
	if err != nil || !ours {
		return time.Time{}, err
	}
	switch concerns(e) {
	case page:
		return time.Time{}, s.applyPage(ctx, e)
	case money:
		return s.applyToPayment(ctx, e, row.ReceivedAt, s.config.Orders.ApplyRefunds)
	case dispute:
		return s.applyToPayment(ctx, e, row.ReceivedAt, s.config.Orders.ApplyDisputes)
	case seller:
		return time.Time{}, s.config.Sellers.ApplyAccount(ctx, e.AccountID)
	case nobody:
	}
	return time.Time{}, nil
}

// isSeller tells whether the account is a tenant's. Those of other platforms and
// our own report to the same address.
func (s *Service) isSeller(ctx context.Context, accountID string) (bool, error) {
	_, err := db.New(s.config.Pool).GetSellerTenant(ctx, accountID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get seller's tenant: %w", err)
	default:
		return true, nil
	}
}

// applyPage hands a payment page over. That it was paid stays true. All else may
// have been overtaken by the time that it is read, so the processor is asked.
func (s *Service) applyPage(ctx context.Context, e processor.Event) error {
	p, err := e.Session()
	if err != nil {
		return unreadable(err)
	}
	if p.Status != processor.Complete || !p.Paid {
		if p, err = s.config.Processor.GetPage(ctx, e.AccountID, p.ID); err != nil {
			return err
		}
	}
	return s.config.Orders.ApplySession(ctx, e.AccountID, p)
}

// applyToPayment calls apply with the payment that was refunded or disputed. If no
// order has the payment, it returns when to try again: the report that it was paid
// may come later. A seller can also be paid without an order of ours.
func (s *Service) applyToPayment(
	ctx context.Context, e processor.Event, receivedAt time.Time, apply func(ctx context.Context, accountID, paymentIntentID string) error,
) (again time.Time, err error) {
	paymentID, err := e.PaymentIntentID()
	switch {
	case err != nil:
		return time.Time{}, unreadable(err)
	case paymentID == "":
		return time.Time{}, nil
	}
	err = apply(ctx, e.AccountID, paymentID)
	if problem.Is(err, "not_found") {
		return waitForOrder(receivedAt, s.config.Now()), nil
	}
	return time.Time{}, err
}

// describe settles whether another try can help, and logs what it can't.
func (s *Service) describe(ctx context.Context, row db.ProcessorEvent, err error) error {
	if refusal, refused := errors.AsType[*processor.Refusal](err); refused {
		err = problem.New(problem.Unprocessable, "processor_refused", "%s", refusal.Error())
	}
	if p, known := problem.As(err); known && p.Kind != problem.Unavailable {
		s.config.Log.ErrorContext(ctx, "processor event given up", "error", err, "eventId", row.ID, "type", row.Type)
	}
	return err
}

func unreadable(err error) error {
	return problem.New(problem.Unprocessable, "unreadable_event", "%s", err.Error())
}
