package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/commerce/sandbox"
)

// subscribers are tenants with subscriptions, an admin, and the processor with its faults and its clock.
type subscribers struct {
	*crowd

	box     *sandbox.Server
	admin   *client.ClientWithResponses
	tenants []*tenant
	// from is the processor's time at the beginning.
	from time.Time
}

const planTenants = 5

// subscribe signs up the tenants and starts all clients.
func subscribe(t testing.TB, s *server, box *sandbox.Server, seed uint64) *subscribers {
	t.Helper()
	p := &subscribers{crowd: newCrowd(t, &shop{box: box}, seed), box: box, from: box.Now(), admin: adminClient(t, s, "admin@localhost", "the root's password")}
	for range planTenants {
		p.tenants = append(p.tenants, signUp(t, s))
	}
	for i, a := range p.tenants {
		var open []string
		p.run(uint64(100+i), func(r *rand.Rand, n int) { p.act(r, a, &open, fmt.Sprintf("%d-%d", i, n)) })
	}
	p.run(400, func(r *rand.Rand, _ int) { p.administer(r) })
	p.run(500, func(r *rand.Rand, _ int) { p.disturb(r) })
	p.run(600, func(r *rand.Rand, _ int) {
		p.must(box.Advance(time.Duration(r.IntN(96*60)) * time.Minute))
		p.rest(time.Duration(r.IntN(800)) * time.Millisecond)
	})
	return p
}

// moved is how far the processor's clock has moved.
func (p *subscribers) moved() time.Duration { return p.box.Now().Sub(p.from) }

// act does one thing that a tenant's owner can do, here or on the processor's pages. open are the checkout pages of the tenant that were
// left open.
func (p *subscribers) act(r *rand.Rand, a *tenant, open *[]string, key string) {
	ctx := context.Background()
	plan := pick(r, []api.PlanTier{api.PlanTierSTARTER, api.PlanTierPRO})
	interval := pick(r, []api.BillingInterval{api.BillingIntervalMONTH, api.BillingIntervalMONTH, api.BillingIntervalYEAR})
	change := func(what string, patch api.SubscriptionPatch) {
		answer, err := a.UpdateSubscriptionWithResponse(ctx, patch, a.asOwner)
		p.outcome(what, answer, err, "conflict", unavailable, "tenant_suspended")
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		p.book(r, a, open, key)
	case 3, 4, 5:
		change("change", api.SubscriptionPatch{Plan: &plan, Interval: &interval})
	case 6:
		change("cancel", api.SubscriptionPatch{CancelAtPeriodEnd: new(true)})
	case 7:
		change("withdraw", api.SubscriptionPatch{CancelAtPeriodEnd: new(false)})
	case 8, 9:
		p.visitPortal(r, a)
	case 10:
		status, err := a.GetBillingStatusWithResponse(ctx, a.asOwner)
		p.outcome("status", status, err, "tenant_suspended")
	default:
		page, err := a.CreateBillingPortalWithResponse(ctx, api.BillingPortalInput{ReturnURL: "https://acme.example/"}, a.asOwner)
		p.outcome("portal", page, err, "conflict", unavailable, "tenant_suspended", inProgress, keyLost)
	}
	p.rest(time.Duration(r.IntN(250)) * time.Millisecond)
}

