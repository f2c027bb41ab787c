package layers_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const queriesPackage = module + "gen/db"

// use is a package's call of a query that touches a table.
type use struct{ pkg, query, table string }

// TestEachTableHasOneOwner: an area calls only queries that touch its own tables. Other areas ask the
// owner. The exceptions are listed with their reasons; one that is no longer needed must be removed.
func TestEachTableHasOneOwner(t *testing.T) {
	t.Parallel()
	tables := tablesOf(t)
	owner := owners()
	require.ElementsMatch(t, tables, slices.Collect(maps.Keys(owner)), "each table of schema/ has an owner")
	allowed := map[use]bool{}
	for _, e := range tableExceptions() {
		for table, names := range e.queries {
			require.NotEqual(t, owner[table], e.pkg, "%s owns %s", e.pkg, table)
			for query := range strings.FieldsSeq(names) {
				allowed[use{e.pkg, query, table}] = true
			}
		}
	}
	used := map[use]bool{}
	for _, u := range usesOf(t, queriesOf(t, tables)) {
		if owner[u.table] == u.pkg || used[u] {
			continue
		}
		used[u] = true
		if !allowed[u] {
			t.Errorf("%s calls %s, which touches the table %s of %s: ask the owner", u.pkg, u.query, u.table, owner[u.table])
		}
	}
	for u := range allowed {
		if !used[u] {
			t.Errorf("%s no longer calls %s with the table %s: remove the exception", u.pkg, u.query, u.table)
		}
	}
}

