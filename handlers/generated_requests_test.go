package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

const (
	// generatedRequests is the number of requests for each operation.
	generatedRequests = 20
	// generatedTime is the time after which a request counts as hanging.
	generatedTime = 30 * time.Second
)

// TestGeneratedRequests sends each operation valid requests, requests at the limits of its schemas, and invalid ones, with ids
// that exist. No request may cause a server error, and each answer must be as the document says (the server of apitest checks
// that). SHOWFLOOR_SEED repeats a run.
func TestGeneratedRequests(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv("SHOWFLOOR_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("repeat these requests with SHOWFLOOR_SEED=%d", seed)
	w := newWorld(t, seed)
	var uses, ends []operation
	for _, op := range operations(t) {
		if ending.MatchString(op.id) {
			ends = append(ends, op)
		} else {
			uses = append(uses, op)
		}
	}
	t.Run("uses", func(t *testing.T) { w.call(t, uses) }) //nolint:paralleltest // the ends must be later
	t.Run("ends", func(t *testing.T) { w.call(t, ends) }) //nolint:paralleltest // the uses must be earlier
	w.owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)      // else most requests were refused for their token
	built := len(operations(t)) - len(w.unbuilt)
	t.Logf("%d of %d operations accepted a request", len(w.accepted), built)
	if testing.Verbose() {
		for _, op := range operations(t) {
			if w.accepted[op.id] == 0 {
				t.Log("none by", op.id)
			}
		}
	}
	require.Greater(t, len(w.accepted), built*4/5, "requests must be good enough for most operations to accept one")
}

// ending matches operations after which an id or a token can't be used any more. They come last.
var ending = regexp.MustCompile(`^(delete|end|remove|revoke|archive|cancel|close|kick|leave|decline|changePassword)`)

// world is a server with callers of each kind, and an id of each kind.
type world struct {
	seed    uint64
	server  *apitest.Server
	owner   *apitest.Caller
	callers map[string]*apitest.Caller // by security scheme
	host    *apitest.Caller            // the participant who calls the operations of shows
	ids     map[string]string          // by operationId
	live    map[string]string          // by property
	unbuilt map[string]bool

	mu       sync.Mutex
	accepted map[string]int // by operationId
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	owner.SetPlan(t, "ENTERPRISE")
	ids := existingIDs(t, s, owner)
	user := other.Colleague(t, tenancy.Viewer)
	for _, id := range []string{"getTenantDetail", "changeTenantPlan", "suspendTenant", "unsuspendTenant"} {
		ids[id] = other.TenantID
	}
	for _, id := range []string{"deleteUser", "activateUser", "deactivateUser", "resetUserPassword"} {
		ids[id] = user.UserID
	}
	ids["listStreamMessages"] = ids["getStream"]
	adminIDs(t, s, ids, owner, other)
	for _, method := range []string{"Get", "Put", "Post", "Delete", "Options", "Head", "Patch"} {
		ids["capture"+method] = ids["listCaptures"]
	}
	// A show with its host, and a public replay.
	show := tape(t, s, owner)
	auction := owner.Auction(t, map[string]any{"streamId": show.st.ID, "durationSec": 3600})
	for _, op := range operations(t) {
		switch {
		case strings.HasPrefix(op.path, "/v1/replays/"), strings.HasPrefix(op.path, "/v1/me/replays/"):
			ids[op.id] = show.rec.ID
		case strings.HasPrefix(op.path, "/v1/shows/"), strings.HasPrefix(op.path, "/v1/me/shows/"):
			ids[op.id] = show.st.ID + "/" + auction.ID
		}
	}
	return &world{
		seed: seed, host: owner.Viewer(t, show.st.ID, "ada", map[string]any{"role": "host", "displayName": "Ada"}).Caller, server: s, owner: owner, ids: ids, unbuilt: unbuiltOperations(), accepted: map[string]int{},
		callers: map[string]*apitest.Caller{
			"tenantToken": owner, "userToken": owner.Colleague(t, tenancy.Developer), "adminToken": s.Admin(t, platform.SuperAdmin),
			"participantToken": owner.Ticket(t, ids["getSession"], "ada", nil).Caller,
		},
		live: map[string]string{
			"streamId": ids["getStream"], "productId": ids["getProduct"], "userId": "ben", "hostId": "ada", "toUserId": "ben", "fromUserId": "ada",
			"customerExternalId": "user-4711", "bidderExternalId": "user-4711", "authorId": "ben", "userEmail": user.Email, "tenantId": other.TenantID,
		},
	}
}