// book opens a checkout page, and completes it, or one that was left open in another tab.
func (p *subscribers) book(r *rand.Rand, a *tenant, open *[]string, key string) {
	if !oneIn(r, 2) {
		key = ""
	}
	made, err := a.CreateBillingCheckoutWithResponse(context.Background(), api.BillingCheckoutInput{
		Plan:       pick(r, []api.PlanTier{api.PlanTierSTARTER, api.PlanTierPRO}),
		Interval:   new(pick(r, []api.BillingInterval{api.BillingIntervalMONTH, api.BillingIntervalYEAR})),
		SuccessURL: "https://acme.example/", CancelURL: "https://acme.example/",
	}, a.asOwner, keyed(key))
	if p.outcome("checkout", made, err, "conflict", unavailable, "tenant_suspended", inProgress, keyLost) == "" {
		*open = append(*open, made.JSON201.SessionID)
	}
	p.rest(time.Duration(r.IntN(100)) * time.Millisecond)
	if len(*open) == 0 || oneIn(r, 4) {
		return
	}
	n := len(*open) - 1 - r.IntN(min(2, len(*open)))
	page := (*open)[n]
	*open = slices.Delete(*open, n, n+1)
	if _, err := p.box.CompleteCheckout(page, pick(r, []string{
		sandbox.CardPays, sandbox.CardPays, sandbox.CardPays, sandbox.CardFailsLater, sandbox.CardAuthenticates, sandbox.CardDeclined,
	})); err != nil {
		p.count("page refused")
		return
	}
	p.count("page completed")
}

// visitPortal does one thing in the portal or on an invoice's page.
func (p *subscribers) visitPortal(r *rand.Rand, a *tenant) {
	customer, ok := p.customer(a)
	if !ok {
		return
	}
	switch r.IntN(6) {
	case 0, 1, 2:
		card := pick(r, []string{sandbox.CardPays, sandbox.CardPays, sandbox.CardFailsLater, sandbox.CardAuthenticatesOnce})
		_, err := p.box.UseCard(customer, card)
		p.must(err)
		p.count("card")
	case 3:
		for _, sub := range p.box.Subscriptions() {
			if sub.CustomerID == customer && sub.Status == sandbox.Active {
				_, _ = p.box.CancelInPortal(sub.ID, oneIn(r, 2)) // it may have ended meanwhile
				p.count("cancel in portal")
			}
		}
	case 4:
		if oneIn(r, 3) {
			p.must(p.box.RemoveCards(customer))
			p.count("cards removed")
		}
	default:
		p.pay(r, customer)
	}
}

func (p *subscribers) pay(r *rand.Rand, customer string) {
	for _, i := range p.box.Invoices() {
		if i.CustomerID != customer || i.Status != sandbox.StatusOpen {
			continue
		}
		_, err := p.box.PayInvoiceWith(i.ID, pick(r, []string{sandbox.CardPays, sandbox.CardPays, sandbox.CardDeclined}))
		p.count(fmt.Sprint("invoice paid: ", err == nil))
	}
}

// customer returns the id of a tenant at the processor.
func (p *subscribers) customer(a *tenant) (string, bool) {
	list := p.box.Customers()
	i := slices.IndexFunc(list, func(u sandbox.Customer) bool { return u.Metadata["tenant_id"] == a.id })
	if i < 0 {
		return "", false
	}
	return list[i].ID, true
}

// administer does one thing that an admin can do.
func (p *subscribers) administer(r *rand.Rand) {
	ctx := context.Background()
	defer p.rest(time.Duration(r.IntN(600)) * time.Millisecond)
	if oneIn(r, 8) {
		p.changePlan(r, pick(r, p.tenants))
		return
	}
	if oneIn(r, 10) {
		a := pick(r, p.tenants)
		off, err := p.admin.SuspendTenantWithResponse(ctx, a.id, api.SuspensionInput{Reason: "a test"})
		p.outcome("suspend", off, err, "conflict", inProgress, keyLost)
		p.rest(time.Duration(r.IntN(1500)) * time.Millisecond)
		for !p.over() {
			on, err := p.admin.UnsuspendTenantWithResponse(ctx, a.id)
			if p.outcome("unsuspend", on, err, "conflict") != lost {
				return
			}
			p.rest(100 * time.Millisecond)
		}
		return
	}
	list, err := p.admin.ListAdminSubscriptionsWithResponse(ctx, &api.ListAdminSubscriptionsParams{PageSize: new(api.AdminPageSize("20"))})
	if p.outcome("list", list, err) != "" {
		return
	}
	open := slices.DeleteFunc(list.JSON200.Items, func(s api.AdminSubscription) bool { return s.Status == api.SubscriptionStatusCANCELED && !oneIn(r, 9) })
	if len(open) == 0 {
		return
	}
	id := pick(r, open).ID
	var answer reply
	what := pick(r, []string{"pause", "pause", "resume", "resume", "resume", "end", "extend"})
	switch what {
	case "pause":
		answer, err = p.admin.PauseSubscriptionWithResponse(ctx, id)
	case "resume":
		answer, err = p.admin.ResumeSubscriptionWithResponse(ctx, id)
	case "end":
		answer, err = p.admin.CancelSubscriptionWithResponse(ctx, id)
	default:
		answer, err = p.admin.ExtendSubscriptionTrialWithResponse(ctx, id, api.TrialExtensionInput{Days: 1 + r.IntN(10)})
	}
	p.outcome(what, answer, err, "conflict", "invalid_input", unavailable)
}

