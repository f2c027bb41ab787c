package handlers_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

const discountsPath = "/v1/me/commerce/discounts"

// eventsOf returns the names and data of the tenant's events about a subject.
func eventsOf(t *testing.T, s *apitest.Server, tenantID, subject string) (names []string, data []map[string]any) {
	t.Helper()
	rows, err := db.New(s.Pool).ListEvents(t.Context(), tenantID)
	require.NoError(t, err)
	for _, e := range rows {
		if e.Subject != subject {
			continue
		}
		var body struct{ Data map[string]any }
		require.NoError(t, json.Unmarshal(e.Payload, &body))
		names, data = append(names, e.Event), append(data, body.Data)
	}
	return names, data
}

func TestCreateDiscount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st, now := owner.Stream(t, nil), s.Clock.Now()
	var d api.Discount
	created := owner.Call(t, "POST", discountsPath, map[string]any{
		"code": "Launch_20-x", "percentOff": 20, "startsAt": now, "endsAt": now.Add(time.Hour), "maxRedemptions": 100, "maxPerCustomer": 1,
		"streamId": st.ID, "active": false,
	})
	created.Into(t, 201, &d)
	require.Equal(t, "Launch_20-x", d.Code)
	require.Equal(t, 20, d.PercentOff.MustGet())
	require.True(t, d.AmountOffCents.IsNull())
	require.Equal(t, now.Add(time.Hour), d.EndsAt.MustGet().UTC())
	require.Equal(t, st.ID, *d.StreamID)
	require.False(t, d.Active)

	names, data := eventsOf(t, s, owner.TenantID, d.ID)
	require.Equal(t, []string{"discount.created"}, names)
	sent, err := json.Marshal(data[0])
	require.NoError(t, err)
	require.JSONEq(t, string(created.Body), string(sent), "the event holds the code as it was made")
	var audited int
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM audit_entries WHERE action = 'discount.create' AND entity_id = $1 AND actor_id = $2 AND after ->> 'code' = 'Launch_20-x'",
		d.ID, owner.UserID).Scan(&audited))
	require.Equal(t, 1, audited)

	least := owner.Call(t, "POST", discountsPath, map[string]any{"code": "abc", "amountOffCents": 99999999, "percentOff": nil, "streamId": nil}).Is(t, 201)
	require.NotContains(t, string(least.Body), "streamId")
	d = api.Discount{}
	least.Into(t, 201, &d)
	require.True(t, d.Active)
	require.True(t, d.StartsAt.IsNull() && d.EndsAt.IsNull() && d.MaxRedemptions.IsNull() && d.MaxPerCustomer.IsNull() && d.PercentOff.IsNull())
	require.EqualValues(t, 99999999, d.AmountOffCents.MustGet())
	require.Empty(t, s.Published(), "only what is dropped is shown")

	var list api.DiscountList
	owner.Call(t, "GET", discountsPath, nil).Into(t, 200, &list)
	require.Len(t, list, 2)
	require.Equal(t, d, list[0], "newest first")
	s.Register(t).Call(t, "GET", discountsPath, nil).Into(t, 200, &list)
	require.Empty(t, list)
	p := owner.Call(t, "GET", discountsPath+"?cursor="+st.ID, nil).Problem(t, 400, "invalid_input")
	require.Equal(t, []string{"cursor"}, fieldsOf(p))
}

