package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

// HandleProcessorEvent processes a stored event. It returns the time of the next call,
// or the zero time if nothing is left to do. It may run twice, also concurrently. An
// error that retrying can't cure is a problem of another kind than Unavailable.
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
	if concerns(e) == plan {
		return time.Time{}, s.applyPlan(ctx, e)
	}
	ours, err := s.config.Sellers.IsSeller(ctx, e.AccountID)
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
	case plan, ignored:
	}
	return time.Time{}, nil
}

// applyPlan copies the state of the customer that the report is about. The content of the report isn't used: it may be old.
func (s *Service) applyPlan(ctx context.Context, e processor.Event) error {
	customerID, err := e.CustomerID()
	switch {
	case err != nil:
		return unreadable(err)
	case customerID == "":
		return nil
	default:
		return s.config.Subscriptions.SyncCustomer(ctx, customerID)
	}
}

// applyPage passes a payment page to its order. A report that the page was paid stays
// true. All other states may be out of date when the report is read, so the processor is
// queried.
func (s *Service) applyPage(ctx context.Context, e processor.Event) error {
	p, err := e.PaymentPage()
	if err != nil {
		return unreadable(err)
	}
	if p.Status != processor.Complete || !p.Paid {
		if p, err = s.config.Processor.GetPage(ctx, e.AccountID, p.ID); err != nil {
			return err
		}
	}
	return s.config.Orders.ApplyPaymentPage(ctx, e.AccountID, p)
}

// applyToPayment calls apply with the payment that was refunded or disputed. If no
// order has the payment, it returns the time of the next try, because the report of the
// payment may arrive later. A seller can also have payments without an order of ours.
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

// describe decides whether a retry can help, and logs errors for which it can't.
func (s *Service) describe(ctx context.Context, row db.ProcessorEvent, err error) error {
	if refusal, refused := errors.AsType[*processor.Refusal](err); refused {
		err = problem.New(problem.Unprocessable, "processor_refused", "%s", refusal.Error())
	}
	if p, known := problem.As(err); known && p.Kind != problem.Unavailable {
		s.config.Log.ErrorContext(ctx, "processor event failed permanently", "error", err, "eventId", row.ID, "type", row.Type)
	}
	return err
}

func unreadable(err error) error {
	return problem.New(problem.Unprocessable, "unreadable_event", "%s", err.Error())
}
