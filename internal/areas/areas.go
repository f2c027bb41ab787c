// Package areas creates the domain services and connects them. The server, the tests'
// server and the benchmarks open the services here and pass them to handlers/ and jobs/. A
// new area is a field of Areas and a few lines in Open.
package areas

import (
	"context"
	"time"

	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/allowance"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/commerce/billing"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/commerce/order"
	"showfloor/internal/commerce/overage"
	"showfloor/internal/commerce/seller"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/console"
	"showfloor/internal/console/announcement"
	"showfloor/internal/console/bandwidth"
	"showfloor/internal/console/firstparty"
	"showfloor/internal/console/operations"
	"showfloor/internal/console/report"
	"showfloor/internal/console/support"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/outflow/push"
	"showfloor/internal/outflow/tester"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/rooms/call"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/speech"
	"showfloor/internal/rooms/summary"
	"showfloor/internal/rooms/transcript"
	"showfloor/internal/shows/shop"
	"showfloor/internal/shows/show"
	"showfloor/internal/streams/analytics"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/packaging"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/restream"
	"showfloor/internal/streams/srsapi"
	"showfloor/internal/streams/stream"
	"showfloor/internal/streams/transcode"
	"showfloor/internal/streams/workerhook"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/apicall"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
	"showfloor/internal/tenancy/idempotency"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/secondfactor"
	"showfloor/internal/tenancy/setting"
	"showfloor/internal/tenancy/signin"
	"showfloor/internal/tenancy/signing"
	"showfloor/internal/tenancy/usage"
)

// Areas are the services on one database.
type Areas struct {
	// Inserter adds jobs and runs none.
	Inserter *queue.Client
	// Keys signs every kind of token.
	Keys *signing.Keys
	// Playback signs and checks the tokens of playback URLs.
	Playback *playtoken.Tokens
	// Areas emit events to Events, and tenants read them from Feed.
	Events *event.Log
	Feed   *event.Feed
	// Mails sends mails, or shows them in the development mailbox.
	Mails *mail.Service
	// Idempotency stores the answers of requests with an Idempotency-Key.
	Idempotency *idempotency.Service

	// Quotas enforces the limits of tenants' plans.
	Quotas *quota.Service
	// Usage is the usage of tenants: streams, rooms and jobs write it, billing reads it.
	Usage *usage.Service

	// Audit deletes old entries of the audit log.
	Audit *audit.Retention
	// AuditDays counts the entries of each day.
	AuditDays *audit.Days
	// AuditHistory reads a tenant's entries for its users.
	AuditHistory *audit.History
	// SessionRetention deletes old sessions.
	SessionRetention *session.Retention

	Accounts *account.Service
	// SignIns and SecondFactors are those of tenants' users and of admins.
	SignIns       *signin.Service
	SecondFactors *secondfactor.Service
	Streams       *stream.Service
	// Recordings are the recordings of streams.
	Recordings *recording.Service
	// Restreams forward streams to other platforms.
	Restreams *restream.Service
	// MediaJobs run transcodes and packages, which make other files of recordings.
	MediaJobs  *mediajob.Service
	Transcodes *transcode.Service
	Packages   *packaging.Service
	Webhooks   *webhook.Service
	Tester     *tester.Service
	Analytics  *analytics.Service
	Console    *console.Service
	// FirstParty are the platform's own applications.
	FirstParty *firstparty.Service
	// Tickets and Announcements connect tenants with the platform's admins.
	Tickets       *support.Service
	Announcements *announcement.Service
	// Compliance has the tenants' records and legal holds.
	Compliance *compliance.Service
	// Bandwidth shows admins the bytes in and out, and imports CDNs' logs.
	Bandwidth *bandwidth.Service
	// Reports are the figures of all tenants, APICalls the calls of the API, and Operations what admins see of the servers.
	Reports    *report.Service
	APICalls   *apicall.Service
	Operations *operations.Service
	// Process is this process, for admins.
	Process   Process
	Catalog   *catalog.Service
	Settings  *setting.Service
	Discounts *discount.Service
	Orders    *order.Service
	Sellers   *seller.Service
	// Allowances notifies tenants whose included usage runs out.
	Allowances *allowance.Service
	// Billing processes the webhooks of the payment processor.
	Billing *billing.Service
	// Subscriptions are the tenants' plans and invoices.
	Subscriptions *subscription.Service
	// Overage charges usage above the included one.
	Overage  *overage.Service
	Auctions *auction.Service
	Sessions *session.Service
	Chat     *chat.Service
	Calls    *call.Service
	// Transcripts are the words of sessions, and Summaries are made of them. Speech writes down what is spoken.
	Transcripts *transcript.Service
	Speech      *speech.Service
	Summaries   *summary.Service
	// Shows and Shop are what viewers and buyers see of streams and recordings.
	Shows *show.Service
	Shop  *shop.Service
	// Pushes sends notifications to devices.
	Pushes *push.Service
}

