package quota

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// ListPlans returns all plans, the smallest tier first.
func (s *Service) ListPlans(ctx context.Context) ([]db.Plan, error) {
	plans, err := db.New(s.pool).ListPlans(ctx)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return plans, nil
}

// GetPlan returns a plan; the problem not_found for an unknown id.
func (s *Service) GetPlan(ctx context.Context, planID string) (db.Plan, error) {
	return found(db.New(s.pool).GetPlan(ctx, planID))
}

// LockPlanTx returns a plan that no other transaction can change until tx ends; the problem not_found for an unknown id.
func (*Service) LockPlanTx(ctx context.Context, tx pgx.Tx, planID string) (db.Plan, error) {
	return found(db.New(tx).LockPlanByID(ctx, planID))
}

func found(p db.Plan, err error) (db.Plan, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return p, problem.Missing("plan")
	}
	if err != nil {
		return p, fmt.Errorf("get plan: %w", err)
	}
	return p, nil
}

// SavePlanTx stores a locked plan with its new prices, limits and state. The tier and the currency never change.
func (s *Service) SavePlanTx(ctx context.Context, tx pgx.Tx, p db.Plan) (db.Plan, error) {
	saved, err := db.New(tx).SavePlan(ctx, db.SavePlanParams{
		ID: p.ID, Name: p.Name, Description: p.Description, PriceCents: p.PriceCents, YearlyPriceCents: p.YearlyPriceCents,
		TrialDays: p.TrialDays, Active: p.Active, MaxUsers: p.MaxUsers, MaxAPIKeys: p.MaxAPIKeys, MaxLiveStreams: p.MaxLiveStreams,
		MaxViewers: p.MaxViewers, MaxSessionCapacity: p.MaxSessionCapacity, MaxWebhookEndpoints: p.MaxWebhookEndpoints,
		MaxRestreamTargets: p.MaxRestreamTargets, RecordingRetentionDays: p.RecordingRetentionDays, MaxCaptureBytes: p.MaxCaptureBytes,
		MaxProcessorCalls: p.MaxProcessorCalls, MaxWrittenBytes: p.MaxWrittenBytes, Now: s.now(),
	})
	if err != nil {
		return saved, fmt.Errorf("save plan: %w", err)
	}
	return saved, nil
}

// ForgetPlans removes the plans that this process has cached. Call it after the commit of a change; other processes follow
// within 10 seconds.
func (s *Service) ForgetPlans() { s.known.Clear() }
