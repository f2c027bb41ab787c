package order

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/processor"
)

const (
	// Queue is the queue of the checks. It is separate, so that a processor that
	// doesn't answer delays no other jobs.
	Queue = "orders"
	// Workers is the maximum number of concurrent checks.
	Workers = 8
	// maxAttempts is the maximum number of attempts of a job; EnqueueDue adds another
	// job when the order is due again.
	maxAttempts = 3
	// dueBatch is the maximum number of due orders per transaction.
	dueBatch = 200
	// dueAgain is after how long an order is due again if its check was lost.
	dueAgain = 5 * time.Minute
	// clockSlack is how far another server's clock may be ahead of this one's. A check
	// further ahead was scheduled by a wrong clock and is due now.
	clockSlack = time.Minute
)

// CheckArgs is the job that asks the processor about an order's page, and opens
// the page for an auction's winner.
type CheckArgs struct {
	OrderID string `json:"orderId" river:"unique"`
}

// Kind is the job's name.
func (CheckArgs) Kind() string { return "order_check" }

// InsertOpts prevents concurrent checks of one order.
func (CheckArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: Queue, MaxAttempts: maxAttempts,
		UniqueOpts: queue.Unfinished(),
	}
}

// EnqueueDue adds a job for every order whose check is due. It may run
// concurrently.
func (s *Service) EnqueueDue(ctx context.Context) error {
	for {
		var jobs []river.InsertManyParams
		err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
			now := s.config.Now()
			due, err := db.New(tx).TakeDueOrders(ctx, db.TakeDueOrdersParams{
				Now: now, Ahead: now.Add(clockSlack), Next: now.Add(dueAgain), MaxRows: dueBatch,
			})
			if err != nil {
				return fmt.Errorf("take due orders: %w", err)
			}
			jobs = make([]river.InsertManyParams, len(due))
			for i, orderID := range due {
				jobs[i].Args = CheckArgs{OrderID: orderID}
			}
			if len(jobs) == 0 {
				return nil
			}
			if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
				return fmt.Errorf("enqueue checks: %w", err)
			}
			return nil
		})
		if err != nil || len(jobs) < dueBatch {
			return err
		}
	}
}

// CheckOrder asks the processor for the state of a PENDING order's page, or
// whether there is a page, and updates the order. It may be killed and repeated at
// any point: before it makes something at the processor, it looks there for an
// existing one.
func (s *Service) CheckOrder(ctx context.Context, orderID string) error {
	o, err := db.New(s.config.Pool).GetOrderForCheck(ctx, orderID)
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.Missing("order")
	}
	if err != nil {
		return fmt.Errorf("get order %s: %w", orderID, err)
	}
	if o.Status != Pending {
		return nil
	}
	err = s.check(ctx, &o)
	refusal, refused := errors.AsType[*processor.Refusal](err)
	switch {
	case refused:
		return s.checkRefused(ctx, o, refusal)
	case problem.Is(err, "processor_unavailable"):
		s.config.Log.Warn("the processor can't be queried about an order yet", "order", o.ID, "error", err)
		return s.postpone(ctx, o, nextCheck(s.config.Now(), time.Time{}, o.Checks))
	default:
		return err
	}
}

// check asks the processor. If it fails, o holds the position of the search for
// its page.
func (s *Service) check(ctx context.Context, o *db.Order) error {
	now := s.config.Now()
	switch {
	case o.CheckoutSessionID != nil:
		page, err := s.look(ctx, *o, now)
		if err != nil {
			return err
		}
		return s.ApplyPaymentPage(ctx, *o.ProcessorAccountID, page)
	case o.ProcessorAccountID != nil:
		return s.search(ctx, o, now)
	case now.Before(o.ExpiresAt): // a winner's order, whose page was never requested
		return s.openPage(ctx, *o)
	default:
		return s.expireWithoutPage(ctx, o.TenantID, o.ID)
	}
}

// look returns the current state of an order's page. If the page is open after its
// time, look closes it: only then can it no longer be paid.
func (s *Service) look(ctx context.Context, o db.Order, now time.Time) (processor.PaymentPage, error) {
	account, sessionID := *o.ProcessorAccountID, *o.CheckoutSessionID
	page, err := s.config.Processor.GetPage(ctx, account, sessionID)
	if err != nil || page.Status != processor.Open || now.Before(page.ExpiresAt) {
		return page, err
	}
	return s.closePage(ctx, account, sessionID)
}