// adminIDs adds the ids with which admins call operations on the owner's resources, on another tenant and on an app.
func adminIDs(t *testing.T, s *apitest.Server, ids map[string]string, owner, other *apitest.Caller) {
	t.Helper()
	root := s.Admin(t, platform.SuperAdmin)
	var app api.FirstPartyAppCreation
	root.Call(t, "POST", "/v1/admin/first-party-apps", map[string]any{"name": "Studio " + owner.TenantID}).Into(t, 201, &app)
	var draft api.Announcement
	root.Call(t, "POST", "/v1/admin/announcements", map[string]any{"title": "t", "body": "b"}).Into(t, 201, &draft)
	var keys api.AdminStreamKeyPage
	root.Call(t, "GET", "/v1/admin/stream-keys?tenantId="+owner.TenantID, nil).Into(t, 200, &keys)
	for id, operations := range map[string][]string{
		other.TenantID:                   {"impersonateTenant", "getAdminComplianceRecord", "putAdminComplianceRecord"},
		ids["getTicket"]:                 {"getAdminTicket", "updateAdminTicket", "replyToTicket", "createAdminTicketAttachment"},
		ids["getTicketAttachment"]:       {"getAdminTicketAttachment"},
		ids["dismissAnnouncement"]:       {"getAnnouncement", "deleteAnnouncement"},
		draft.ID:                         {"updateAnnouncement", "publishAnnouncement"},
		ids["getStream"]:                 {"getAdminStream", "getAdminStreamInspection"},
		ids["startRecording"]:            {"forceStopStream"},
		keys.Items[0].ID:                 {"revokeStreamKey"},
		ids["getWebhook"]:                {"listAdminWebhookDeliveries"},
		ids["retryWebhookDelivery"]:      {"retryAdminWebhookDelivery"},
		"support.ticketMails":            {"getAdminSetting", "updateAdminSetting"},
		"retention.auditDays":            {"getAdminSystemSetting", "updateAdminSystemSetting"},
		app.App.ID:                       {"getFirstPartyApp", "createFirstPartyAppKey", "impersonateFirstPartyApp"},
		app.App.ID + "/" + app.APIKey.ID: {"revokeFirstPartyAppKey"},
	} {
		for _, operation := range operations {
			ids[operation] = id
		}
	}
}

// call sends the requests for each operation, operations in parallel.
func (w *world) call(t *testing.T, list []operation) {
	t.Helper()
	for _, op := range list {
		t.Run(op.id, func(t *testing.T) {
			t.Parallel()
			for n := range generatedRequests {
				w.send(t, op, w.request(t, w.generator(op, n), op, n))
			}
		})
	}
}

// generator returns the generator of an operation's n-th request.
func (w *world) generator(op operation, n int) generator {
	hash := fnv.New64a()
	fmt.Fprint(hash, op.id, n)
	return generator{Rand: rand.New(rand.NewPCG(w.seed, hash.Sum64())), live: w.live, edge: n%3 == 1} //nolint:gosec // requests of a test
}

// draft is a request before it is sent.
type draft struct {
	path   string
	query  url.Values
	header http.Header
	body   []byte
	caller *apitest.Caller
}