// Open creates the areas, each after those that it uses. It creates the first signing key
// if there is none. Nothing needs to be closed.
func Open(ctx context.Context, c Config) (*Areas, error) {
	c = c.withDefaults()
	a := &Areas{Process: Process{c.Version, c.StartedAt}}
	var err error
	if a.Inserter, err = queue.NewClient(c.Pool, c.Log); err != nil {
		return nil, err
	}
	if a.Keys, err = signing.New(ctx, signing.Config{Pool: c.Pool, Box: c.Box, Log: c.Log, Now: c.Now}); err != nil {
		return nil, err
	}
	a.Events = event.NewLog(c.Now)
	a.Events.PublishWith(c.Realtime.PublishEvent)
	a.Feed = event.NewFeed(c.Pool)
	if c.CheckEvent != nil {
		a.Events.CheckWith(c.CheckEvent)
	}
	a.Mails = mail.New(mail.Config{
		Pool: c.Pool, Box: c.Box, Jobs: a.Inserter, Server: c.MailServer, From: c.MailFrom,
		Mailbox: c.Mailbox, Observe: c.ObserveMail, Log: c.Log, Now: c.Now,
	})
	a.Idempotency = idempotency.New(idempotency.Config{Pool: c.Pool, Box: c.Box, Log: c.Log, Now: c.Now})

	a.Audit, a.AuditDays = audit.NewRetention(c.Pool, c.KeepAudit, c.Now), audit.NewDays(c.Pool, c.Now)
	a.AuditHistory = audit.NewHistory(c.Pool)
	a.Settings = setting.New(setting.Config{
		Pool: c.Pool, PlatformFee: c.PlatformFee, KeepAudit: c.KeepAudit, KeepMessages: c.KeepMessages, Now: c.Now,
	})
	a.Audit.Follow(a.Settings.KeepAudit)
	a.Compliance = compliance.New(c.Pool, c.Now)
	a.Quotas = quota.New(c.Pool, c.Now)
	a.SignIns, a.SecondFactors = signin.New(c.Pool, c.Log, c.Now), secondfactor.New(c.Pool, c.Box, c.Now)
	a.Usage = usage.New(usage.Config{Pool: c.Pool, Keep: c.UsageKeep, Now: c.Now})
	a.Accounts = account.New(account.Config{
		Pool: c.Pool, Keys: a.Keys, Mails: a.Mails, Jobs: a.Inserter, Quotas: a.Quotas, SignupOpen: a.Settings.SignupOpen,
		CodeKeys: c.Box.DeriveAll("sign-up codes"), PublicURL: c.PublicURL, PasswordMemory: c.PasswordMemory, PasswordCommand: c.PasswordCommand,
		SignIns: a.SignIns, SecondFactors: a.SecondFactors, Log: c.Log, Now: c.Now,
	})
	a.Playback = playtoken.New(a.Keys)
	a.openStreams(c)
	client := outbound.NewClient(c.AllowPrivate, c.IdleCalls)
	a.Webhooks = webhook.New(webhook.Config{
		Pool: c.Pool, Box: c.Box, Events: a.Events, Jobs: a.Inserter, Quotas: a.Quotas, Owners: a.Accounts, Schedule: c.Schedule,
		Client: client, Observe: c.ObserveDelivery, Log: c.Log, Now: c.Now,
	})
	a.Tester = tester.New(tester.Config{
		Pool: c.Pool, TokenKeys: c.Box.DeriveAll("capture urls"), Client: client, TotalBytes: c.CaptureBytes,
		Refuse: c.RefuseCaptures, Now: c.Now,
	})
	a.Analytics = analytics.New(c.Pool, a.Usage, c.Now)
	a.Catalog = catalog.New(catalog.Config{
		Pool: c.Pool, Events: a.Events, Processor: c.Processor, Now: c.Now,
		Changed: func(tenantID string, productIDs []string) { a.Shows.NoteProducts(tenantID, productIDs) },
	})
	a.openRooms(c)
	a.openConsole(c)
	a.openCommerce(c)
	a.openShows(c)
	return a, nil
}

