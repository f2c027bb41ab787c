package subscription

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

const (
	// pageLife is how long a checkout page is open.
	pageLife = 24 * time.Hour
	// portalLife is how long a person is expected to stay in the portal.
	portalLife = time.Hour
	// minTrialLeft is the shortest trial that a new subscription can continue. It is the processor's minimum of 48 hours, and a
	// minute.
	minTrialLeft = 48*time.Hour + time.Minute
	// customerTimeout limits the calls that create a customer. Requests that wait for the same customer share them.
	customerTimeout = 30 * time.Second
)

// Booking is what a checkout page books, and where the browser goes afterwards.
type Booking struct {
	Plan, Interval        string
	SuccessURL, CancelURL string
}

// CreateBillingCheckout creates a page on which the caller's tenant books a plan. An earlier page of the tenant closes.
func (s *Service) CreateBillingCheckout(ctx context.Context, c tenancy.Caller, b Booking) (processor.PaymentPage, error) {
	// Starting again is safe, even if the page fails. So these transactions don't mark the request's idempotency key.
	ctx = postgres.WithHook(ctx, nil)
	plan, err := s.planForSale(ctx, b.Plan, b.Interval)
	if err != nil {
		return processor.PaymentPage{}, err
	}
	if err := s.config.Quotas.TakeProcessorCall(ctx, c.TenantID); err != nil {
		return processor.PaymentPage{}, err
	}
	customer, err := s.ensureCustomer(ctx, c.TenantID)
	if err != nil {
		return processor.PaymentPage{}, err
	}
	if err := s.closePage(ctx, customer.CheckoutID); err != nil {
		return processor.PaymentPage{}, err
	}
	if err := s.SyncTenant(ctx, c.TenantID); err != nil {
		return processor.PaymentPage{}, err
	}
	list, err := db.New(s.config.Pool).ListSubscriptionsOfTenant(ctx, c.TenantID)
	if err != nil {
		return processor.PaymentPage{}, fmt.Errorf("list subscriptions: %w", err)
	}
	if now := current(list); now != nil && now.ProcessorSubscriptionID != nil && now.Status != Canceled && now.Status != Incomplete {
		return processor.PaymentPage{}, problem.Conflicting(
			"a subscription to %s is %s: change it, or end it before you book another one", now.Plan, now.Status)
	}
	price, err := s.priceOf(ctx, plan, b.Interval)
	if err != nil {
		return processor.PaymentPage{}, s.refused(ctx, c.TenantID, err)
	}
	page := processor.NewPlanPage{
		CustomerID: *customer.ProcessorCustomerID, TenantID: c.TenantID, Price: price, SuccessURL: b.SuccessURL, CancelURL: b.CancelURL,
		AutomaticTax: s.config.AutomaticTax,
	}
	page.TrialDays, page.TrialEnd = trialOf(list, plan, s.config.Now())
	made, err := s.config.Processor.CreatePlanPage(ctx, page)
	if err != nil {
		return made, s.refused(ctx, c.TenantID, err)
	}
	return made, s.keepPage(ctx, c, made)
}

// trialOf returns the trial of a new subscription: the rest of a trial that runs, or that of the plan if the tenant had no trial
// before. A change of plan within a trial would otherwise bring one trial after the other.
func trialOf(list []db.Subscription, plan db.Plan, now time.Time) (days int, end time.Time) {
	for _, s := range list {
		if s.Status == Trialing && s.TrialEndsAt != nil && s.TrialEndsAt.Sub(now) >= minTrialLeft {
			return 0, *s.TrialEndsAt
		}
	}
	if slices.ContainsFunc(list, func(s db.Subscription) bool {
		return s.TrialEndsAt != nil || s.Plan == plan.Tier && s.Status != Incomplete
	}) {
		return 0, time.Time{}
	}
	return int(plan.TrialDays), time.Time{}
}