// changePlan moves a tenant's subscription, or begins one at an agreed price.
func (p *subscribers) changePlan(r *rand.Rand, a *tenant) {
	patch := api.TenantPlanPatch{Plan: pick(r, []api.PlanTier{api.PlanTierPRO, api.PlanTierENTERPRISE}), PriceCents: new(int64(5000 + 100*r.IntN(50)))}
	if oneIn(r, 2) {
		patch.DaysUntilDue = new(7)
	}
	answer, err := p.admin.ChangeTenantPlanWithResponse(context.Background(), a.id, patch)
	p.outcome("agreed price", answer, err, "conflict", unavailable)
}

// disturb makes the processor lose answers and fail, and send its reports late, twice, in reverse order or never.
func (p *subscribers) disturb(r *rand.Rand) {
	path := pick(r, []string{"/v1/", "/v1/checkout/sessions", "/v1/customers", "/v1/subscriptions/", "/v1/subscriptions", "/v1/invoices", "/v1/products"})
	switch r.IntN(6) {
	case 0:
		p.box.LoseAnswers(1, path)
	case 1:
		p.box.Fail(1, path, pick(r, []int{http.StatusInternalServerError, http.StatusTooManyRequests}))
	case 2, 3:
		p.must(p.box.HoldEvents())
		p.rest(time.Duration(r.IntN(1000)) * time.Millisecond)
		if oneIn(r, 3) {
			p.must(p.box.DropEvents(""))
		}
		p.must(p.box.ReleaseReversed())
	case 4:
		if events := p.box.Events(); len(events) > 0 {
			p.must(p.box.Resend(events[max(0, len(events)-1-r.IntN(40))].ID, 1+r.IntN(2)))
		}
	default:
		p.box.Down(true)
		p.rest(time.Duration(r.IntN(300)) * time.Millisecond)
		p.box.Down(false)
	}
	p.rest(time.Duration(50+r.IntN(300)) * time.Millisecond)
}

// requireAnswers requires that the API shows what the rows say.
func (b *planBooks) requireAnswers(t testing.TB, p *subscribers) {
	t.Helper()
	for _, a := range p.tenants {
		tenant := b.tenants[a.id]
		if tenant.Status == "SUSPENDED" {
			continue
		}
		status, err := a.GetBillingStatusWithResponse(t.Context(), a.asOwner)
		require.NoError(t, err)
		require.NotNil(t, status.JSON200, "%s", status.Body)
		require.Equal(t, []string{tenant.Plan, tenant.Status}, []string{string(status.JSON200.Plan), string(status.JSON200.TenantStatus)})
		invoices, err := a.ListBillingInvoicesWithResponse(t.Context(), &api.ListBillingInvoicesParams{Limit: new(200)}, a.asOwner)
		require.NoError(t, err)
		require.NotNil(t, invoices.JSON200, "%s", invoices.Body)
		want := 0
		for _, i := range b.invoices {
			if i.TenantID == a.id && i.Status != "DRAFT" {
				want++
			}
		}
		require.Len(t, *invoices.JSON200, min(want, 200))
	}
}
