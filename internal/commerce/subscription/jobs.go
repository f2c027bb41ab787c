package subscription

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/processor"
)

// SyncArgs is the job that copies the state of a tenant's subscriptions.
type SyncArgs struct {
	TenantID string `json:"tenantId" river:"unique"`
}

// Kind names the job.
func (SyncArgs) Kind() string { return "billing_sync" }

// InsertOpts allows one unfinished job for a tenant. A job that fails is repeated by the next look.
func (SyncArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, MaxAttempts: 3, UniqueOpts: queue.Unfinished()}
}

// CancelDuplicateArgs is the job that ends a subscription because its tenant has a newer one.
type CancelDuplicateArgs struct {
	TenantID                string `json:"tenantId"`
	ProcessorSubscriptionID string `json:"processorSubscriptionId" river:"unique"`
}

// Kind names the job.
func (CancelDuplicateArgs) Kind() string { return "billing_cancel_duplicate" }

// InsertOpts allows one unfinished job for a subscription, and enough attempts to outlast an outage of the processor.
func (CancelDuplicateArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, MaxAttempts: 25, UniqueOpts: queue.Unfinished()}
}

// CancelDuplicate ends the subscription if a newer one still runs, credits its unused part if that is paid, and copies the result. It
// may run twice.
func (s *Service) CancelDuplicate(ctx context.Context, a CancelDuplicateArgs) error {
	customer, err := db.New(s.config.Pool).GetBillingCustomer(ctx, a.TenantID)
	if err != nil {
		return fmt.Errorf("get billing customer: %w", err)
	}
	if customer.ProcessorCustomerID == nil {
		return nil
	}
	state, err := s.config.Processor.ReadCustomer(ctx, *customer.ProcessorCustomerID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(state.Subscriptions, func(p processor.Subscription) bool { return p.ID == a.ProcessorSubscriptionID })
	if i < 0 || !runs(statusOf(state.Subscriptions[i])) {
		return nil
	}
	old := state.Subscriptions[i]
	newer := func(p processor.Subscription) bool {
		return runs(statusOf(p)) && p.ID != old.ID && (p.CreatedAt.After(old.CreatedAt) || p.CreatedAt.Equal(old.CreatedAt) && p.ID > old.ID)
	}
	if slices.ContainsFunc(state.Subscriptions, newer) {
		if err := s.config.Processor.CancelSubscription(ctx, old.ID, isPaid(old)); err != nil {
			return err
		}
	}
	return s.SyncTenant(ctx, a.TenantID)
}

// insertSyncs adds a job for each of the tenants.
func (s *Service) insertSyncs(ctx context.Context, tenantIDs []string) error {
	if len(tenantIDs) == 0 {
		return nil
	}
	jobs := make([]river.InsertManyParams, len(tenantIDs))
	for i, tenantID := range tenantIDs {
		jobs[i] = river.InsertManyParams{Args: SyncArgs{TenantID: tenantID}}
	}
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
			return fmt.Errorf("insert jobs of syncs: %w", err)
		}
		return nil
	})
}