// plan returns the plan of a tier.
func (s *Service) plan(ctx context.Context, name string) (db.Plan, error) {
	plans, err := db.New(s.config.Pool).ListPlans(ctx)
	if err != nil {
		return db.Plan{}, fmt.Errorf("list plans: %w", err)
	}
	i := slices.IndexFunc(plans, func(p db.Plan) bool { return p.Tier == name })
	if i < 0 {
		return db.Plan{}, fmt.Errorf("there is no plan %s", name)
	}
	return plans[i], nil
}

// planForSale returns a plan that a tenant can book itself at an interval.
func (s *Service) planForSale(ctx context.Context, name, interval string) (db.Plan, error) {
	p, err := s.plan(ctx, name)
	switch {
	case err != nil:
		return p, err
	case !forSale(p):
		return p, problem.New(problem.Invalid, "plan_not_for_sale", "the plan %s can't be booked here", name)
	case interval == Year && p.YearlyPriceCents == nil:
		return p, problem.New(problem.Invalid, "plan_not_for_sale", "the plan %s can't be booked by the year", name)
	default:
		return p, nil
	}
}

// forSale reports whether tenants can book a plan themselves.
func forSale(p db.Plan) bool {
	return p.Active && p.Tier != free && p.Tier != enterprise && p.PriceCents > 0
}

// priceOf returns the plan's price at the processor. It creates the plan's product first if there is none.
func (s *Service) priceOf(ctx context.Context, p db.Plan, interval string) (processor.Price, error) {
	price := processor.Price{UnitCents: p.PriceCents, Currency: strings.ToLower(p.Currency), Yearly: interval == Year}
	if price.Yearly {
		if p.YearlyPriceCents == nil {
			return price, problem.BadField("interval", "the plan %s has no price for a year", p.Tier)
		}
		price.UnitCents = *p.YearlyPriceCents
	}
	if p.ProcessorProductID != nil {
		price.ProductID = *p.ProcessorProductID
		return price, nil
	}
	made, err := s.config.Processor.CreatePlanProduct(ctx, p.Tier, p.Name)
	if err != nil {
		return price, err
	}
	price.ProductID, err = db.New(s.config.Pool).KeepPlanProduct(ctx, db.KeepPlanProductParams{Tier: p.Tier, ProcessorProductID: &made})
	if err != nil {
		return price, fmt.Errorf("keep product of plan: %w", err)
	}
	return price, nil
}

// ensureCustomer returns the tenant as a customer. It creates the customer at the processor if there is none.
func (s *Service) ensureCustomer(ctx context.Context, tenantID string) (db.BillingCustomer, error) {
	got, err, _ := s.customers.Do(tenantID, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), customerTimeout)
		defer cancel()
		return s.makeCustomer(ctx, tenantID)
	})
	if err != nil {
		return db.BillingCustomer{}, err
	}
	return got.(db.BillingCustomer), nil //nolint:errcheck,forcetypeassert // makeCustomer returns nothing else
}

