package layers_test

// owners maps each table to the package that owns it.
func owners() map[string]string {
	list := map[string]string{}
	for pkg, tables := range map[string][]string{
		"internal/tenancy/account": {
			"tenants", "users", "api_keys", "ended_api_keys", "ended_impersonations", "invitations", "known_networks", "password_links", "signup_forms", "signup_tries",
			"team_members",
		},
		"internal/tenancy/apicall":      {"api_call_days"},
		"internal/tenancy/audit":        {"audit_entries", "audit_days", "audit_platform_days"},
		"internal/tenancy/idempotency":  {"idempotency_keys"},
		"internal/tenancy/mail":         {"mails"},
		"internal/tenancy/quota":        {"plans", "processor_calls"},
		"internal/tenancy/secondfactor": {"second_factors", "recovery_codes"},
		"internal/tenancy/setting":      {"settings"},
		"internal/tenancy/signin":       {"sign_ins"},
		"internal/tenancy/signing":      {"signing_keys"},
		"internal/tenancy/sums":         {"row_counts", "row_count_changes", "row_numbers", "summed_until"},
		"internal/tenancy/usage":        {"usage_hours", "usage_intervals", "usage_levels", "usage_days", "usage_resource_days", "plan_allowances"},
		"internal/outflow/event":        {"events", "event_subjects", "event_fanouts"},
		"internal/outflow/push":         {"push_credentials", "push_devices", "push_notifications", "push_batches"},
		"internal/outflow/tester":       {"capture_urls", "captures", "capture_usage"},
		"internal/outflow/webhook":      {"webhook_endpoints", "webhook_deliveries", "webhook_attempt_hours"},
		"internal/streams/analytics":    {"figure_hours", "sales_hours", "srs_hours"},
		"internal/streams/stream": {
			"streams", "stream_keys", "publishers", "plays", "dvr_files", "stream_media", "stream_inspections", "stream_health_points",
			"audience_hours",
		},
		"internal/streams/recording": {
			"recordings", "recording_takes", "recording_inits", "recording_segments", "recording_text_tracks", "recording_parts", "recording_tracks",
		},
		"internal/streams/mediajob":      {"media_jobs"},
		"internal/streams/restream":      {"restream_targets", "restream_routes"},
		"internal/rooms/call":            {"calls"},
		"internal/rooms/chat":            {"channels", "channel_members", "channel_messages", "channel_moderation", "channel_restrictions", "product_pins"},
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
		"internal/console/firstparty":    {"first_party_apps"},
		"internal/console/report":        {"activity_hours", "activity_days", "stream_days"},
		"internal/console/support":       {"tickets", "ticket_messages", "ticket_attachments"},
		"internal/console/announcement":  {"announcements", "announcement_dismissals"},
		"internal/tenancy/compliance":    {"compliance_records"},
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
			pkg: "internal/console/firstparty",
			why: "admins see an app's keys, counts and endpoints in one answer",
			queries: map[string]string{
				"api_keys":           "ListFirstPartyApps",
				"recordings":         "GetAppStats",
				"row_numbers":        "GetAppStats",
				"sessions":           "GetAppStats",
				"streams":            "GetAppStats",
				"tenants":            "IsAppNameTaken ListFirstPartyApps",
				"webhook_deliveries": "ListAppWebhooks",
				"webhook_endpoints":  "ListAppWebhooks",
			},
		},
		{
			pkg: "internal/console/announcement", why: "a published announcement is mailed to the tenants of its plans, some in each transaction",
			queries: map[string]string{"tenants": "ListTenantsToMail"},
		},
		{
			pkg: "internal/console/support", why: "the admins' list names the tenant and has a kept total; an assignee is an admin",
			queries: map[string]string{
				"admins": "GetAdmin", "row_numbers": "CountAdminTickets", "tenants": "GetAdminTicket ListAdminTickets",
			},
		},
		{
			pkg: "internal/tenancy/compliance", why: "the figures leave out CANCELLED tenants",
			queries: map[string]string{"tenants": "SumCompliance"},
		},
		{
			pkg: "internal/console",
			why: "admins list, plan and suspend tenants, and read the audit log of all of them",
			queries: map[string]string{
				"audit_days":          "CountPlatformAuditByDay SkipAuditDays",
				"audit_platform_days": "CountPlatformAuditByDay SkipAuditDays",
				"audit_entries":       "CountAuditOfActor CountPlatformAuditByDay ListAuditOfActor ListAuditOfEntity ListPlatformAudit SkipAuditDays",
				"invitations":         "CountFoundTenants FindTenants",
				"sign_ins":            "GetAdminForToken",
				"row_numbers":         "CountPlatformUsers CountTenants CountTenantsByPlan CountTenantsByPlanAndStatus ListTenantSummaries",
				"streams":             "ListTenantSummaries",
				"summed_until":        "CountPlatformAuditByDay SkipAuditDays",
				"team_members":        "CountFoundUsers ListNewestUsers ListOldestUsers ListPlatformUsers",
				"tenants": "CountFoundTenants FindTenants ListNewestTenants ListOldestTenants ListPlatformUsers ListTenantSummaries LockTenant " +
					"SuspendTenant UnsuspendTenant",
				"users": "CountFoundTenants FindTenants",
			},
		},
		{
			pkg: "internal/console/operations",
			why: "admins list the nodes with what runs on them",
			queries: map[string]string{
				"audience_hours": "ListNodes", "nodes": "ListNodes", "publishers": "ListNodes",
			},
		},
		{
			pkg: "internal/console/report",
			why: "it counts over all areas and tenants for admins, and writes only its sums; console may not import the areas",
			queries: map[string]string{
				"api_keys":           "CountKeysByDay CountUsedKeys CountUsedKeysOfTenants",
				"auctions":           "CountActiveNow FindFirstActivity ListActivity",
				"audience_hours":     "CountPlatformViewers FindFirstActivity WriteStreamDay",
				"audit_entries":      "CountTenantActionsByDay",
				"channel_messages":   "FindFirstActivity ListActivity",
				"events":             "FindFirstActivity ListActivity",
				"figure_hours":       "ListPeakViewers",
				"push_notifications": "FindFirstActivity ListActivity",
				"recordings":         "CountActiveNow FindFirstActivity ListActivity",
				"restream_routes":    "CountActiveNow",
				"row_numbers":        "CountTenantsByPlanAndStatus GetKeptNumber",
				"sessions":           "CountActiveNow FindFirstActivity ListActivity",
				"streams":            "CountActiveNow CountPlatformViewers",
				"summed_until":       "GetActivityMark",
				"tenants":            "CountTenantsByDay CountTenantsSince ListReportTenants",
				"usage_days":         "ListTopWatched SumReportedUsage SumStreamMinutes WriteStreamMinutes",
				"webhook_deliveries": "FindFirstActivity ListActivity",
				"webhook_endpoints":  "CountNewEndpoints",
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
			why: "a tenant's plan and status follow from its subscription, and commit with it; admins' lists name tenant and plan, and take totals from kept numbers; a plan keeps its product",
			queries: map[string]string{
				"row_numbers": "CountPlatformInvoices CountPlatformSubscriptions",
				"tenants":     "GetSubscription GetTenant ListPlatformInvoices ListPlatformSubscriptions LockTenant SetStatusBeforeSuspension SetTenantPlan SetTenantStatus",
				"plans":       "GetSubscription KeepPlanProduct ListPlans ListPlatformSubscriptions",
			},
		},
		{
			pkg: "internal/outflow/webhook",
			why: "a delivery's payload is its event, kept as long; nothing is delivered for a suspended tenant; admins' lists name the tenant",
			queries: map[string]string{
				"events": "HasManyNamedEvents ListDeliveriesForAttempt ListDeliveriesOfEvent ListDeliveriesOfRareEvent ListEndpointDeliveries " +
					"ListPlatformArrivals ListPlatformDeliveries ListPlatformDeliveriesByStatus ListRecoverable ListWebhookDeliveries LockWebhookDelivery",
				"tenants": "FindDeliveryTenant ListDeliveriesForAttempt ListFailingEndpoints ListPlatformArrivals ListPlatformDeliveries " +
					"ListPlatformDeliveriesByStatus ListPlatformEndpoints",
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
				"audience_hours":    "CountViewers FindFirstFigure SumFigures WriteFigureHours",
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
			pkg: "internal/tenancy/account", why: "each request checks its token and login in one statement; admins' list of users has a kept total",
			queries: map[string]string{"row_numbers": "CountPlatformUsers", "sign_ins": "GetUserForToken"},
		},
		{
			pkg: "internal/streams/recording",
			why: "admins' lists name tenant and stream; the sweep compares each active recording with its stream; a suspended tenant's can't be played; " +
				"the storage is summed in one statement; the total of admins' list is a kept number",
			queries: map[string]string{
				"streams":     "GetAdminRecording ListAdminRecordings ListAdminStreamRecordings ListIdleRecordings ListStrandedRecordings",
				"row_numbers": "CountAdminRecordings",
				"tenants":     "FindPlayableRecording GetAdminRecording ListAdminRecordings ListAdminStreamRecordings",
				"media_jobs":  "SumStoredBytes",
			},
		},
		{
			pkg: "internal/streams/restream", why: "a node forwards the streams that are on air on it, found in one query",
			queries: map[string]string{"streams": "ListWantedRestreamRoutes SaveRestreamHealth"},
		},
		{
			pkg: "internal/streams/stream",
			why: "a node writes one heartbeat for streams and rooms; a suspended tenant can't publish, checked in the query for the stream; " +
				"admins' lists and searches name the tenant, and take their totals from kept numbers",
			queries: map[string]string{
				"nodes":       "DeleteNodesBefore GetStreamPlace ListStrandedPublishers TouchNode",
				"row_numbers": "CountStreamKeys CountStreamRows",
				"tenants": "FindNewestStreamKeys FindTenantsByText GetStreamFate ListAdminStreamViews ListStreamKeyViews LockStreamByKey LockStreamOfRoom " +
					"ShareTenantByKey ShareTenantOfStream",
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
