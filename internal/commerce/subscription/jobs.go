package subscription

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

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

// CancelDuplicate ends the subscription, credits its unused part, and copies the result. It may run twice.
func (s *Service) CancelDuplicate(ctx context.Context, a CancelDuplicateArgs) error {
	err := s.config.Processor.CancelSubscription(ctx, a.ProcessorSubscriptionID, true)
	if _, refused := errors.AsType[*processor.Refusal](err); err != nil && !refused { // refused: it has ended already
		return err
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