// openConsole creates the areas of the platform's admins.
func (a *Areas) openConsole(c Config) {
	a.Console = console.New(console.Config{
		Pool: c.Pool, Accounts: a.Accounts, Streams: a.Streams, Recordings: a.Recordings, Restreams: a.Restreams,
		Stoppers: []console.Stopper{a.Streams, a.Restreams, a.Sessions}, Quotas: a.Quotas, Usage: a.Usage, Compliance: a.Compliance, Keys: a.Keys,
		Mails: a.Mails, SignIns: a.SignIns, SecondFactors: a.SecondFactors, Log: c.Log, Now: c.Now,
	})
	a.Accounts.AllowImpersonation(a.Console)
	a.APICalls = apicall.New(apicall.Config{Pool: c.Pool, Log: c.Log, Now: c.Now})
	a.FirstParty = firstparty.New(firstparty.Config{Pool: c.Pool, Accounts: a.Accounts, Usage: a.Usage, Calls: a.APICalls, Now: c.Now})
	a.Tickets = support.New(support.Config{
		Pool: c.Pool, Events: a.Events, Mails: a.Mails, Accounts: a.Accounts, Settings: a.Settings, Files: c.Files, Now: c.Now,
	})
	a.Announcements = announcement.New(announcement.Config{Pool: c.Pool, Jobs: a.Inserter, Accounts: a.Accounts, Now: c.Now})
	a.Bandwidth = bandwidth.New(bandwidth.Config{Pool: c.Pool, Usage: a.Usage, Now: c.Now})
	a.Reports = report.New(report.Config{Pool: c.Pool, Calls: a.APICalls, OpenTickets: a.Tickets.CountOpenTickets, Now: c.Now})
	a.Operations = operations.New(operations.Config{Pool: c.Pool, Now: c.Now})
}

// packageWorkers is how many packages a process makes at a time. They only copy bytes, so they wait for the storage.
const packageWorkers = 2