// request makes the n-th request: the document's sample first, then by turns one at the limits, an invalid and a valid one.
func (w *world) request(t *testing.T, g generator, op operation, n int) draft {
	t.Helper()
	d := draft{path: op.path, query: url.Values{}, header: http.Header{}, caller: w.server.With(t, "")}
	var schemes []string
	for _, alternative := range *op.spec.Security {
		schemes = append(schemes, slices.Sorted(maps.Keys(alternative))...)
	}
	if len(schemes) > 0 {
		if caller := w.callers[one(g, schemes...)]; caller != nil {
			d.caller = caller
		}
	}
	if strings.HasPrefix(op.path, "/v1/me/shows/") || strings.HasPrefix(op.path, "/v1/me/replays/") {
		d.caller = w.host
	}
	ids := strings.Split(w.ids[op.id], "/")
	for i, name := range op.pathParams {
		id := ids[min(i, len(ids)-1)]
		if p := op.spec.Parameters.GetByInAndName("path", name); id == "" && p != nil {
			id = fmt.Sprint(g.value(name, p.Schema.Value))
		}
		d.path = strings.ReplaceAll(d.path, "{"+name+"}", url.PathEscape(id))
	}
	for _, name := range slices.Sorted(maps.Keys(op.query)) {
		if p := op.query[name]; p.Required || n > 0 && g.IntN(2) == 0 {
			d.query.Set(name, fmt.Sprint(g.value(name, p.Schema.Value)))
		}
	}
	body := sampleBody(op)
	if n > 0 && body != nil {
		body = g.value("", op.spec.RequestBody.Value.Content.Get("application/json").Schema.Value)
	}
	if body != nil {
		d.header.Set("Content-Type", "application/json")
	}
	if n%3 == 2 {
		body = w.spoil(t, g, op, &d, body)
	}
	if body != nil && d.body == nil {
		var err error
		d.body, err = json.Marshal(body)
		require.NoError(t, err)
	}
	return d
}

// spoil makes one part of a request invalid, and returns its body.
func (w *world) spoil(t *testing.T, g generator, op operation, d *draft, body any) any {
	t.Helper()
	switch g.IntN(8) {
	case 0: // another id
		wrong := one(g, "none", "%00", "%ff", "..%2f..", "%F0%9D%84%9E", "%20", "-1", "%27", strings.Repeat("a", 3000))
		if len(op.pathParams) > 0 {
			path := op.path
			for _, name := range op.pathParams {
				path = strings.ReplaceAll(path, "{"+name+"}", wrong)
			}
			d.path = path
		}
	case 1: // a parameter
		name := "unknown"
		if len(op.query) > 0 {
			name = one(g, slices.Sorted(maps.Keys(op.query))...)
		}
		d.query[name] = one(g, []string{""}, []string{"-1"}, []string{"99999999999999999999"}, []string{"\x00"}, []string{"\xff"}, []string{"1", "2"}, []string{"'"})
	case 2: // the credential
		d.caller = one(g, w.server.With(t, ""), w.server.With(t, "sk_live_wrong"), w.callers["adminToken"], w.callers["participantToken"], w.owner)
	case 3: // a header
		name := one(g, "Idempotency-Key", "Accept", "Content-Type", "X-Request-Id", "Origin", "If-None-Match")
		d.header.Set(name, one(g, "", "*", "text/plain", "application/json; charset=latin1", strings.Repeat("k", 300), "ä\xff", "key 1"))
	case 4: // no JSON, or JSON that isn't an object
		d.body = []byte(one(g, "", "{", "null", "[]", `"text"`, "0", "{}{}", "\xef\xbb\xbf{}", "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":1,"a":2}`))
	default:
		return g.wrong(body)
	}
	return body
}

// send sends a request and checks its answer.
func (w *world) send(t *testing.T, op operation, d draft) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), generatedTime)
	defer cancel()
	target := w.server.URL + d.path
	if len(d.query) > 0 {
		target += "?" + d.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, op.method, target, bytes.NewReader(d.body))
	require.NoError(t, err)
	r.Header = d.header
	got := d.caller.Do(t, r)
	switch {
	case got.Status < 300:
		w.mu.Lock()
		w.accepted[op.id]++
		w.mu.Unlock()
		return
	case got.Status == http.StatusNotImplemented && w.unbuilt[strings.ToLower(op.id)]:
	case got.Status >= 500 && op.spec.Responses.Value(strconv.Itoa(got.Status)) == nil, got.Status < 400:
		t.Errorf("SHOWFLOOR_SEED=%d: %s %s %v %.2000q answered %d %s", w.seed, op.method, target, d.header, d.body, got.Status, got.Body)
		return
	}
	if op.method != http.MethodHead && op.spec.Responses.Value(strconv.Itoa(got.Status)) == nil { // SRS servers get a refusal of their own
		require.Equal(t, "application/problem+json", got.Header.Get("Content-Type"), "%s %s: %s", op.method, target, got.Body)
	}
}