var (
	tableStatement = regexp.MustCompile(
		`(?m)^\s*(CREATE|DROP)(?: UNLOGGED)? (?:TABLE|VIEW) (?:IF (?:NOT )?EXISTS )?(\w+)|^\s*ALTER TABLE (\w+) RENAME TO (\w+)`)
	queryName  = regexp.MustCompile(`(?m)^-- name: (\w+) :\w+.*$`)
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	sqlString  = regexp.MustCompile(`'(?:[^']|'')*'`)
	// tableUse matches the tables behind a keyword, with their aliases, separated by commas. Our
	// queries write keywords in upper case and names in lower case.
	tableUse = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE|USING)\s+(?:LATERAL\s+)?(\w+(?:\s+[a-z]\w*)?(?:\s*,\s*\w+(?:\s+[a-z]\w*)?)*)`)
)

// tablesOf lists the tables and views that the migrations leave.
func tablesOf(t *testing.T) (tables []string) {
	t.Helper()
	for _, text := range sqlFiles(t, "schema") {
		for _, m := range tableStatement.FindAllStringSubmatch(sqlComment.ReplaceAllString(text, ""), -1) {
			switch {
			case m[3] != "":
				tables[slices.Index(tables, m[3])] = m[4]
			case m[1] == "DROP":
				tables = slices.DeleteFunc(tables, func(name string) bool { return name == m[2] })
			default:
				tables = append(tables, m[2])
			}
		}
	}
	return tables
}

// queriesOf maps each query's name to the tables that it touches.
func queriesOf(t *testing.T, tables []string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, text := range sqlFiles(t, "queries") {
		starts := queryName.FindAllStringSubmatchIndex(text, -1)
		for i, m := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			all[text[m[2]:m[3]]] = tablesIn(text[m[1]:end], tables)
		}
	}
	return all
}

// tablesIn returns those of the tables that a query names.
func tablesIn(query string, tables []string) (found []string) {
	body := sqlString.ReplaceAllString(sqlComment.ReplaceAllString(query, ""), "''")
	for _, list := range tableUse.FindAllStringSubmatch(body, -1) {
		for one := range strings.SplitSeq(list[1], ",") {
			if name := strings.Fields(one)[0]; slices.Contains(tables, name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found
}

func TestTablesInAQuery(t *testing.T) {
	t.Parallel()
	tables := []string{"orders", "order_items", "streams", "users"}
	for query, want := range map[string][]string{
		"SELECT * FROM orders o, streams WHERE id = @id":                             {"orders", "streams"},
		"WITH made AS (INSERT INTO orders (id) VALUES (1)) UPDATE streams SET a = 1": {"orders", "streams"},
		"DELETE FROM orders USING order_items i WHERE true -- FROM users":            {"orders", "order_items"},
		"SELECT (SELECT count(*) FROM streams s) AS users, 'FROM users'":             {"streams"},
		"SELECT 1 FROM orders o JOIN LATERAL (SELECT 1 FROM streams) s ON true":      {"orders", "streams"},
	} {
		require.Equal(t, want, tablesIn(query, tables), query)
	}
}

func sqlFiles(t *testing.T, dir string) (texts []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", dir, "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names { // Glob sorts them
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// usesOf type-checks the packages that import the generated queries, without their tests, and lists
// which queries they name.
func usesOf(t *testing.T, queries map[string][]string) (uses []use) {
	t.Helper()
	users, exports := compiled(t)
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, u := range users {
		var parsed []*ast.File
		for _, name := range u.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(u.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed = append(parsed, f)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		_, err := (&types.Config{Importer: imports}).Check(u.ImportPath, files, parsed, info)
		require.NoError(t, err)
		for _, named := range info.Uses {
			if _, isType := named.(*types.TypeName); isType || named.Pkg() == nil || named.Pkg().Path() != queriesPackage {
				continue
			}
			for _, table := range queries[named.Name()] {
				uses = append(uses, use{strings.TrimPrefix(u.ImportPath, module), named.Name(), table})
			}
		}
	}
	return uses
}

// source is a package with its compiled form.
type source struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// compiled returns our packages that import the generated queries, and the file with the export data
// of every package that they need.
func compiled(t *testing.T) (users []source, exports map[string]string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports",
		module+"internal/...", module+"handlers", module+"jobs", module+"cmd/...").Output()
	require.NoError(t, err)
	exports = map[string]string{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p source
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		exports[p.ImportPath] = p.Export
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if ours && slices.Contains(p.Imports, queriesPackage) && !matches("internal/testkit/...", name) {
			users = append(users, p)
		}
	}
	require.NotEmpty(t, users)
	return users, exports
}

// owners maps each table to the package that owns it.
func owners() map[string]string {
	list := map[string]string{}
	for pkg, tables := range map[string][]string{
		"internal/tenancy/account": {
			"tenants", "users", "api_keys", "ended_api_keys", "invitations", "known_networks", "password_links", "signup_forms", "signup_tries",
			"team_members",
		},
		"internal/tenancy/audit":       {"audit_entries", "audit_days"},
		"internal/tenancy/idempotency": {"idempotency_keys"},
		"internal/tenancy/mail":        {"mails"},
		"internal/tenancy/quota":       {"plans", "processor_calls"},
		"internal/tenancy/setting":     {"settings"},
		"internal/tenancy/signing":     {"signing_keys"},
		"internal/tenancy/sums":        {"row_counts", "row_count_changes", "row_numbers", "summed_until"},
		"internal/tenancy/usage":       {"usage_hours", "usage_intervals", "usage_levels", "usage_days", "usage_resource_days", "plan_allowances"},
		"internal/outflow/event":       {"events", "event_subjects", "event_fanouts"},
		"internal/outflow/push":        {"push_credentials", "push_devices", "push_notifications", "push_batches"},
		"internal/outflow/tester":      {"capture_urls", "captures", "capture_usage"},
		"internal/outflow/webhook":     {"webhook_endpoints", "webhook_deliveries"},
		"internal/streams/analytics":   {"figure_hours", "sales_hours"},
		"internal/streams/stream":      {"streams", "publishers", "plays", "dvr_files", "stream_media", "audience_hours"},
		"internal/streams/recording": {
			"recordings", "recording_takes", "recording_inits", "recording_segments", "recording_text_tracks", "recording_parts", "recording_tracks",
		},
		"internal/streams/mediajob":      {"media_jobs"},
		"internal/streams/restream":      {"restream_targets", "restream_routes"},
		"internal/rooms/call":            {"calls"},
		"internal/rooms/chat":            {"channels", "channel_members", "channel_messages", "channel_moderation", "product_pins"},
		"internal/rooms/session":         {"sessions", "participants", "room_placements", "nodes", "session_broadcasts"},
		"internal/rooms/transcript":      {"transcript_lines", "transcript_sizes"},
		"internal/rooms/speech":          {"utterances"},
		"internal/rooms/summary":         {"summary_parts"},
		"internal/commerce/allowance":    {"usage_thresholds"},
		"internal/commerce/overage":      {"overage_periods", "overage_charges", "overage_reports", "spend_caps"},
		"internal/commerce/auction":      {"auctions", "bids"},
		"internal/commerce/billing":      {"processor_events"},
		"internal/commerce/catalog":      {"products"},
		"internal/commerce/discount":     {"discounts"},
		"internal/commerce/order":        {"orders", "order_items", "refunds", "disputes"},
		"internal/commerce/seller":       {"sellers"},
		"internal/commerce/subscription": {"subscriptions", "billing_customers", "invoices", "revenue_entries", "processor_objects"},
		"internal/shows/shop":            {"carts", "product_clicks"},
		"internal/console":               {"admins"},
		"internal/console/alert":         {"disk_levels"},
		"internal/console/bandwidth":     {"cdn_requests", "cdn_files"},
	} {
		for _, table := range tables {
			list[table] = pkg
		}
	}
	return list
}

// tableException lets a package call queries that touch other packages' tables.
type tableException struct {
	pkg, why string
	// queries maps each of these tables to the names of the queries.
	queries map[string]string
}

// tableExceptions lists who calls queries that touch other packages' tables, and why.
func tableExceptions() []tableException {
	return []tableException{
		{
			pkg: "internal/commerce/allowance",
			why: "a tenant's lock orders its events",
			queries: map[string]string{
				"tenants": "LockTenant",
			},
		},
		{
			pkg: "internal/commerce/discount",
			why: "the uses of a code are its orders; they are counted in the batch that locks the code",
			queries: map[string]string{
				"orders": "CheckDiscount CountDiscountUses",
			},
		},
		{
			pkg: "internal/commerce/order",
			why: "a checkout reads what it needs in the batch that takes its locks",
			queries: map[string]string{
				"sellers": "GetCheckoutSeller",
				"streams": "GetCheckoutSeller",
				"tenants": "GetCheckoutSeller",
			},
		},
		{
			pkg: "internal/commerce/overage",
			why: "the tenant's lock orders its books; tenants without a period are found among those with a plan that charges",
			queries: map[string]string{
				"tenants":         "LockTenant",
				"subscriptions":   "ListChargedTenants",
				"plan_allowances": "ListChargedTenants",
				"plans":           "ListChargedTenants",
			},
		},
		{
			pkg: "internal/commerce/seller",
			why: "the column charges_enabled is the seller's; the tenant's lock orders its changes",
			queries: map[string]string{
				"tenants": "GetSeller LockTenant SetChargesEnabled",
			},
		},
		{
			pkg: "internal/console",
			why: "admins list, plan and suspend tenants, and read the audit log of all of them",
			queries: map[string]string{
				"audit_days":    "CountPlatformAuditByDay SkipAuditDays",
				"audit_entries": "CountAuditOfActor CountPlatformAuditByDay ListAuditOfActor ListPlatformAudit SkipAuditDays",
				"invitations":   "CountFoundTenants FindTenants",
				"row_numbers":   "CountPlatformUsers CountTenants CountTenantsByPlan CountTenantsByPlanAndStatus ListTenantSummaries",
				"streams":       "ListTenantSummaries",
				"summed_until":  "CountPlatformAuditByDay SkipAuditDays",
				"team_members":  "CountFoundUsers ListNewestUsers ListOldestUsers ListPlatformUsers",
				"tenants": "CountFoundTenants FindTenants ListNewestTenants ListOldestTenants ListPlatformUsers ListTenantSummaries LockTenant " +
					"SuspendTenant UnsuspendTenant",
				"users": "CountFoundTenants FindTenants",
			},
		},
		{
			pkg: "internal/outflow/event",
			why: "an event names the endpoints that get it, and is kept as long as its deliveries; webhook is above event",
			queries: map[string]string{
				"webhook_deliveries": "DeleteEventsBefore",
				"webhook_endpoints":  "CreateEvents TakeWaitingEvents",
			},
		},
		{
			pkg: "internal/outflow/push",
			why: "triggers count a tenant's devices; nothing new is pushed for a suspended tenant",
			queries: map[string]string{
				"row_numbers": "CountPushDevices",
				"tenants":     "IsPushTenantSuspended",
			},
		},
		{
			pkg: "internal/rooms/speech",
			why: "speech of a suspended tenant is not sent to the model",
			queries: map[string]string{
				"tenants": "GetUtterance",
			},
		},
		{
			pkg: "internal/outflow/tester",
			why: "a capture reads its tenant's limits in the query that finds its URL; the tenant's lock makes the limit of URLs exact",
			queries: map[string]string{
				"plans":   "GetCaptureTarget LockCaptureTargets",
				"tenants": "GetCaptureTarget LockCaptureTargets LockTenant",
			},
		},
		{
			pkg: "internal/commerce/subscription",
			why: "a tenant's plan and status follow from its subscription, and commit with it; admins' lists name tenant and plan; a plan keeps its product",
			queries: map[string]string{
				"tenants": "GetSubscription GetTenant ListPlatformInvoices ListPlatformSubscriptions LockTenant SetStatusBeforeSuspension SetTenantPlan SetTenantStatus",
				"plans":   "GetSubscription KeepPlanProduct ListPlans ListPlatformSubscriptions",
			},
		},
		{
			pkg: "internal/outflow/webhook",
			why: "a delivery's payload is its event, kept as long; nothing is delivered for a suspended tenant",
			queries: map[string]string{
				"events": "HasManyNamedEvents ListDeliveriesForAttempt ListDeliveriesOfEvent ListDeliveriesOfRareEvent ListRecoverable " +
					"ListWebhookDeliveries LockWebhookDelivery",
				"tenants": "ListDeliveriesForAttempt",
			},
		},
		{
			pkg: "internal/rooms/call",
			why: "a call's state is its session's",
			queries: map[string]string{
				"sessions": "IsCallRinging ListOverdueCalls",
			},
		},
		{
			pkg: "internal/rooms/chat",
			why: "a room has a channel without a row, and the room's participants are its members: one query pages through both",
			queries: map[string]string{
				"participants": "GetChannel ListChannelMembers ListChannelUserStatuses",
				"sessions":     "CreateRoomChannel FindChannel GetChannel ListChannelUserStatuses",
				"streams":      "CreateRoomChannel FindChannel GetChannel GetStreamForPlayback",
			},
		},
		{
			pkg: "internal/rooms/session",
			why: "a session ends its call, follows the encoder's node, and closes with its tenant: each in the query for the room",
			queries: map[string]string{
				"calls":      "EndCall",
				"publishers": "GetPlacement",
				"tenants":    "GetSessionForEntry ListGrants ShareTenant",
			},
		},
		{
			pkg: "internal/streams/analytics",
			why: "it counts over all areas and writes only its sums",
			queries: map[string]string{
				"audience_hours":    "CountViewers FindFirstFigure SumFigures SumSRSMinutes WriteFigureHours",
				"orders":            "FindFirstFigure SumSales WriteSalesHours",
				"row_numbers":       "CountTenant",
				"sessions":          "CountLiveSessions FindFirstFigure SumFigures WriteFigureHours",
				"streams":           "CountTenant CountViewers",
				"summed_until":      "SumFigures SumSales",
				"tenants":           "CountTenant FindFirstFigure WriteFigureHours WriteSalesHours",
				"webhook_endpoints": "CountTenant",
			},
		},
		{
			pkg: "internal/streams/recording",
			why: "admins' lists name tenant and stream; the sweep compares each active recording with its stream; a suspended tenant's can't be played; " +
				"the storage is summed in one statement",
			queries: map[string]string{
				"streams":    "GetAdminRecording ListAdminRecordings ListIdleRecordings ListStrandedRecordings",
				"tenants":    "FindPlayableRecording GetAdminRecording ListAdminRecordings",
				"media_jobs": "SumStoredBytes",
			},
		},
		{
			pkg: "internal/streams/restream", why: "a node forwards the streams that are on air on it, found in one query",
			queries: map[string]string{"streams": "ListWantedRestreamRoutes SaveRestreamHealth"},
		},
		{
			pkg: "internal/streams/stream",
			why: "a node writes one heartbeat for streams and rooms; a suspended tenant can't publish, checked in the query for the stream",
			queries: map[string]string{
				"nodes":   "DeleteNodesBefore GetStreamPlace ListStrandedPublishers TouchNode",
				"tenants": "GetStreamFate LockStreamByKey LockStreamOfRoom ShareTenantByKey ShareTenantOfStream",
			},
		},
		{
			pkg: "internal/tenancy/quota",
			why: "the plan is a column of the tenant; account is above quota",
			queries: map[string]string{
				"tenants": "GetTenantPlan LockPlan",
			},
		},
		{
			pkg: "internal/tenancy/quota",
			why: "one query counts a tenant's limited things, for the limits that it exceeds; the areas are above quota",
			queries: map[string]string{
				"api_keys": "CountLimited", "restream_routes": "CountLimited", "sessions": "CountLimited", "streams": "CountLimited",
				"team_members": "CountLimited", "webhook_endpoints": "CountLimited",
			},
		},
		{
			pkg: "internal/tenancy/usage",
			why: "usage is written by stream or room, whose tenant and plan are looked up with the batch; a refusal names the plan that includes more",
			queries: map[string]string{
				"plans":      "ListPlans",
				"recordings": "ListUsageOwners",
				"sessions":   "ListUsageOwners",
				"streams":    "ListUsageOwners",
				"tenants":    "GetTenantTier ListTopUsage ListTrafficOfTenants SumUsageByPlan",
			},
		},
	}
}
