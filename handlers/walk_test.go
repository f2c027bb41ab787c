package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// TestAnotherTenantsIDsDontExist calls every operation that has an id with an id of
// another tenant. The answer must be that for an unknown id, and nothing may change.
func TestAnotherTenantsIDsDontExist(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	victim, attacker := s.Register(t), s.Register(t)

	hook := victim.Webhook(t, "http://127.0.0.1:1/")
	emit(t, s, victim.TenantID, "str_subject")
	deliveries, err := db.New(s.Pool).ListWebhookDeliveries(t.Context(),
		db.ListWebhookDeliveriesParams{TenantID: victim.TenantID, EndpointID: hook.ID, Statuses: []string{"pending"}, BeforeID: "del_z", MaxRows: 1})
	require.NoError(t, err)
	st, member := victim.Stream(t, nil), victim.Colleague(t, tenancy.Viewer)
	var key api.APIKey
	product := victim.Product(t, nil)
	victim.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k"}).Into(t, 201, &key)

	auction, cancelled := victim.Auction(t, nil), victim.Auction(t, nil)
	victim.Seller(t)
	sale := victim.Sale(t, st.ID, product.ID)

	ch, moderated := victim.Channel(t, nil), victim.Channel(t, nil)
	message := say(t, victim, ch.ID, "ben", "Hello")
	session, ended := victim.Session(t, map[string]any{"inviteUserIds": []string{"ben", "cleo"}}), victim.Session(t, nil)
	victim.Join(t, session.ID, "ben", nil) // muting needs a participant in the room
	ben, cleo := session.ID+"/ben", session.ID+"/cleo"
	ringing, declined, answered := victim.Ring(t, nil), victim.Ring(t, nil), victim.Ring(t, nil)
	victim.Call(t, "POST", "/v1/me/calls/"+answered.SessionID+"/answer", map[string]any{"userId": "ben"}).Is(t, 201)

	captureURL := victim.CaptureURL(t)
	captured := captureURL.Token + "/" + s.Send(t, captureURL, "GET", "", nil)

	// An operation with an id that is missing here fails the test below. Discount
	// codes are not ids: another tenant's code is answered like an unknown one.
	ids := map[string]string{
		"listCaptures": captureURL.Token, "replayCapture": captured,
		"deleteCaptureUrl": captureURL.Token, "deleteCaptureUrlByGet": captureURL.Token, "deleteCaptureUrlByPost": captureURL.Token,
		"deleteCaptureUrlByPut": captureURL.Token, "deleteCaptureUrlByPatch": captureURL.Token, "deleteCaptureUrlByOptions": captureURL.Token,
		"deleteCaptureUrlByHead": captureURL.Token,
		"getStream":              st.ID, "updateStream": st.ID, "rotateStreamKey": st.ID, "createPlaybackUrl": st.ID, "dropDiscount": st.ID, "createSfuToken": st.ID,
		"getSession": session.ID, "updateSession": session.ID, "createSessionToken": session.ID, "getSessionSummary": session.ID,
		"endSession":              ended.ID,
		"listSessionParticipants": session.ID, "updateSessionParticipant": ben, "kickSessionParticipant": cleo, "admitSessionParticipant": ben,
		"muteAllParticipants": session.ID, "muteSessionParticipant": session.ID, "setSessionSpotlight": session.ID,
		"promoteSessionParticipant": session.ID, "raiseHand": session.ID, "lowerHand": session.ID, "createBreakouts": session.ID, "closeBreakouts": session.ID,
		"answerCall": ringing.SessionID, "declineCall": declined.SessionID, "endCall": answered.SessionID,
		"getOrder": sale.ID, "updateOrder": sale.ID, "fulfilOrder": sale.ID, "refundOrder": sale.ID,
		"changeTeamMemberRole": member.UserID, "removeTeamMember": member.UserID,
		"revokeApiKey":  key.ID,
		"deleteWebhook": hook.ID, "listWebhookDeliveries": hook.ID, "getWebhook": hook.ID, "updateWebhook": hook.ID,
		"rotateWebhookSecret": hook.ID, "testWebhook": hook.ID, "recoverWebhook": hook.ID,
		"getProduct": product.ID, "archiveProduct": product.ID,
		"getAuction": auction.ID, "placeBid": auction.ID, "cancelAuction": cancelled.ID,
		"sendStreamMessage": st.ID, "sendChannelMessage": ch.ID, "listChannelMessages": ch.ID, "getChannel": ch.ID, "listChannelMembers": ch.ID,
		"editChannelMessage": ch.ID + "/" + message.ID, "deleteChannelMessage": ch.ID + "/" + message.ID,
		"joinChannel": ch.ID, "leaveChannel": ch.ID, "listChannelModeration": ch.ID,
		"timeoutChannelMember": moderated.ID, "banChannelMember": moderated.ID, "muteChannelMember": moderated.ID, "setChannelSlowmode": moderated.ID,
		"retryWebhookDelivery": deliveries[0].WebhookDelivery.ID,
	}
	before := snapshot(t, s, victim.TenantID)
	covered := 0
	unbuilt := unbuiltOperations()
	for _, op := range operations(t) {
		if len(op.pathParams) == 0 || op.id == "checkDiscount" || len(scopesOf(op, "tenantToken", "userToken")) == 0 || unbuilt[strings.ToLower(op.id)] {
			continue
		}
		id, known := ids[op.id]
		require.True(t, known, "%s takes an id: give this test one of another tenant", op.id)
		covered++
		missing := refused(t, attacker.Call(t, op.method, op.at("none_00000000000000000000000000"), sampleBody(op)), op, 404, "not_found")
		foreign := refused(t, attacker.Call(t, op.method, op.at(id), sampleBody(op)), op, 404, "not_found")
		missing.RequestID, foreign.RequestID = "", ""
		require.Equal(t, missing, foreign, op.id)
	}
	require.Equal(t, len(ids), covered)
	require.Equal(t, before, snapshot(t, s, victim.TenantID), "the calls left no trace")
	for _, op := range operations(t) { // the ids are valid: their own tenant can use them everywhere
		if id, ok := ids[op.id]; ok && !strings.HasPrefix(op.id, "delete") && op.id != "removeTeamMember" && op.id != "replayCapture" {
			r := victim.Call(t, op.method, op.at(id), sampleBody(op))
			require.Less(t, r.Status, 300, "%s: %s", op.id, r.Body)
		}
	}
	for _, list := range []string{"/v1/me/streams", "/v1/me/api-keys", "/v1/me/webhooks", "/v1/me/catalog/products", "/v1/me/commerce/orders", "/v1/me/sessions"} {
		require.JSONEq(t, "[]", string(attacker.Call(t, "GET", list, nil).Is(t, 200).Body), list)
	}
	// A cursor is only a position in the order, even if it comes from another tenant.
	require.JSONEq(t, "[]", string(attacker.Call(t, "GET", "/v1/me/streams?cursor="+st.ID, nil).Is(t, 200).Body))
}

