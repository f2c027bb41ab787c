package seller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// askTimeout is how long a request waits for the processor if it can return an older state.
const askTimeout = 3 * time.Second

// Status is the state of a tenant as a seller.
type Status struct {
	// Onboarded: the seller has submitted everything that the processor requires.
	Onboarded bool
	// AccountID is nil before the first onboarding link.
	AccountID      *string
	ChargesEnabled bool
}

// GetConnectStatus returns the onboarding state of the caller's tenant. It asks the
// processor if due says so. It returns the stored state between such calls, while
// the processor can't be reached or refuses, and after the tenant has used up its
// processor calls of the minute.
func (s *Service) GetConnectStatus(ctx context.Context, c tenancy.Caller) (Status, error) {
	row, err := s.get(ctx, c.TenantID)
	if err != nil || !due(row.Seller, row.ChargesEnabled, s.config.Now()) {
		return statusOf(row), err
	}
	accountID := *row.Seller.ProcessorAccountID
	_, err, _ = s.checks.Do(accountID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		if err := s.config.Quotas.TakeProcessorCall(ctx, c.TenantID); err != nil {
			return nil, err
		}
		return nil, s.check(ctx, c.TenantID, accountID, s.config.Now().Add(-askPause))
	})
	if problem.Is(err, "rate_limited") {
		return statusOf(row), nil
	}
	if err != nil {
		s.config.Log.WarnContext(ctx, "seller's account not checked", "error", err, "tenantId", c.TenantID, "accountId", accountID)
		return statusOf(row), nil
	}
	row, err = s.get(ctx, c.TenantID)
	return statusOf(row), err
}

// ApplyAccount asks the processor for an account's current state and stores it, so that
// webhooks about the account may arrive in any order. It ignores an account that belongs
// to no tenant. An account that is gone can't take charges any more: since the processor
// has sent a webhook about it, the answer is not the effect of a wrong key.
func (s *Service) ApplyAccount(ctx context.Context, accountID string) error {
	tenantID, err := db.New(s.config.Pool).GetSellerTenant(ctx, accountID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get seller's tenant: %w", err)
	}
	question, err := s.ask(ctx, tenantID, accountID, s.config.Now())
	if err != nil {
		return err
	}
	if err = s.answer(ctx, tenantID, accountID, question); gone(err) {
		return s.store(ctx, state{tenantID: tenantID, accountID: accountID, question: question, reason: "the account was closed or disconnected"})
	}
	return err
}

// get returns the seller's row; an empty one before the first onboarding link.
func (s *Service) get(ctx context.Context, tenantID string) (db.GetSellerRow, error) {
	row, err := db.New(s.config.Pool).GetSeller(ctx, tenantID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return row, fmt.Errorf("get seller: %w", err)
	}
	return row, nil
}

func statusOf(row db.GetSellerRow) Status {
	return Status{
		Onboarded: row.Seller.DetailsSubmitted, AccountID: row.Seller.ProcessorAccountID, ChargesEnabled: row.ChargesEnabled,
	}
}

// check asks the processor about an account and stores the answer, unless the
// processor was asked after askedBefore.
func (s *Service) check(ctx context.Context, tenantID, accountID string, askedBefore time.Time) error {
	question, err := s.ask(ctx, tenantID, accountID, askedBefore)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.answer(ctx, tenantID, accountID, question)
}

// ask returns the number of a new question about an account, or pgx.ErrNoRows if the
// last one was asked after askedBefore. Numbers order the answers of all servers.
func (s *Service) ask(ctx context.Context, tenantID, accountID string, askedBefore time.Time) (question int64, err error) {
	question, err = db.New(s.config.Pool).AskSeller(ctx, db.AskSellerParams{
		TenantID: tenantID, ProcessorAccountID: accountID, AskedBefore: askedBefore, Now: s.config.Now(),
	})
	if err != nil {
		return 0, fmt.Errorf("number a question about account %s: %w", accountID, err)
	}
	return question, nil
}

// answer gets an account from the processor and stores its state.
func (s *Service) answer(ctx context.Context, tenantID, accountID string, question int64) error {
	a, err := s.config.Processor.GetAccount(ctx, accountID)
	if err != nil {
		return err
	}
	return s.store(ctx, state{
		tenantID: tenantID, accountID: accountID, question: question,
		detailsSubmitted: &a.DetailsSubmitted, chargesEnabled: a.ChargesEnabled,
	})
}

// state is the processor's answer about an account.
type state struct {
	tenantID, accountID string
	// question is its number. The answer to a later question replaces it, but not
	// the other way round.
	question int64
	// detailsSubmitted is nil if it is unknown.
	detailsSubmitted *bool
	chargesEnabled   bool
	// reason is for the audit log; it may be empty.
	reason string
}

func (s *Service) store(ctx context.Context, st state) error {
	// The change is the processor's, so it isn't part of the request that asked for it.
	ctx = postgres.WithHook(ctx, nil)
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		tenant, err := q.LockTenant(ctx, st.tenantID)
		if err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		stored, err := q.SetSellerState(ctx, db.SetSellerStateParams{
			TenantID: st.tenantID, ProcessorAccountID: st.accountID, DetailsSubmitted: st.detailsSubmitted, Question: st.question, Now: now,
		})
		if err != nil {
			return fmt.Errorf("set seller's state: %w", err)
		}
		if stored == 0 || tenant.ChargesEnabled == st.chargesEnabled {
			return nil
		}
		err = q.SetChargesEnabled(ctx, db.SetChargesEnabledParams{TenantID: st.tenantID, ChargesEnabled: st.chargesEnabled, Now: now})
		if err != nil {
			return fmt.Errorf("set charges enabled: %w", err)
		}
		action := "seller.disable"
		if st.chargesEnabled {
			action = "seller.enable"
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: audit.System("processor"), TenantID: st.tenantID, Action: action, Entity: "seller", EntityID: st.accountID, Reason: st.reason,
			Before: map[string]any{"chargesEnabled": tenant.ChargesEnabled}, After: map[string]any{"chargesEnabled": st.chargesEnabled},
		})
	})
}

// IsSeller reports whether a processor's account is a tenant's.
func (s *Service) IsSeller(ctx context.Context, accountID string) (bool, error) {
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