func (s *Service) makeCustomer(ctx context.Context, tenantID string) (db.BillingCustomer, error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	if err := q.EnsureBillingCustomer(ctx, db.EnsureBillingCustomerParams{TenantID: tenantID, Now: now}); err != nil {
		return db.BillingCustomer{}, fmt.Errorf("ensure billing customer: %w", err)
	}
	c, err := q.GetBillingCustomer(ctx, tenantID)
	if err != nil || c.ProcessorCustomerID != nil {
		return c, wrap("get billing customer", err)
	}
	name, email, err := s.config.Accounts.BillingContact(ctx, tenantID)
	if err != nil {
		return c, err
	}
	made, err := s.config.Processor.CreateCustomer(ctx, tenantID, name, email)
	if err != nil {
		return c, s.refused(ctx, tenantID, err)
	}
	// If two servers create a customer, the first one counts. The other one stays without a subscription.
	_, err = q.SetProcessorCustomer(ctx, db.SetProcessorCustomerParams{TenantID: tenantID, ProcessorCustomerID: &made, Now: now})
	if err != nil {
		return c, fmt.Errorf("set processor customer: %w", err)
	}
	c, err = q.GetBillingCustomer(ctx, tenantID)
	return c, wrap("get billing customer", err)
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// closePage closes a tenant's earlier checkout page, so that only one plan can be booked. A page that is closed already is fine.
func (s *Service) closePage(ctx context.Context, pageID *string) error {
	if pageID == nil {
		return nil
	}
	_, err := s.config.Processor.ExpirePage(ctx, "", *pageID)
	if _, refused := errors.AsType[*processor.Refusal](err); refused {
		return nil
	}
	return err
}

// keepPage stores the page. If another request has stored one since, that one closes.
func (s *Service) keepPage(ctx context.Context, c tenancy.Caller, page processor.PaymentPage) error {
	var earlier *string
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		customer, err := q.LockBillingCustomer(ctx, c.TenantID)
		if err != nil {
			return fmt.Errorf("lock billing customer: %w", err)
		}
		earlier = customer.CheckoutID
		err = q.SetAway(ctx, db.SetAwayParams{TenantID: c.TenantID, CheckoutID: &page.ID, AwayUntil: now.Add(pageLife), Now: now})
		if err != nil {
			return fmt.Errorf("keep checkout page: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "billing.checkout", Entity: "tenant", EntityID: c.TenantID,
			After: map[string]any{"checkoutId": page.ID},
		})
	})
	if err != nil {
		return err
	}
	return s.closePage(ctx, earlier)
}

// refused logs a refusal of the processor, and returns the problem for the caller. Other errors stay as they are.
func (s *Service) refused(ctx context.Context, tenantID string, err error) error {
	refusal, ok := errors.AsType[*processor.Refusal](err)
	if !ok {
		return err
	}
	s.config.Log.ErrorContext(ctx, "the processor refused a request about a plan", "error", refusal, "tenantId", tenantID)
	if refusal.Status == http.StatusPaymentRequired { // about the card; other texts are for developers
		return problem.Conflicting("the payment failed: %s", refusal.Message)
	}
	return problem.Conflicting("the payment processor refused this; ask the operator of this server, whose log says why")
}

// portal names the settings of a portal in processor_objects.
func portal(mayCancel bool) string {
	if mayCancel {
		return "portal/1/owner"
	}
	return "portal/1/others"
}

// CreateBillingPortal creates a page with the tenant's invoices and payment methods, and returns its URL. Only an OWNER can cancel
// there. Without a customer at the processor it is a conflict.
func (s *Service) CreateBillingPortal(ctx context.Context, c tenancy.Caller, returnURL string) (url string, err error) {
	ctx = postgres.WithHook(ctx, nil) // a second page does no harm
	q := db.New(s.config.Pool)
	customer, err := q.GetBillingCustomer(ctx, c.TenantID)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && customer.ProcessorCustomerID == nil:
		return "", problem.Conflicting("there is nothing to show yet: book a plan first")
	case err != nil:
		return "", fmt.Errorf("get billing customer: %w", err)
	}
	if err := s.config.Quotas.TakeProcessorCall(ctx, c.TenantID); err != nil {
		return "", err
	}
	configuration, err := s.portalConfiguration(ctx, c.Role == tenancy.Owner)
	if err != nil {
		return "", s.refused(ctx, c.TenantID, err)
	}
	if url, err = s.config.Processor.CreatePortal(ctx, *customer.ProcessorCustomerID, configuration, returnURL); err != nil {
		return "", s.refused(ctx, c.TenantID, err)
	}
	now := s.config.Now()
	if err := q.SetAway(ctx, db.SetAwayParams{TenantID: c.TenantID, AwayUntil: now.Add(portalLife), Now: now}); err != nil {
		return "", fmt.Errorf("note the portal: %w", err)
	}
	return url, nil
}

// portalConfiguration returns the settings of a portal. It creates them if there are none.
func (s *Service) portalConfiguration(ctx context.Context, mayCancel bool) (string, error) {
	return s.KeepProcessorObject(ctx, portal(mayCancel), func() (string, error) {
		return s.config.Processor.CreatePortalConfiguration(ctx, mayCancel)
	})
}
