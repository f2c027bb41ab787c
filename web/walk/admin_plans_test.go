package walk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// planOf returns the plan of a tier.
func planOf(t *testing.T, admin *apitest.Caller, tier api.PlanTier) api.AdminPlan {
	t.Helper()
	var page api.AdminPlanPage
	admin.Call(t, "GET", "/v1/admin/plans", nil).Into(t, 200, &page)
	for _, p := range page.Items {
		if p.Tier == tier {
			return p
		}
	}
	require.Fail(t, "no such plan", tier)

	return api.AdminPlan{}
}

// faultAt waits until the input of a name shows a message of the server.
func (c *console) faultAt(name, text string) {
	c.t.Helper()
	c.becomes("the fault is shown at "+name, `(() => {
		const input = document.querySelector('[name="`+name+`"]');
		return input?.getAttribute("aria-invalid") === "true" &&
			(input.getAttribute("aria-describedby") ?? "").split(" ").some((id) => document.getElementById(id)?.textContent.includes(`+quoted(text)+`));
	})()`)
}

// saves presses Save, and waits until the plan is saved.
func (c *console) saves(saved string) {
	c.t.Helper()
	c.clicks("submit")
	c.sees(saved)
	c.evaluates(`document.querySelectorAll(".mantine-Notification-closeButton").forEach((button) => button.click())`)
	c.misses(saved)
}

func (c *console) valueOf(name string) string {
	c.t.Helper()

	return browsertest.Value[string](c.t, c.tab, `document.querySelector('[name="`+name+`"]').value`)
}

func TestAdminChangesAPlan(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en-GB", apitest.Options{})
	admin := c.s.Admin(t, platform.Billing)
	before := planOf(t, admin, api.PlanTierSTARTER)

	c.enters("/plans", admin)
	c.clicks("Starter")
	c.shows("Starter", "admin-plan")
	require.Equal(t, "29", c.valueOf("priceCents"))
	require.Equal(t, "1,000", c.valueOf("limits.maxViewers"))
	require.Equal(t, "256", c.valueOf("limits.maxCaptureBytes"))
	require.Equal(t, "500", c.valueOf("EGRESS_BYTES.included"))
	c.sees("Running subscriptions keep their price.")

	c.types("trialDays", "91")
	c.types("limits.maxRestreamTargets", "9")
	c.types("limits.maxCaptureBytes", "1.5")
	c.clicks("submit")
	c.faultAt("trialDays", "at most 90")
	c.faultAt("limits.maxRestreamTargets", "at most 8")
	c.faultAt("limits.maxCaptureBytes", "number must be at least")
	c.looks("admin-plan-faults")
	c.types("trialDays", "30")
	c.types("limits.maxRestreamTargets", "4")
	c.types("limits.maxCaptureBytes", "512")

	c.types("name", "Beginner")
	c.types("priceCents", "39.5")
	c.types("yearlyPriceCents", "")
	c.types("limits.maxUsers", "")
	c.types("STREAM_MINUTES.included", "")
	c.types("EGRESS_BYTES.included", "1500.25")
	c.evaluates(`[...document.querySelector('[name="EGRESS_BYTES.included"]').closest("fieldset").querySelectorAll("input")].at(1).click()`)
	c.takes("Charge")
	c.types("EGRESS_BYTES.overagePriceCents", "0.07")
	c.clicks("submit")
	c.faultAt("EGRESS_BYTES.overageUnits", "is required with the overage CHARGE")
	c.types("EGRESS_BYTES.overageUnits", "10")
	c.types("reason", "Price list of 2027")
	c.saves("Saved")

	want := before
	want.Name, want.PriceCents, want.TrialDays = "Beginner", 3950, 30
	want.YearlyPriceCents.SetNull()
	want.Limits.MaxRestreamTargets.Set(4)
	want.Limits.MaxCaptureBytes.Set(512 << 20)
	want.Limits.MaxUsers.SetNull()
	want.Allowances = nil
	for _, a := range before.Allowances {
		switch a.Meter {
		case api.UsageMeterSTREAMMINUTES:
			continue
		case api.UsageMeterEGRESSBYTES:
			a.Included, a.Overage = 1_500_250_000_000, new(api.PlanOverageCHARGE)
			a.OveragePriceCents, a.OverageUnits = new(int64(7)), new(int64(10_000_000_000))
		}
		want.Allowances = append(want.Allowances, a)
	}
	got := planOf(t, admin, api.PlanTierSTARTER)
	want.UpdatedAt = got.UpdatedAt
	require.Equal(t, want, got)
	c.shows("Beginner", "admin-plan-changed")
	c.complains(refusedFirst, "400")
}

func TestAdminsChangeAPlanInTurn(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "de-DE", apitest.Options{})
	admin, other, support := c.s.Admin(t, platform.SuperAdmin), c.s.Admin(t, platform.Billing), c.s.Admin(t, platform.Support)
	before := planOf(t, admin, api.PlanTierPRO)

	c.enters("/plans", admin)
	c.clicks("Pro")
	browsertest.WaitFor(t, c.tab, settled("Pro"))
	c.types("priceCents", "89,90")
	c.types("limits.maxViewers", "7500")
	c.types("PUSHES.included", "2500000")
	limits, allowances := before.Limits, []api.PlanAllowance{}
	limits.MaxAPIKeys.Set(75)
	for _, a := range before.Allowances {
		if a.Meter == api.UsageMeterRECORDINGMINUTES {
			a.Included = 20_000
		}
		allowances = append(allowances, a)
	}
	other.Call(t, "PATCH", "/v1/admin/plans/"+before.ID, map[string]any{
		"description": "For everyone", "limits": limits, "allowances": allowances,
	}).Is(t, 200)
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[data-testid=conflict]")`)
	conflict := c.textOf("conflict")
	for _, text := range []string{"For everyone", "API-Schlüssel", "75", "15.000, dann", "20.000, dann"} {
		require.Contains(t, conflict, text)
	}
	require.NotContains(t, conflict, "Zuschauer", "only the other admin's changes are listed")
	c.looks("admin-plan-conflict")
	c.clicks("take-new")
	require.Equal(t, "89,9", c.valueOf("priceCents"))
	require.Equal(t, "7.500", c.valueOf("limits.maxViewers"))
	require.Equal(t, "75", c.valueOf("limits.maxApiKeys"))
	c.saves("Gespeichert")

	want := before
	want.Description, want.PriceCents, want.Limits = "For everyone", 8990, limits
	want.Limits.MaxViewers.Set(7500)
	want.Allowances = nil
	for _, a := range allowances {
		if a.Meter == api.UsageMeterPUSHES {
			a.Included = 2_500_000
		}
		want.Allowances = append(want.Allowances, a)
	}
	got := planOf(t, admin, api.PlanTierPRO)
	want.UpdatedAt = got.UpdatedAt
	require.Equal(t, want, got)

	c.signsOut()
	c.enters("/plans/"+before.ID, support)
	c.sees("Ihre Rolle kann den Tarif lesen, aber nicht ändern.")
	c.shows("Pro", "admin-plan-support")
	require.False(t, browsertest.Value[bool](t, c.tab, `!!document.querySelector("[data-testid=submit], main input, main textarea")`))
	for _, text := range []string{"89,90", "7.500", "1.024", "For everyone", "5 TB, dann: Ohne Kosten erlauben"} {
		c.sees(text)
	}
	c.complains(refusedFirst, "412")
}
