package areas

import (
	"log/slog"
	netmail "net/mail"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/secret"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/rooms/speech"
	"showfloor/internal/rooms/summary"
	"showfloor/internal/streams/packaging"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/restream"
	"showfloor/internal/streams/stream"
	"showfloor/internal/streams/transcode"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/setting"
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
	// SRSAPI are the addresses of the SRS servers' HTTP APIs; none if publishers can't be disconnected there.
	SRSAPI []*url.URL
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
	// Node is the name of this process in the rows of its connections, Version the version of its program, and StartedAt when it started.
	Node, Version string
	StartedAt     time.Time
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

// Process is the version of a program, and when it was started.
type Process struct {
	Version   string
	StartedAt time.Time
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.StartedAt.IsZero() {
		c.StartedAt = c.Now()
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