// openStreams creates the areas of streams.
func (a *Areas) openStreams(c Config) {
	var outside recording.OutsideRecorder
	if c.RecorderURL != "" {
		outside = outsideRecorder{workerhook.New(c.RecorderURL, workerhook.Recorder, c.RecorderSecret)}
	}
	a.Recordings = recording.New(recording.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Tokens: a.Playback, Files: c.Files, Assets: c.RecordingAssets,
		Clips: c.RecordingClips, Texts: c.RecordingTexts, Importer: c.RecordingImporter,
		Pins: pins{a}, Products: products{a}, Plans: a.Quotas, Usage: a.Usage, Sessions: recordedSessions{a},
		Node: c.Node, PublicURL: c.PublicURL, Outside: outside, RecorderTimeout: c.RecorderTimeout,
		Steady: func(now time.Time) bool { return a.Streams.Steady(now) }, Now: c.Now,
	})
	a.MediaJobs = mediajob.New(mediajob.Config{
		Pool: c.Pool, Jobs: a.Inserter, Recordings: a.Recordings, Files: c.Files, PublicURL: c.PublicURL, Node: c.Node,
		Observe: c.ObserveMediaJob, Log: c.Log,
		Steady: func(now time.Time) bool { return a.Streams.Steady(now) }, Now: c.Now,
	})
	a.Transcodes = transcode.New(transcode.Config{
		Pool: c.Pool, Jobs: a.MediaJobs, Recordings: a.Recordings, Usage: a.Usage, Maker: c.Renditions, Workers: c.TranscodeWorkers,
		PublicURL: c.PublicURL, Now: c.Now,
	})
	a.Packages = packaging.New(packaging.Config{
		Pool: c.Pool, Jobs: a.MediaJobs, Transcodes: a.Transcodes, Recordings: a.Recordings, Maker: c.Packages, Workers: packageWorkers,
		Usage: a.Usage, PublicURL: c.PublicURL,
	})
	if c.TranscoderURL != "" {
		a.MediaJobs.Delegate(mediajob.Transcode, mediajob.Outside{
			Send:   workerhook.New(c.TranscoderURL, workerhook.Transcoder, c.TranscoderSecret).Send,
			Secret: []byte(c.TranscoderSecret), Order: a.Transcodes.Order,
		})
	}
	if c.PackagerURL != "" {
		a.MediaJobs.Delegate(mediajob.Package, mediajob.Outside{
			Send:   workerhook.New(c.PackagerURL, workerhook.Packager, c.PackagerSecret).Send,
			Secret: []byte(c.PackagerSecret), Order: a.Packages.Order,
		})
	}
	a.openRestreams(c)
	var servers stream.MediaServers
	if len(c.SRSAPI) > 0 {
		servers = srsapi.New(c.SRSAPI)
	}
	a.Streams = stream.New(stream.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Engine: c.Engine, Node: c.Node, NodeURL: c.NodeURL, Version: c.Version,
		StartedAt: c.StartedAt, Recordings: a.Recordings, Restreams: a.Restreams, MediaServers: servers, Products: products{a},
		Quotas: a.Quotas, Usage: a.Usage,
		Playback: a.Playback, PublicURL: c.PublicURL, IngestURL: c.IngestURL, Now: c.Now,
	})
}

// openRestreams creates the area of restream targets.
func (a *Areas) openRestreams(c Config) {
	config := restream.Config{
		Pool: c.Pool, Box: c.Box, Events: a.Events, Quotas: a.Quotas, Prober: c.RestreamProber, Node: c.Node, Log: c.Log, Now: c.Now,
	}
	if !c.RestreamPrivate {
		config.Public = outbound.Public
	}
	a.Restreams = restream.New(config)
}

// openRooms creates the areas of rooms, chats and calls.
func (a *Areas) openRooms(c Config) {
	a.Sessions = session.New(session.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Realtime: c.Realtime, Keys: a.Keys, Node: c.Node, SFUURL: c.SFUURL,
		Quotas: a.Quotas, Usage: a.Usage,
		Streams: a.Streams, Replays: replays{a}, Recordings: a.Recordings, Calls: ringing{a}, Broadcasts: c.Broadcasts,
		Steady: a.Streams.Steady, Now: c.Now,
	})
	a.Chat = chat.New(chat.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Rooms: a.Sessions, Products: a.Catalog, Realtime: c.Realtime,
		KeepMessages: c.KeepMessages, Retention: a.Settings.KeepMessages, Now: c.Now,
	})
	a.Calls = call.New(call.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Sessions: a.Sessions, RingTimeout: c.RingTimeout, Now: c.Now,
	})
	a.Transcripts = transcript.New(transcript.Config{
		Pool: c.Pool, Sessions: a.Sessions, Chat: a.Chat, Realtime: c.Realtime, Keep: c.KeepTranscripts, Now: c.Now,
	})
	a.Speech = speech.New(speech.Config{
		Pool: c.Pool, Jobs: a.Inserter, Sessions: a.Sessions, Transcripts: a.Transcripts, Recognizer: c.SpeechModel, Calls: c.SpeechCalls,
		Observe: c.ObserveSpeech, Log: c.Log, Now: c.Now,
	})
	a.Summaries = summary.New(summary.Config{
		Pool: c.Pool, Sessions: a.Sessions, Transcripts: a.Transcripts, Chat: a.Chat, Speech: a.Speech, Model: c.SummaryModel, Log: c.Log,
		Now: c.Now,
	})
	a.SessionRetention = session.NewRetention(c.Pool, c.KeepSessions, c.Now, a.Chat, a.Calls, a.Transcripts, a.Speech, a.Summaries)
	a.Pushes = push.New(push.Config{
		Pool: c.Pool, Box: c.Box, Jobs: a.Inserter, Quotas: a.Quotas, Usage: a.Usage, Calls: a.Calls, Addresses: c.Push,
		Observe: c.ObservePush, Log: c.Log, Now: c.Now,
	})
}