func TestCreateDiscountRefuses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	now := s.Clock.Now()
	owner.Discount(t, map[string]any{"code": "Launch20"})
	for _, code := range []string{"Launch20", "LAUNCH20", "launch20"} {
		p := owner.Call(t, "POST", discountsPath, map[string]any{"code": code, "percentOff": 5}).Problem(t, 409, "conflict")
		require.Contains(t, p.Message, code)
		owner.Call(t, "POST", discountsPath+"/drop/"+owner.Stream(t, nil).ID, map[string]any{"code": code, "percentOff": 5, "durationSec": 9}).
			Problem(t, 409, "conflict")
	}
	other.Discount(t, map[string]any{"code": "LAUNCH20"})

	for field, bodies := range map[string][]map[string]any{
		"percentOff":     {{}, {"percentOff": nil, "amountOffCents": nil}, {"percentOff": 0}, {"percentOff": 101}, {"percentOff": 1.5}, {"percentOff": "20"}},
		"amountOffCents": {{"percentOff": 1, "amountOffCents": 1}, {"amountOffCents": 0}, {"amountOffCents": 100000000}, {"amountOffCents": 0.5}},
		"endsAt": {
			{"percentOff": 1, "startsAt": now, "endsAt": now}, {"percentOff": 1, "startsAt": now, "endsAt": now.Add(-time.Hour)},
			{"percentOff": 1, "startsAt": now, "endsAt": now.Add(999 * time.Microsecond)}, {"percentOff": 1, "endsAt": "tomorrow"},
		},
		"code":           {{"percentOff": 1, "code": "ab"}, {"percentOff": 1, "code": strings.Repeat("x", 41)}, {"percentOff": 1, "code": "A B C"}, {"percentOff": 1, "code": "ÄÖÜ"}, {"percentOff": 1, "code": "ABC\n"}},
		"maxRedemptions": {{"percentOff": 1, "maxRedemptions": 0}, {"percentOff": 1, "maxRedemptions": 1000000001}},
		"maxPerCustomer": {{"percentOff": 1, "maxPerCustomer": 0}, {"percentOff": 1, "maxPerCustomer": 1000001}},
	} {
		for _, fields := range bodies {
			body := map[string]any{"code": "ANOTHER"}
			maps.Copy(body, fields)
			p := owner.Call(t, "POST", discountsPath, body).Problem(t, 400, "invalid_input")
			require.Equal(t, []string{field}, fieldsOf(p), "%v", body)
		}
	}
	for _, streamID := range []string{other.Stream(t, nil).ID, "str_none", ""} {
		p := owner.Call(t, "POST", discountsPath, map[string]any{"code": "ANOTHER", "percentOff": 1, "streamId": streamID}).Problem(t, 404, "not_found")
		require.Equal(t, "stream not found", p.Message)
	}
	var list api.DiscountList
	owner.Call(t, "GET", discountsPath, nil).Into(t, 200, &list)
	require.Len(t, list, 1, "nothing was made on the way")
}

func TestDropDiscount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st, now := owner.Stream(t, nil), s.Clock.Now()
	var d api.Discount
	owner.Call(t, "POST", discountsPath+"/drop/"+st.ID, map[string]any{"code": "FLASH", "percentOff": 25, "durationSec": 120, "maxRedemptions": 50}).Into(t, 201, &d)
	require.Equal(t, []any{"FLASH", 25, now, now.Add(2 * time.Minute), 50, st.ID, true}, []any{
		d.Code, d.PercentOff.MustGet(), d.StartsAt.MustGet().UTC(), d.EndsAt.MustGet().UTC(), d.MaxRedemptions.MustGet(), *d.StreamID, d.Active,
	})
	names, data := eventsOf(t, s, owner.TenantID, d.ID)
	require.Equal(t, []string{"discount.dropped"}, names, "and no discount.created")
	ends := timestamp.Format(now.Add(2 * time.Minute))
	require.Equal(t, map[string]any{
		"id": d.ID, "code": "FLASH", "percentOff": 25.0, "streamId": st.ID, "startsAt": timestamp.Format(now), "endsAt": ends,
		"durationSec": 120.0, "maxRedemptions": 50.0,
	}, data[0])
	require.Equal(t, []apitest.Publication{
		{Room: st.ID, Type: "discount-drop", Data: map[string]any{"code": "FLASH", "percentOff": 25.0, "endsAt": ends}},
	}, s.Published())
	var audited int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_entries WHERE action = 'discount.drop' AND entity_id = $1", d.ID).Scan(&audited))
	require.Equal(t, 1, audited)

	valid := func(query string) bool { return checkCode(t, owner, "flash"+query).Valid }
	require.True(t, valid("?streamId="+st.ID))
	require.False(t, valid("?streamId="+owner.Stream(t, nil).ID))
	s.Clock.Advance(2*time.Minute - time.Millisecond)
	require.True(t, valid(""))
	s.Clock.Advance(time.Millisecond)
	require.False(t, valid(""))
	owner.Call(t, "POST", discountsPath+"/drop/"+st.ID, map[string]any{"code": "flash", "percentOff": 25, "durationSec": 120}).
		Problem(t, 409, "conflict") // even though the stream has ended
	for field, value := range map[string]any{"code": "?", "percentOff": 0, "durationSec": 86401, "maxRedemptions": 0} {
		body := map[string]any{"code": "FLASH2", "percentOff": 25, "durationSec": 120, field: value}
		p := owner.Call(t, "POST", discountsPath+"/drop/"+st.ID, body).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p))
	}
	p := s.Register(t).Call(t, "POST", discountsPath+"/drop/"+st.ID, map[string]any{"code": "FLASH2", "percentOff": 25, "durationSec": 120}).
		Problem(t, 404, "not_found")
	require.Equal(t, "stream not found", p.Message)
	require.Len(t, s.Published(), 1, "refused codes aren't listed")
}