// refused returns the problem in the answer. The answer to a HEAD has no body:
// there only the status is checked.
func refused(t *testing.T, r apitest.Response, op operation, status int, code string) api.Problem {
	t.Helper()
	if op.method != http.MethodHead {
		return r.Problem(t, status, code)
	}
	require.Empty(t, r.Is(t, status).Body)
	return api.Problem{Status: status, Code: code, Message: "none"}
}

// snapshot returns all rows of a tenant, by table.
func snapshot(t *testing.T, s *apitest.Server, tenantID string) map[string][]map[string]any {
	t.Helper()
	rows, err := s.Pool.Query(t.Context(), `SELECT table_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND column_name = 'tenant_id' ORDER BY table_name`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 30)
	all := map[string][]map[string]any{}
	for _, table := range tables {
		var list []map[string]any
		require.NoError(t, s.Pool.QueryRow(t.Context(),
			"SELECT coalesce(json_agg(r ORDER BY r::text), '[]') FROM "+table+" r WHERE r.tenant_id = $1", tenantID).Scan(&list), table)
		all[table] = list
	}
	return all
}

// TestEveryOperationRefusesACallWithoutAToken calls every operation that names a bearer scheme
// without a token. It must be refused before any other check of the request.
func TestEveryOperationRefusesACallWithoutAToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{IngestSecret: "the ingest secret"})
	covered := 0
	for _, op := range operations(t) {
		if len(*op.spec.Security) == 0 {
			continue
		}
		covered++
		for _, body := range []any{nil, sampleBody(op), "{"} {
			p := refused(t, s.With(t, "").Call(t, op.method, op.at("x"), body), op, 401, "unauthenticated")
			require.NotEmpty(t, p.Message, op.id)
		}
		refused(t, s.With(t, "sk_live_wrong").Call(t, op.method, op.at("x"), sampleBody(op)), op, 401, "unauthenticated")
	}
	require.NotZero(t, covered)
}

// TestScopesAreEnforced calls every operation with a key that has all scopes
// but those of the operation, and as a VIEWER.
func TestScopesAreEnforced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // as many keys as there are scopes
	viewer := owner.Colleague(t, tenancy.Viewer)
	keys := map[tenancy.Scope]*apitest.Caller{}
	for _, missing := range tenancy.Owner.Scopes() { // a scope that no key can have is missing from each
		rest := slices.DeleteFunc(tenancy.Developer.Scopes(), func(s tenancy.Scope) bool { return s == missing })
		keys[missing] = owner.Key(t, rest...)
	}
	before := snapshot(t, s, owner.TenantID)
	for _, op := range operations(t) {
		for _, scope := range scopesOf(op, "tenantToken", "userToken") {
			status, code := http.StatusForbidden, "forbidden"
			if _, users := (*op.spec.Security)[0]["userToken"]; users {
				status, code = http.StatusUnauthorized, "unauthenticated" // the operation accepts no keys
			}
			p := refused(t, keys[scope].Call(t, op.method, op.at("x"), sampleBody(op)), op, status, code)
			if status == http.StatusForbidden && op.method != http.MethodHead {
				require.Contains(t, p.Message, string(scope), op.id)
			}
			r := viewer.Call(t, op.method, op.at("x"), sampleBody(op))
			if slices.Contains(tenancy.Viewer.Scopes(), scope) {
				require.NotEqual(t, http.StatusForbidden, r.Status, "%s: %s", op.id, r.Body)
			} else {
				refused(t, r, op, http.StatusForbidden, "forbidden")
			}
		}
	}
	after := snapshot(t, s, owner.TenantID)
	require.Equal(t, lastUsedCleared(before), lastUsedCleared(after), "nothing was changed")
}

// lastUsedCleared removes the fields that using a key changes.
func lastUsedCleared(tables map[string][]map[string]any) map[string][]map[string]any {
	for _, row := range tables["api_keys"] {
		delete(row, "last_used_at")
	}
	return tables
}
