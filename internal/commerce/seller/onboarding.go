package seller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// createTimeout limits the calls to the processor that find or create an account. It
// starts with the calls: requests that wait for the same account share them.
const createTimeout = 30 * time.Second

// Landing holds the URLs to which the processor redirects the seller afterwards.
type Landing struct{ ReturnURL, RefreshURL string }

// CreateOnboardingLink creates a hosted page on which the caller's tenant becomes a
// seller or changes its data as one. If the tenant has no account at the processor,
// it creates that first. An account that is gone is a conflict. Each link counts as
// one of the tenant's processor calls.
func (s *Service) CreateOnboardingLink(ctx context.Context, c tenancy.Caller, l Landing) (processor.Link, error) {
	// Starting again is safe, even if the link fails. So the account's transactions
	// don't mark the request's idempotency key.
	ctx = postgres.WithHook(ctx, nil)
	if err := s.config.Quotas.TakeProcessorCall(ctx, c.TenantID); err != nil {
		return processor.Link{}, err
	}
	accountID, err := s.account(ctx, c)
	if err != nil {
		return processor.Link{}, err
	}
	link, err := s.config.Processor.CreateOnboardingLink(ctx, accountID, l.ReturnURL, l.RefreshURL)
	if err != nil {
		s.config.Log.WarnContext(ctx, "no onboarding link", "error", err, "tenantId", c.TenantID, "accountId", accountID)
		return link, linkProblem(err)
	}
	return link, nil
}

// account returns the tenant's account. It creates the account if there is none.
func (s *Service) account(ctx context.Context, c tenancy.Caller) (string, error) {
	accountID, err, _ := s.accounts.Do(c.TenantID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
		defer cancel()
		return s.ensureAccount(ctx, c)
	})
	if err != nil {
		return "", err
	}
	return accountID.(string), nil //nolint:errcheck,forcetypeassert // ensureAccount returns nothing else
}

// ensureAccount first stores that an account will be requested, and the time. If the
// processor's answer is lost, the stored time shows where to search for the account.
func (s *Service) ensureAccount(ctx context.Context, c tenancy.Caller) (string, error) {
	q := db.New(s.config.Pool)
	if err := q.EnsureSeller(ctx, db.EnsureSellerParams{TenantID: c.TenantID, Now: s.config.Now()}); err != nil {
		return "", fmt.Errorf("ensure seller: %w", err)
	}
	row, err := q.GetSeller(ctx, c.TenantID)
	switch {
	case err != nil:
		return "", fmt.Errorf("get seller: %w", err)
	case row.Seller.ProcessorAccountID != nil:
		return *row.Seller.ProcessorAccountID, nil
	}
	a, err := s.makeAccount(ctx, row)
	if err != nil {
		return "", err
	}
	return s.keepAccount(ctx, c, a)
}

// makeAccount finds the account that an earlier call has created, or creates it.
func (s *Service) makeAccount(ctx context.Context, row db.GetSellerRow) (processor.Account, error) {
	p, tenantID, since := s.config.Processor, row.Seller.TenantID, row.Seller.CreatedAt
	if keyHasLapsed(row.Seller, s.config.Now()) {
		a, found, err := p.FindAccount(ctx, tenantID, since)
		if err != nil || found {
			return a, s.sellerProblem(ctx, "find", tenantID, err)
		}
	}
	a, err := p.CreateAccount(ctx, tenantID, row.TenantName)
	if err != nil {
		// The answer may have been lost, another server's request with the same key
		// may be in progress, or an earlier request had another name of the tenant.
		if found, ok, findErr := p.FindAccount(ctx, tenantID, since); findErr == nil && ok {
			return found, nil
		}
	}
	return a, s.sellerProblem(ctx, "make", tenantID, err)
}

// sellerProblem logs a refusal that only the platform's operators can fix, and
// returns the problem for the caller.
func (s *Service) sellerProblem(ctx context.Context, verb, tenantID string, err error) error {
	if _, refused := errors.AsType[*processor.Refusal](err); !refused {
		return err
	}
	s.config.Log.ErrorContext(ctx, "the processor refused to "+verb+" an account", "error", err, "tenantId", tenantID)
	return refusedProblem()
}

// keepAccount stores the seller's account. If another call was faster, it returns
// that call's account.
func (s *Service) keepAccount(ctx context.Context, c tenancy.Caller, a processor.Account) (accountID string, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		kept, err := q.SetSellerAccount(ctx, db.SetSellerAccountParams{TenantID: c.TenantID, ProcessorAccountID: a.ID, Now: now})
		if err != nil {
			return fmt.Errorf("set seller's account: %w", err)
		}
		if kept == 0 {
			row, err := q.GetSeller(ctx, c.TenantID)
			if err != nil {
				return fmt.Errorf("get seller: %w", err)
			}
			accountID = *row.Seller.ProcessorAccountID
			return nil
		}
		accountID = a.ID
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "seller.create", Entity: "seller", EntityID: a.ID,
		})
	})
	return accountID, err
}