// checkCode checks a code, which a query may follow.
func checkCode(t *testing.T, c *apitest.Caller, code string) api.DiscountCheck {
	t.Helper()
	var check api.DiscountCheck
	c.Call(t, "GET", discountsPath+"/check/"+code, nil).Into(t, 200, &check)
	require.Equal(t, check.Valid, check.Reason == nil)
	return check
}

func TestCheckDiscount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	st, elsewhere, now := owner.Stream(t, nil), owner.Stream(t, nil), s.Clock.Now()
	foreign := other.Stream(t, nil)
	owner.Discount(t, map[string]any{"code": "Open", "endsAt": now.Add(time.Hour)})
	owner.Discount(t, map[string]any{"code": "AMOUNT", "percentOff": nil, "amountOffCents": 500})
	owner.Discount(t, map[string]any{"code": "OFF", "active": false})
	owner.Discount(t, map[string]any{"code": "LATER", "startsAt": now.Add(time.Millisecond)})
	owner.Discount(t, map[string]any{"code": "OVER", "endsAt": now})
	owner.Discount(t, map[string]any{"code": "HERE", "streamId": st.ID})
	full := owner.Discount(t, map[string]any{"code": "FULL", "maxRedemptions": 3})
	once := owner.Discount(t, map[string]any{"code": "ONCE", "maxPerCustomer": 1})
	_, err := s.Pool.Exec(t.Context(), "UPDATE discounts SET redemptions = 1, held = 2 WHERE id = $1", full.ID)
	require.NoError(t, err)
	insertOrder(t, s, owner.TenantID, st.ID, map[string]any{"customer_external_id": "ada", "discount_id": once.ID})
	insertOrder(t, s, owner.TenantID, st.ID, map[string]any{"customer_external_id": "bo", "discount_id": once.ID, "status": "EXPIRED"})
	for code, want := range map[string]api.DiscountRefusal{
		"open": "", "OPEN?streamId=" + st.ID: "", "AMOUNT": "", "amount?customerExternalId=ada": "",
		"OFF": "inactive", "LATER": "not_started", "OVER": "expired",
		"HERE": "", "HERE?streamId=" + st.ID: "", "HERE?streamId=" + elsewhere.ID: "other_stream",
		"HERE?streamId=" + foreign.ID: "other_stream", "OPEN?streamId=" + foreign.ID: "other_stream", "OPEN?streamId=str_none": "other_stream",
		"FULL": "used_up", "ONCE": "", "ONCE?customerExternalId=ada": "used_up_by_customer", "ONCE?customerExternalId=bo": "",
		"ONCE?customerExternalId=&streamId=": "",
		"NEVER":                              "unknown", "none": "unknown", "x": "unknown", "nope?streamId=" + foreign.ID: "unknown",
	} {
		check := checkCode(t, owner, code)
		require.Equal(t, want == "", check.Valid, code)
		if want != "" {
			require.Equal(t, want, *check.Reason, code)
		}
	}
	check := checkCode(t, owner, "oPEN")
	require.Equal(t, "Open", check.Code, "as it was made")
	require.Equal(t, 20, check.PercentOff.MustGet())
	require.True(t, check.StreamID.IsNull(), "valid everywhere")
	require.Equal(t, st.ID, checkCode(t, owner, "HERE").StreamID.MustGet())
	require.Equal(t, now.Add(time.Hour), check.EndsAt.MustGet().UTC())
	require.EqualValues(t, 500, checkCode(t, owner, "AMOUNT").AmountOffCents.MustGet())
	theirs := checkCode(t, other, "Open")
	require.Equal(t, api.DiscountRefusal("unknown"), *theirs.Reason, "another tenant's")
	require.True(t, theirs.PercentOff.IsNull() && theirs.EndsAt.IsNull() && theirs.StreamID.IsNull())
	for _, query := range []string{"streamId=" + strings.Repeat("x", 65), "customerExternalId=" + strings.Repeat("x", 129)} {
		owner.Call(t, "GET", discountsPath+"/check/OPEN?"+query, nil).Problem(t, 400, "invalid_input")
	}
}

