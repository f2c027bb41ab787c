package handlers_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/setting"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const feePath = "/v1/admin/settings/" + setting.PlatformFeePct

func fee(t *testing.T, s *apitest.Server) setting.Rate {
	t.Helper()
	rate, err := s.Settings.PlatformFee(t.Context())
	require.NoError(t, err)
	return rate
}

func TestThePlatformFeeIsSetByAdmins(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), PlatformFee: 250})
	root := s.Admin(t, platform.SuperAdmin)
	var list api.PlatformSettings
	root.Call(t, "GET", "/v1/admin/settings", nil).Into(t, 200, &list)
	keys := make([]string, len(list.Items))
	for i, item := range list.Items {
		keys[i] = item.Key
	}
	require.Equal(t, []string{
		"commerce.platformFeePct", "security.adminNetworks", "signup.open", "support.mailTo", "support.ticketMails",
	}, keys)
	before := list.Items[0]
	require.Equal(t, []any{"commerce.platformFeePct", 2.5, 2.5}, []any{before.Key, before.Value, before.DefaultValue})
	require.True(t, before.UpdatedAt.IsNull() && before.UpdatedBy.IsNull())
	require.EqualValues(t, 250, fee(t, s))

	var after api.PlatformSetting
	r := root.Call(t, "PUT", feePath, map[string]any{"value": 7.25, "reason": "A better year"})
	r.Into(t, 200, &after)
	require.Equal(t, []any{7.25, 2.5, root.UserID}, []any{after.Value, after.DefaultValue, after.UpdatedBy.MustGet()})
	require.Equal(t, s.Clock.Now(), after.UpdatedAt.MustGet().UTC())
	require.EqualValues(t, 725, fee(t, s), "at once")
	root.Call(t, "GET", "/v1/admin/settings", nil).Into(t, 200, &list)
	require.Equal(t, after, list.Items[0])
	var entries api.AuditPage
	root.Call(t, "GET", "/v1/admin/audit?action=setting.update", nil).Into(t, 200, &entries)
	require.Len(t, entries.Items, 1)
	e := entries.Items[0]
	require.Equal(t, []any{root.UserID, "setting", "commerce.platformFeePct", "A better year", r.Header.Get("X-Request-Id")},
		[]any{e.ActorID, e.Entity, e.EntityID, e.Reason.MustGet(), e.RequestID.MustGet()})
	require.EqualValues(t, map[string]any{"value": 2.5}, e.Before.MustGet())
	require.EqualValues(t, map[string]any{"value": 7.25}, e.After.MustGet())

	s.Clock.Advance(time.Minute)
	var again api.PlatformSetting
	root.Call(t, "PUT", feePath, `{"value": 7.250}`).Into(t, 200, &again)
	require.Equal(t, after, again, "the same value changes nothing")

	root.Call(t, "PUT", feePath, map[string]any{"value": 2.5}).Into(t, 200, &again)
	require.Equal(t, before, again, "back to the default")
	require.EqualValues(t, 250, fee(t, s))
	root.Call(t, "GET", "/v1/admin/audit?action=setting.update", nil).Into(t, 200, &entries)
	require.Len(t, entries.Items, 2)
	for value, want := range map[float64]setting.Rate{0: 0, 100: 10000, 0.01: 1, 99.99: 9999, 10: 1000, 0.07: 7, 0.29: 29, 1.15: 115} {
		root.Call(t, "PUT", feePath, map[string]any{"value": value}).Is(t, 200)
		require.Equal(t, want, fee(t, s))
	}
}

func TestSettingsRefuseInvalidValues(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.SuperAdmin)
	for _, value := range []any{-1, 100.01, 1000, 1.234, 1e300, "2.5", true, []any{1}, map[string]any{}, ""} {
		p := root.Call(t, "PUT", feePath, map[string]any{"value": value}).Problem(t, 400, "invalid_input")
		require.Equal(t, []api.FieldProblem{{Field: "value", Message: "must be a number from 0 to 100 with at most two decimals"}}, p.Errors, "%v", value)
	}
	for _, body := range []any{`{"value": null}`, "{}", `{"value": 1, "reason": 2}`} {
		root.Call(t, "PUT", feePath, body).Problem(t, 400, "invalid_input")
	}
	for _, key := range []string{"commerce.platformFee", "calls.ringTimeoutSec", "a"} {
		p := root.Call(t, "PUT", "/v1/admin/settings/"+key, map[string]any{"value": 1}).Problem(t, 404, "not_found")
		require.Equal(t, "setting not found", p.Message)
	}
	s.Admin(t, platform.Billing).Call(t, "PUT", feePath, map[string]any{"value": 1}).Problem(t, 403, "forbidden")
	s.Admin(t, platform.Support).Call(t, "GET", "/v1/admin/settings", nil).Is(t, 200)
	require.Zero(t, fee(t, s))
}

func TestAllServersSeeANewSetting(t *testing.T) {
	t.Parallel()
	one := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	two := apitest.New(t, apitest.Options{Pool: one.Pool})
	require.Zero(t, fee(t, two))
	one.Admin(t, platform.SuperAdmin).Call(t, "PUT", feePath, map[string]any{"value": 5}).Is(t, 200)
	require.EqualValues(t, 500, fee(t, one))
	two.Clock.Advance(5 * time.Second)
	require.EqualValues(t, 500, fee(t, two))
}

// TestSettingsAreChangedOneAfterTheOther changes a setting concurrently. Each
// audit entry begins with the value at which the one before ended, and the last
// value is the current one.
func TestSettingsAreChangedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.SuperAdmin)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			root.Call(t, "PUT", feePath, map[string]any{"value": i + 1}).Is(t, 200)
			_, err := s.Settings.PlatformFee(t.Context())
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	rows, err := s.Pool.Query(t.Context(), "SELECT (before ->> 'value')::int, (after ->> 'value')::int FROM audit_entries WHERE action = 'setting.update'")
	require.NoError(t, err)
	next := map[int]int{}
	for rows.Next() {
		var before, after int
		require.NoError(t, rows.Scan(&before, &after))
		next[before] = after
	}
	require.NoError(t, rows.Err())
	require.Len(t, next, 20)
	value := 0
	for range 20 {
		value = next[value]
	}
	require.EqualValues(t, value*100, fee(t, s))
}
