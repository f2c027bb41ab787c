package seller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/audit"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// askTimeout is how long a caller waits for the processor's word, who can be
// given an older one.
const askTimeout = 3 * time.Second

// Status is how far a tenant is as a seller.
type Status struct {
	// Onboarded: all that the processor asks of sellers was handed in.
	Onboarded bool
	// AccountID is nil before the first onboarding link.
	AccountID      *string
	ChargesEnabled bool
}

// GetConnectStatus is how far the caller's tenant is. It asks the processor when
// the stored state may be out of date, such as when a report was lost. The stored
// state stands while the processor can't be reached or knows the account no more,
// and when the tenant has used up its processor calls.
func (s *Service) GetConnectStatus(ctx context.Context, c account.Caller) (Status, error) {
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
		return nil, s.check(ctx, c.TenantID, accountID)
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

// ApplyAccount stores what an account is like now, which the processor is asked
// for: so reports about it may come in any order. An account that is no tenant's
// is ignored. One that is gone can't take charges any more; the processor's report
// about it is not taken for our own wrong key.
func (s *Service) ApplyAccount(ctx context.Context, accountID string) error {
	tenantID, err := db.New(s.config.Pool).GetSellerTenant(ctx, accountID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get seller's tenant: %w", err)
	}
	asked := s.config.Now()
	if err = s.check(ctx, tenantID, accountID); gone(err) {
		return s.store(ctx, state{tenantID: tenantID, accountID: accountID, askedAt: asked, reason: "the account was closed or disconnected"})
	}
	return err
}

// get is the seller's row; an empty one before the first onboarding link.
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

// check asks the processor about an account and stores the answer.
func (s *Service) check(ctx context.Context, tenantID, accountID string) error {
	asked := s.config.Now()
	a, err := s.config.Processor.GetAccount(ctx, accountID)
	if err != nil {
		return err
	}
	return s.store(ctx, state{
		tenantID: tenantID, accountID: accountID, askedAt: asked,
		detailsSubmitted: &a.DetailsSubmitted, chargesEnabled: a.ChargesEnabled,
	})
}

// state is what the processor says of an account.
type state struct {
	tenantID, accountID string
	// askedAt is when it was asked: a later answer counts more.
	askedAt time.Time
	// detailsSubmitted is nil when nothing is known of it.
	detailsSubmitted *bool
	chargesEnabled   bool
	// reason is for the audit log; it may be empty.
	reason string
}

func (s *Service) store(ctx context.Context, st state) error {
	// It is the processor's doing, and no part of a request that asked for it.
	ctx = postgres.WithHook(ctx, nil)
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		tenant, err := q.LockTenant(ctx, st.tenantID)
		if err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		stored, err := q.SetSellerState(ctx, db.SetSellerStateParams{
			TenantID: st.tenantID, ProcessorAccountID: st.accountID, DetailsSubmitted: st.detailsSubmitted, AskedAt: st.askedAt, Now: now,
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
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: audit.System("processor"), TenantID: st.tenantID, Action: action, Entity: "seller", EntityID: st.accountID, Reason: st.reason,
			Before: map[string]any{"chargesEnabled": tenant.ChargesEnabled}, After: map[string]any{"chargesEnabled": st.chargesEnabled},
		})
	})
}