func TestAnyTextCanBeCheckedForACode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Discount(t, map[string]any{"code": "A_B"})
	for _, code := range []string{
		"%", "a%b", "A?B", "a/b", "../A_B", "A B", "A+B", "' OR 1=1 --", `"`, "ÄÖÜ", "😀", "A_B\n", "<b>", strings.Repeat("x", 4000), "none", "A-B",
	} {
		check := checkCode(t, owner, url.PathEscape(code))
		require.Equal(t, api.DiscountRefusal("unknown"), *check.Reason, "%q", code)
		require.Equal(t, code, check.Code, "as it was asked for")
	}
	require.True(t, checkCode(t, owner, "%41%5Fb").Valid)
	for _, noText := range []string{"A_B%ff", "A_B%00"} {
		check := checkCode(t, owner, noText)
		require.Equal(t, []any{"-", api.DiscountRefusal("unknown")}, []any{check.Code, *check.Reason})
	}
	require.True(t, checkCode(t, owner.Key(t, tenancy.CommerceRead), "a_b").Valid)
}

// insertOrder inserts a paid order directly into the database. columns replace or
// add to the required ones.
func insertOrder(t *testing.T, s *apitest.Server, tenantID, streamID string, columns map[string]any) {
	t.Helper()
	row := map[string]any{
		"id": id.New(id.Order), "tenant_id": tenantID, "stream_id": streamID, "status": "PAID",
		"customer_external_id": "ada", "currency": "USD",
		"subtotal_cents": 1000, "discount_cents": 0, "total_cents": 1000, "application_fee_cents": 0, "refunded_cents": 0,
		"success_url": "https://shop.example/", "cancel_url": "https://shop.example/",
		"expires_at": s.Clock.Now(), "paid_at": s.Clock.Now(), "created_at": s.Clock.Now(), "updated_at": s.Clock.Now(),
	}
	maps.Copy(row, columns)
	names := slices.Sorted(maps.Keys(row))
	raw, err := json.Marshal(row)
	require.NoError(t, err)
	list := strings.Join(names, ", ")
	_, err = s.Pool.Exec(t.Context(), "INSERT INTO orders ("+list+") SELECT "+list+" FROM json_populate_record(NULL::orders, $1)", raw)
	require.NoError(t, err)
}
