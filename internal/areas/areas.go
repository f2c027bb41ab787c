// Package areas creates the domain services and connects them. The server, the tests'
// server and the benchmarks open the services here and pass them to handlers/ and jobs/. A
// new area is a field of Areas and a few lines in Open.
package areas

import (
	"context"
	"log/slog"
	netmail "net/mail"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/queue"
	"showfloor/internal/base/secret"
	"showfloor/internal/commerce/allowance"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/commerce/billing"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/commerce/order"
	"showfloor/internal/commerce/overage"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/commerce/seller"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/console"
	"showfloor/internal/console/bandwidth"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/outflow/push"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/outflow/realtime"
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
	"showfloor/internal/streams/stream"
	"showfloor/internal/streams/transcode"
	"showfloor/internal/streams/workerhook"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/idempotency"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/setting"
	"showfloor/internal/tenancy/signing"
	"showfloor/internal/tenancy/usage"
)

// Settings are the operator's settings of the areas.
type Settings struct {
	// PublicURL and IngestURL are the URLs of this server for clients and for encoders,
	// without a slash at the end.
	PublicURL, IngestURL string
	// NodeURL is the URL for other nodes, without a slash at the end; "" if there are none.
	NodeURL string
	// SFUURL is the WebSocket URL of this node's SFU, without a slash at the end; empty if
	// it has none.
	SFUURL string
	// TenantWatchers is the maximum number of watchers of one tenant on each node's SFU; 0 offers no WebRTC to viewers of shows.
	TenantWatchers int
	// Broadcasts is how many sessions a node broadcasts at a time.
	Broadcasts int
	// RecorderURL is the URL of an outside recorder, which records the streams on SRS servers; "" if there is none.
	// RecorderSecret signs the requests to it. RecorderTimeout is how long its report may take;
	// recording.DefaultRecorderTimeout if it is 0.
	RecorderURL, RecorderSecret string
	RecorderTimeout             time.Duration
	// TranscoderURL and PackagerURL are the URLs of outside programs that make transcodes and packages; "" if there are none. The secrets
	// sign the requests to them, and upload URLs.
	TranscoderURL, TranscoderSecret string
	PackagerURL, PackagerSecret     string
	// RingTimeout is how long a call rings; call.DefaultRingTimeout if it is 0.
	RingTimeout time.Duration

	// MailServer is the SMTP server; nil if there is none.
	MailServer *mail.Server
	// MailFrom is the sender of every mail.
	MailFrom *netmail.Address
	// Mailbox keeps mails for a developer to read while there is no MailServer.
	Mailbox bool

	// Schedule holds the pauses between attempts of a delivery; the default schedule if nil.
	Schedule []time.Duration
	// AllowPrivate allows tenants' URLs with private and loopback addresses.
	AllowPrivate bool
	// RestreamPrivate allows restream targets with private and loopback addresses.
	RestreamPrivate bool
	// Push are the addresses of the push providers.
	Push provider.Addresses
	// CaptureBytes is the limit of all tenants' captured requests, in bytes;
	// tester.DefaultTotalBytes if it is 0.
	CaptureBytes int64
	// KeepAudit, KeepMessages and KeepSessions are how long audit entries, messages, and
	// sessions after their end are kept; 0 means forever.
	KeepAudit, KeepMessages, KeepSessions time.Duration
	// KeepTranscripts is how long lines of transcripts are kept; 0 means as long as their session.
	KeepTranscripts time.Duration
	// UsageKeep is how long intervals of usage are kept; usage.DefaultKeep if it is 0.
	UsageKeep time.Duration
	// PlatformFee is the platform's share of each checkout, until an admin sets another one.
	PlatformFee setting.Rate
	// SignupPlan is the plan whose trial a new tenant begins with; empty or FREE for no trial.
	SignupPlan string
	// BillingGrace is how long an UNPAID subscription keeps the limits of its plan.
	BillingGrace time.Duration
	// AutomaticTax lets the payment processor compute the taxes of plans.
	AutomaticTax bool
}