// openCommerce creates the areas of commerce.
func (a *Areas) openCommerce(c Config) {
	a.Discounts = discount.New(discount.Config{Pool: c.Pool, Events: a.Events, Streams: a.Streams, Realtime: c.Realtime, Now: c.Now})
	a.Orders = order.New(order.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Processor: c.Processor, Catalog: a.Catalog, Discounts: a.Discounts,
		Auctions: auction.Settlement{}, Settings: a.Settings, Realtime: c.Realtime, PublicURL: c.PublicURL,
		Observe: c.ObserveOrder, Log: c.Log, Now: c.Now,
	})
	a.Sellers = seller.New(seller.Config{Pool: c.Pool, Processor: c.Processor, Quotas: a.Quotas, Log: c.Log, Now: c.Now})
	a.Allowances = allowance.New(allowance.Config{Pool: c.Pool, Usage: a.Usage, Events: a.Events, Accounts: a.Accounts, Now: c.Now})
	a.Subscriptions = subscription.New(subscription.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Processor: c.Processor, Accounts: a.Accounts, Orders: a.Orders,
		Quotas: a.Quotas, Usage: a.Usage, SignupPlan: c.SignupPlan, Grace: c.BillingGrace, AutomaticTax: c.AutomaticTax,
		Log: c.Log, Now: billingClock(c),
	})
	a.Accounts.OnFounding(a.Subscriptions.StartTrialTx)
	a.Usage.FollowPeriods(a.Subscriptions.CurrentPeriod)
	a.Overage = overage.New(overage.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Processor: c.Processor, Usage: a.Usage, Subscriptions: a.Subscriptions,
		Accounts: a.Accounts, AutomaticTax: c.AutomaticTax, Log: c.Log, Now: billingClock(c), UsageNow: c.Now,
	})
	a.Usage.FollowCharges(a.Overage.ChargingTx)
	a.Billing = billing.New(billing.Config{
		Pool: c.Pool, Jobs: a.Inserter, Processor: c.Processor, Orders: a.Orders, Sellers: a.Sellers, Subscriptions: a.Subscriptions,
		Log: c.Log, Now: c.Now,
	})
	a.Auctions = auction.New(auction.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Streams: a.Streams, Orders: a.Orders, Realtime: c.Realtime, Now: c.Now,
	})
}

// billingClock is the clock of subscriptions.
func billingClock(c Config) func() time.Time {
	if c.BillingNow != nil {
		return c.BillingNow
	}
	return c.Now
}

// openShows creates the areas of shows, which stand on all others.
func (a *Areas) openShows(c Config) {
	a.Shows = show.New(show.Config{
		Pool: c.Pool, Accounts: a.Accounts, Streams: a.Streams, Recordings: a.Recordings, Sessions: a.Sessions, Chat: a.Chat,
		Catalog: a.Catalog, Auctions: a.Auctions, Discounts: a.Discounts, Tokens: a.Playback, Realtime: c.Realtime,
		TenantWatchers: c.TenantWatchers, PublicURL: c.PublicURL, Now: c.Now,
	})
	a.Shop = shop.New(shop.Config{
		Pool: c.Pool, Accounts: a.Accounts, Streams: a.Streams, Shows: a.Shows,
		Catalog: a.Catalog, Discounts: a.Discounts, Orders: a.Orders, Auctions: a.Auctions,
		PublicURL: c.PublicURL, Now: c.Now,
	})
}
