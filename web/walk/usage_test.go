package walk_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

const usagePath = "/v1/me/billing/usage/history"

// uses records usage of a resource.
func uses(t *testing.T, s *apitest.Server, tenantID, resourceID string, m usage.Meter, at time.Time, amount int64) {
	t.Helper()
	_, err := s.Usage.Record(t.Context(), []usage.Interval{{
		Owner: usage.Owner{TenantID: tenantID}, Source: "test", ResourceID: resourceID, Meter: m,
		From: at, To: at.Add(10 * time.Second), Amount: amount,
	}})
	require.NoError(t, err)
}

// exactData is the CSV file of the usage.
func exactData(t *testing.T, owner *apitest.Caller, serverURL, query string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, serverURL+usagePath+query, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/csv")

	return string(owner.Do(t, r).Is(t, http.StatusOK).Body)
}

func TestOwnerReadsTheUsage(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)

	c.signsIn(owner, "/billing")
	c.clicks("Usage history")
	c.sees("There is no usage in this period")
	c.looks("usage-empty")

	stream, room := owner.Stream(t, map[string]any{"name": "Morning show"}), owner.Session(t, nil)
	hour := c.s.Clock.Now().UTC().Truncate(time.Hour)
	for day := range 5 {
		at := hour.AddDate(0, 0, -day)
		uses(t, c.s, owner.TenantID, stream.ID, usage.ViewerMinutes, at, int64(600*(day+1)))
		uses(t, c.s, owner.TenantID, stream.ID, usage.EgressBytes, at, int64(3_500_000_000*(day+1)))
		uses(t, c.s, owner.TenantID, room.ID, usage.ParticipantMinutes, at, 1800)
	}
	c.opens("/console/billing/usage?range=7")
	browsertest.WaitFor(t, c.tab, `document.querySelectorAll(".uplot").length === 3`)
	c.sees("52.5 GB")
	c.sees("Totals of the period")
	c.looks("usage")
	c.chooses("Meter", "Minutes watched")
	browsertest.WaitFor(t, c.tab, `document.querySelectorAll(".uplot").length === 1`)
	c.chooses("Rows", "By hour")
	browsertest.WaitFor(t, c.tab, `location.search.includes("meter=VIEWER_MINUTES") && location.search.includes("by=hour")`)
	c.sees("Hour")
	browsertest.WaitFor(t, c.tab, `document.querySelectorAll(".mantine-datatable tbody tr").length === 5`)
	c.looks("usage-hours")

	c.opens("/console/billing/usage?range=90&by=hour")
	c.sees("Hours are shown for 31 days at most")
	from, last := hour.AddDate(0, 0, -10).Format(time.DateOnly), hour.Format(time.DateOnly)
	c.opens("/console/billing/usage?range=own&by=stream&from=" + from + "&to=" + last)
	c.sees("Morning show")
	c.sees("Weekly planning")
	c.looks("usage-streams")
	to := hour.AddDate(0, 0, 1).Format(time.DateOnly)
	c.savesFile("Download exact data (CSV)", exactData(t, owner, c.s.URL, "?by=stream&from="+from+"T00:00:00Z&to="+to+"T00:00:00Z"))
	c.opens("/console/billing/usage?range=own&from=2026-02-01&to=2026-01-01")
	c.sees("Choose a first and a last day.")
	c.complains(refusedFirst)
}

func TestOwnerReadsTheFunnel(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})
	mug, cup := owner.Product(t, map[string]any{"name": "Mug <b>"}), owner.Product(t, map[string]any{"name": "Cup"})

	c.signsIn(owner, "/streams/"+stream.ID)
	c.sees("No product was opened or sold in this stream yet")
	c.looks("funnel-empty")
	show, bo := "/v1/me/shows/"+stream.ID, owner.Viewer(t, stream.ID, "bo", nil)
	for range 8 {
		bo.Call(t, "POST", show+"/clicks", map[string]any{"productId": mug.ID}).Is(t, http.StatusCreated)
	}
	bo.Call(t, "POST", show+"/clicks", map[string]any{"productId": cup.ID}).Is(t, http.StatusCreated)
	bo.Call(t, "PUT", show+"/cart", map[string]any{"items": []map[string]any{{"productId": mug.ID, "quantity": 1}}}).Is(t, http.StatusOK)
	owner.Checkout(t, stream.ID, mug.ID)
	owner.Sale(t, stream.ID, mug.ID)
	funnel := get[api.StreamFunnel](t, owner, "/v1/me/streams/"+stream.ID+"/funnel")
	require.EqualValues(t, 1, funnel.Orders)
	c.comesBack()
	c.sees("11.1% of the opened products")
	c.sees("50% of the placed orders")
	c.sees("Mug <b>")
	c.looks("funnel")
	c.photographs("funnel-part", "Sales funnel")
	c.complains(refusedFirst)
}