// Config holds the differences between the processes that open the areas.
type Config struct {
	Settings

	Pool *pgxpool.Pool
	// Box encrypts values that must be read again; keys for other uses are derived from it.
	Box *secret.Box
	Log *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// BillingNow is the clock of subscriptions, Now by default. It is the sandbox's, which people can move forward.
	BillingNow func() time.Time
	// Node is the name of this process in the rows of its connections.
	Node string
	// Engine is the media plane's interface for streams.
	Engine stream.Engine
	// Files is the store of recorded files; if nil, no file can be deleted.
	Files Files
	// RecordingAssets makes posters, storyboards and MP4 files of recordings; nil for none.
	RecordingAssets recording.AssetMaker
	// RecordingImporter imports files of SRS servers; nil for none.
	RecordingImporter recording.Importer
	// RecordingClips makes the files of clips; nil for none.
	RecordingClips recording.ClipMaker
	// RestreamProber tests restream targets; nil if this process can't.
	RestreamProber restream.Prober
	// Renditions makes the files of transcodes; nil if this process makes none. TranscodeWorkers is how many transcodes it works on
	// at a time.
	Renditions       transcode.Maker
	TranscodeWorkers int
	// Packages makes packages of transcodes' files; nil if this process makes none.
	Packages packaging.Maker
	// RecordingTexts stores the text tracks of recordings; nil if there is no store of files.
	RecordingTexts recording.TextStore
	// PasswordMemory is the memory for hashing one password, in KiB; account's default if it is 0.
	PasswordMemory uint32
	// PasswordCommand is the program that hashes passwords, with its arguments; without it, this process does.
	PasswordCommand []string
	// IdleCalls is how many connections to tenants' URLs stay open between requests, for
	// webhooks and replays together; 256 if it is 0.
	IdleCalls int
	// RefuseCaptures returns an error while requests to capture URLs can't be stored, and
	// nil otherwise. A nil function refuses nothing.
	RefuseCaptures func() error

	// Processor is the payment processor's client; if nil, every call to the processor fails.
	Processor *processor.Client
	// Realtime publishes to clients of rooms; if nil, publications are dropped.
	Realtime realtime.Publisher

	// SummaryModel is the language model that writes summaries of sessions; without it, they are extractive.
	SummaryModel summary.Model
	// SpeechModel recognizes the speech of sessions; nil for none. SpeechCalls is how many calls to it this process makes at a time.
	SpeechModel speech.Recognizer
	SpeechCalls int

	// CheckEvent returns an error for an envelope that must not be emitted. Tests check
	// envelopes against the API document with it. nil accepts all.
	CheckEvent func(payload []byte) error
	// ObserveDelivery and ObserveMail are called for each attempt, for metrics; nil for none.
	ObserveDelivery func(outcome string, took time.Duration)
	ObserveMail     func(outcome string)
	// ObservePush is called for each answer of a push provider.
	ObservePush func(name provider.Name, outcome provider.Outcome)
	// ObserveSpeech is called with the outcome of each utterance.
	ObserveSpeech func(outcome string)
	// ObserveOrder is called for each order that is created, paid or expired.
	ObserveOrder func(status string)
	// ObserveMediaJob is called with the kind and the last status of each transcode and package.
	ObserveMediaJob func(kind, status string)
}

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
	// SessionRetention deletes old sessions.
	SessionRetention *session.Retention

	Accounts *account.Service
	Streams  *stream.Service
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
	// Bandwidth shows admins the bytes in and out, and imports CDNs' logs.
	Bandwidth *bandwidth.Service
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

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Schedule == nil {
		c.Schedule = webhook.DefaultSchedule()
	}
	if c.IdleCalls == 0 {
		c.IdleCalls = 256
	}
	if c.Processor == nil {
		c.Processor = processor.New(processor.Config{})
	}
	if c.Realtime == nil {
		c.Realtime = realtime.NoChannel{}
	}
	if c.Files == nil {
		c.Files = noFiles{}
	}
	return c
}

// Open creates the areas, each after those that it uses. It creates the first signing key
// if there is none. Nothing needs to be closed.
func Open(ctx context.Context, c Config) (*Areas, error) {
	c = c.withDefaults()
	a := &Areas{}
	var err error
	if a.Inserter, err = queue.NewClient(c.Pool, c.Log); err != nil {
		return nil, err
	}
	if a.Keys, err = signing.New(ctx, signing.Config{Pool: c.Pool, Box: c.Box, Log: c.Log, Now: c.Now}); err != nil {
		return nil, err
	}
	a.Events = event.NewLog(c.Now)
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
	a.Quotas = quota.New(c.Pool, c.Now)
	a.Usage = usage.New(usage.Config{Pool: c.Pool, Keep: c.UsageKeep, Now: c.Now})
	a.Accounts = account.New(account.Config{
		Pool: c.Pool, Keys: a.Keys, Mails: a.Mails, Jobs: a.Inserter, Quotas: a.Quotas, CodeKeys: c.Box.DeriveAll("sign-up codes"),
		PublicURL: c.PublicURL, PasswordMemory: c.PasswordMemory, PasswordCommand: c.PasswordCommand, Log: c.Log, Now: c.Now,
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
	a.Console = console.New(console.Config{
		Pool: c.Pool, Accounts: a.Accounts, Streams: a.Streams, Stoppers: []console.Stopper{a.Streams, a.Restreams, a.Sessions},
		Quotas: a.Quotas, Usage: a.Usage, Keys: a.Keys, Log: c.Log, Now: c.Now,
	})
	a.Bandwidth = bandwidth.New(bandwidth.Config{Pool: c.Pool, Usage: a.Usage, Now: c.Now})
	a.openCommerce(c)
	a.openShows(c)
	return a, nil
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
	a.Streams = stream.New(stream.Config{
		Pool: c.Pool, Events: a.Events, Jobs: a.Inserter, Engine: c.Engine, Node: c.Node, NodeURL: c.NodeURL, Recordings: a.Recordings,
		Restreams: a.Restreams, Products: products{a}, Quotas: a.Quotas, Usage: a.Usage,
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
		KeepMessages: c.KeepMessages, Now: c.Now,
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
	a.Settings = setting.New(setting.Config{Pool: c.Pool, PlatformFee: c.PlatformFee, Now: c.Now})
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
