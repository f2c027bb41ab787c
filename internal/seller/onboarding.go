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
	"showfloor/internal/processor"
)

// createTimeout bounds what is asked of the processor to get at an account,
// whoever waits for it.
const createTimeout = 30 * time.Second

// Landing is where the processor leads the seller afterwards.
type Landing struct{ ReturnURL, RefreshURL string }

// CreateOnboardingLink makes a hosted page on which the caller's tenant becomes a
// seller or changes its data as one, and before that the tenant's account, unless
// it has one. An account that is gone is a conflict. Each link counts as one of the
// tenant's processor calls.
func (s *Service) CreateOnboardingLink(ctx context.Context, c account.Caller, l Landing) (processor.Link, error) {
	// Whatever becomes of the link, to begin again is safe; so an idempotency key
	// of the request needn't be spent on the account.
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

// account is the tenant's account, made now if there is none.
func (s *Service) account(ctx context.Context, c account.Caller) (string, error) {
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

// ensureAccount first notes that an account is about to be asked for, and since
// when: should the answer be lost, the note says where to look for it.
func (s *Service) ensureAccount(ctx context.Context, c account.Caller) (string, error) {
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

// makeAccount finds the account that an earlier call has made, or makes it.
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
		// The answer may have been lost, another server's request under the same key
		// may be in the way, or one was made under another name of the tenant's.
		if found, ok, findErr := p.FindAccount(ctx, tenantID, since); findErr == nil && ok {
			return found, nil
		}
	}
	return a, s.sellerProblem(ctx, "make", tenantID, err)
}

// sellerProblem makes a refusal, which only the platform can do something about,
// known to those who run it.
func (s *Service) sellerProblem(ctx context.Context, verb, tenantID string, err error) error {
	if _, refused := errors.AsType[*processor.Refusal](err); !refused {
		return err
	}
	s.config.Log.ErrorContext(ctx, "the processor refused to "+verb+" an account", "error", err, "tenantId", tenantID)
	return refusedProblem()
}

// keepAccount gives the seller its account; when another call was faster, that
// one's counts.
func (s *Service) keepAccount(ctx context.Context, c account.Caller, a processor.Account) (accountID string, err error) {
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
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "seller.create", Entity: "seller", EntityID: a.ID,
		})
	})
	return accountID, err
}