// closePage closes a payment page and returns its state. A page that was paid or closed before stays as it is.
func (s *Service) closePage(ctx context.Context, accountID, sessionID string) (processor.PaymentPage, error) {
	closed, err := s.config.Processor.ExpirePage(ctx, accountID, sessionID)
	if err != nil && processor.OutcomeOf(err) == processor.Refused {
		return s.config.Processor.GetPage(ctx, accountID, sessionID)
	}
	return closed, err
}

// search looks for the page of an order that may have one, because the answer to
// the request for it was lost. A search through many pages takes several checks.
// It proves that there is no page only if it began after noPageAt.
func (s *Service) search(ctx context.Context, o *db.Order, now time.Time) error {
	if o.SearchBeganAt == nil {
		o.SearchAfter, o.SearchBeganAt = new(""), &now
	}
	found, err := s.config.Processor.FindPage(ctx, processor.Search{
		AccountID: *o.ProcessorAccountID, From: o.CreatedAt, Until: *o.SearchBeganAt, After: *o.SearchAfter,
		Match: func(p processor.PaymentPage) bool { return s.isPage(*o, p) },
	})
	o.SearchAfter = &found.Next
	switch {
	case err != nil:
		return err
	case found.Page != nil:
		return s.ApplyPaymentPage(ctx, *o.ProcessorAccountID, *found.Page)
	case found.Next != "":
		o.Checks-- // the search makes progress, so the pauses need not grow
		return s.postpone(ctx, *o, now)
	}
	began := *o.SearchBeganAt
	o.SearchAfter, o.SearchBeganAt = nil, nil
	switch {
	case !began.Before(noPageAt(*o)):
		return s.expireWithoutPage(ctx, o.TenantID, o.ID)
	case o.AuctionID != nil && now.Before(o.ExpiresAt):
		return s.openPage(ctx, *o)
	default:
		return s.postpone(ctx, *o, nextCheck(now, noPageAt(*o), o.Checks))
	}
}

// isPage reports whether a page is the order's. A page that the seller made in the
// order's name, for another amount, must not hold the units.
func (s *Service) isPage(o db.Order, p processor.PaymentPage) bool {
	if outcomeOf(o, *o.ProcessorAccountID, p) != unrelated {
		return true
	}
	if p.OrderID == o.ID {
		s.config.Log.Warn("a payment page that we didn't make names an order", "order", o.ID, "session", p.ID)
	}
	return false
}

// checkRefused handles a refusal by the processor. A page that the processor
// doesn't know can't be paid after its time is over, so the order expires; in all
// other cases the check is repeated later.
func (s *Service) checkRefused(ctx context.Context, o db.Order, refusal *processor.Refusal) error {
	now := s.config.Now()
	s.config.Log.Error("the processor has no answer about an order's page", "order", o.ID, "error", refusal)
	if refusal.Status == http.StatusNotFound && !now.Before(o.ExpiresAt.Add(margin)) {
		return s.change(ctx, o.TenantID, o.ID, nil, func(tx pgx.Tx, o db.Order) error {
			if o.Status != Pending {
				return nil
			}
			return s.expireLocked(ctx, tx, o, nil)
		})
	}
	// The processor may have refused the search because of the page after which it
	// should continue.
	o.SearchAfter, o.SearchBeganAt = nil, nil
	// The refusal may be permanent, for example if the seller has disconnected the
	// account.
	return s.postpone(ctx, o, now.Add(min(time.Minute<<min(o.Checks, mostDoublings), longestRefused)))
}

// postpone stores when the processor is asked again, and the position of the
// search for the order's page.
func (s *Service) postpone(ctx context.Context, o db.Order, at time.Time) error {
	err := db.New(s.config.Pool).PostponeCheck(ctx, db.PostponeCheckParams{
		TenantID: o.TenantID, ID: o.ID, CheckAt: at, Checks: o.Checks + 1, Now: s.config.Now(),
		SearchAfter: o.SearchAfter, SearchBeganAt: o.SearchBeganAt,
	})
	if err != nil {
		return fmt.Errorf("postpone the check of order %s: %w", o.ID, err)
	}
	return nil
}
