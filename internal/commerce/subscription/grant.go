package subscription

import (
	"context"
	"fmt"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// component is the actor of changes that follow from subscriptions.
const component = "billing"

// grant gives the tenant the plan and the status that follow from its subscriptions. It changes the plan only when that of the
// subscriptions has changed, so a plan that an admin has set stays.
func (c *changes) grant(ctx context.Context) error {
	s := current(c.list)
	if s == nil {
		return nil
	}
	if err := c.grantPlan(ctx, *s); err != nil {
		return err
	}
	return c.grantStatus(ctx, tenantStatus(*s))
}

func (c *changes) grantPlan(ctx context.Context, s db.Subscription) error {
	plan := grantedPlan(s, c.config.Grace, c.now)
	if granted := c.customer.GrantedPlan; granted != nil && *granted == plan || granted == nil && plan == free {
		return nil
	}
	if err := c.q.SetGrantedPlan(ctx, db.SetGrantedPlanParams{TenantID: c.tenant.ID, GrantedPlan: &plan, Now: c.now}); err != nil {
		return fmt.Errorf("set granted plan: %w", err)
	}
	c.customer.GrantedPlan = &plan
	if s.Status == Unpaid && plan == free {
		if err := c.announceGraceEnd(ctx, s); err != nil {
			return err
		}
	}
	return c.setPlan(ctx, audit.System(component), plan, "subscription "+s.ID+" is "+s.Status)
}

// setPlan sets the plan of the tenant. If the tenant has it already, nothing changes.
func (c *changes) setPlan(ctx context.Context, actor audit.Actor, plan, reason string) error {
	if c.tenant.Plan == plan {
		return nil
	}
	if err := c.q.SetTenantPlan(ctx, db.SetTenantPlanParams{ID: c.tenant.ID, Plan: plan, Now: c.now}); err != nil {
		return fmt.Errorf("set tenant plan: %w", err)
	}
	err := audit.WriteTx(ctx, c.q, c.now, audit.Entry{
		Actor: actor, TenantID: c.tenant.ID, Action: "tenant.change_plan", Entity: "tenant", EntityID: c.tenant.ID, Reason: reason,
		Before: map[string]any{"plan": c.tenant.Plan}, After: map[string]any{"plan": plan},
	})
	c.tenant.Plan, c.newPlan = plan, true
	return err
}

// grantStatus sets the tenant's status. A suspended tenant gets it when the suspension ends; a cancelled one stays so.
func (c *changes) grantStatus(ctx context.Context, status string) error {
	switch c.tenant.Status {
	case tenancy.Suspended:
		err := c.q.SetStatusBeforeSuspension(ctx, db.SetStatusBeforeSuspensionParams{ID: c.tenant.ID, Status: &status, Now: c.now})
		if err != nil {
			return fmt.Errorf("set status before suspension: %w", err)
		}
		return nil
	case status, tenancy.Cancelled:
		return nil
	}
	if _, err := c.q.SetTenantStatus(ctx, db.SetTenantStatusParams{ID: c.tenant.ID, Status: status, Now: c.now}); err != nil {
		return fmt.Errorf("set tenant status: %w", err)
	}
	err := audit.WriteTx(ctx, c.q, c.now, audit.Entry{
		Actor: audit.System(component), TenantID: c.tenant.ID, Action: "tenant.change_status", Entity: "tenant", EntityID: c.tenant.ID,
		Before: map[string]any{"status": c.tenant.Status}, After: map[string]any{"status": status},
	})
	c.tenant.Status, c.newStatus = status, true
	return err
}
