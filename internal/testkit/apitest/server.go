// Package apitest starts the whole API on a real database for tests: areas,
// router, media hub, playlists and, on demand, the workers. It checks every
// response against the API document; a response that doesn't match fails the test.
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
//	func TestListStreams(t *testing.T) {
//		t.Parallel()
//		owner := apitest.New(t, apitest.Options{}).Register(t)
//		owner.Call(t, "GET", "/v1/me/streams", nil).Is(t, 200)
//	}
package apitest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/handlers"
	"showfloor/handlers/pipeline"
	"showfloor/internal/areas"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/id"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/secret"
	"showfloor/internal/commerce/subscription"
	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/metering"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/webvtt"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/rooms/speech"
	"showfloor/internal/rooms/summary"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/packaging"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/streams/transcode"
	"showfloor/internal/tenancy/setting"
	"showfloor/internal/testkit/dbtest"
	"showfloor/jobs"
)

// MasterKey is the master key of every test server, so that several servers can share one
// database.
const MasterKey = "a master key for tests, 32 bytes"

// PublicURL is the public URL of the test servers; links begin with it.
const PublicURL = "https://api.example.test"

// Options of a test server.
type Options struct {
	// Jobs starts the workers, on a database and a node name that no other test uses. The
	// server then uses the database's clock, because the queue does.
	Jobs bool
	// Pool is the database. If it is nil, the server uses one that the tests of this
	// process share, or one of its own if Jobs is set.
	Pool *pgxpool.Pool
	// Listens makes the server listen for streams that other servers on its database have
	// stopped.
	Listens bool
	// Realtime starts the realtime channel. It receives changes of rooms by other servers
	// on the database, and their publications if they use the same RedisURL. It checks
	// credentials again every 100 ms.
	Realtime bool
	RedisURL string
	// Node is the name of the process; a new name by default.
	Node string
	// Box holds master keys other than MasterKey.
	Box *secret.Box
	// NodeURL is the URL for other nodes; none by default.
	NodeURL string
	// SFUURL is the URL of the node's SFU; the package's SFUURL by default.
	SFUURL string
	// IngestSecret authenticates SRS servers; if it is empty, only callers on this
	// machine are accepted.
	IngestSecret string
	// SRSAPI is the list of addresses of SRS servers' APIs, as in SRS_API_URL; none by default.
	SRSAPI string
	// RecorderSecret is the key of an outside recorder's signatures, and RecorderURL its URL; none by default.
	RecorderSecret, RecorderURL string
	// The same of an outside transcoder and packager.
	TranscoderSecret, TranscoderURL string
	PackagerSecret, PackagerURL     string
	// Files is the store of files; an empty folder by default.
	Files areas.Files
	// Clips makes the files of clips; none by default.
	Clips recording.ClipMaker
	// Renditions makes the files of transcodes; none by default.
	Renditions transcode.Maker
	// Packages makes packages; none by default.
	Packages packaging.Maker
	// Texts stores text tracks; it drops them by default.
	Texts recording.TextStore
	// Schedule holds the pauses between delivery attempts; the default schedule if nil.
	Schedule []time.Duration
	// SFU starts an SFU on loopback; SFUURL is its address then. The database is one that
	// no other test uses.
	SFU bool
	// SummaryModel writes the summaries of sessions; they are extractive by default.
	SummaryModel summary.Model
	// SpeechModel recognizes the speech of sessions; none by default.
	SpeechModel speech.Recognizer
	// Production refuses deliveries to private addresses, and has no mailbox.
	Production bool
	// BillingSkew is how far the clock of subscriptions is ahead of the processor's.
	BillingSkew time.Duration
	// Limits are the rate limits; nothing is limited by default.
	Limits pipeline.Limits
	// RefuseStorage returns an error while writes that can wait must be refused; nil
	// refuses nothing.
	RefuseStorage func() error
	// RequestTime is the time within which operations must answer; a minute if it is 0.
	RequestTime time.Duration
	// Origins are the origins whose scripts may call the API; all by default.
	Origins []string
	// TrustedProxies are the networks whose X-Forwarded-For is trusted.
	TrustedProxies netaddr.Proxies
	// PasswordMemory is the memory for hashing one password, in KiB. The default of 64 is
	// a 300th of the server's.
	PasswordMemory uint32
	// RingTimeout is how long a call rings; the default if it is 0.
	RingTimeout time.Duration
	// CaptureBytes is the limit of all tenants' captured requests, in bytes; the default
	// if it is 0.
	CaptureBytes int64
	// Push are the addresses of the push providers; their own by default.
	Push provider.Addresses
	// PlatformFee is the default of the platform's fee; 0 if unset.
	PlatformFee setting.Rate
	// SignupPlan is the plan of a new tenant's trial, FREE by default. BillingGrace is how long an UNPAID tenant keeps the limits of
	// its plan; the default if it is 0.
	SignupPlan   string
	BillingGrace time.Duration
	// Sandbox is another server's processor; one of its own by default.
	Sandbox *Sandbox
	// SMTP is the mail server's URL, as in SMTP_URL; the mailbox by default.
	SMTP string
	// Checks are the readiness checks besides those of the database and the queue.
	Checks []handlers.Check
	// Pages serves PagePaths.
	Pages     http.Handler
	PagePaths []string
	// MissingPage is that of handlers.Config.
	MissingPage http.HandlerFunc
	// Observe is called for each request.
	Observe func(method, route string, status int, took time.Duration)
	// Log is the server's log; nothing is logged by default.
	Log *slog.Logger
}

// Server is the API, listening on loopback.
type Server struct {
	*areas.Areas

	// URL is the server's URL, without a slash at the end.
	URL string
	// Handler is the router, wrapped in the check of its responses.
	Handler http.Handler
	Pool    *pgxpool.Pool
	Box     *secret.Box
	Node    string
	Hub     *hub.Hub
	// Viewers admits viewers of streams.
	Viewers *mediagate.Viewers
	Meter   *metering.Meter
	// SFU is the SFU, if Options.SFU is set.
	SFU *sfu.Server
	// Sandbox is the payment processor.
	Sandbox *Sandbox
	// realtime is the realtime channel; nil unless Options.Realtime is set.
	realtime realtimeServer
	// Unfinished counts the handlers whose request was answered before they ended.
	Unfinished pipeline.Unfinished
	// Clock is the areas' clock; nil if Jobs is set.
	Clock *Clock

	web       *httptest.Server
	client    *http.Client
	published publications
}

// New starts a server that is stopped when the test ends.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	o = o.withDefaults(t)
	s := &Server{Pool: o.Pool, Node: o.Node}
	s.published.t = t
	now := s.openClock(t, o)
	s.web = httptest.NewUnstartedServer(nil)
	t.Cleanup(s.web.Close)
	if o.SFU {
		o.SFUURL = "ws://" + s.web.Listener.Addr().String() + "/sfu"
	}
	s.openSandbox(t, o, now)
	live := s.openAreas(t, o, now)
	s.startJobs(t, o, now)
	s.startRealtime(t, o)
	router, err := handlers.New(handlers.Config{
		Pipeline: pipeline.Config{
			Settings: pipeline.Settings{
				PublicURL: PublicURL, Origins: o.Origins, IngestSecret: o.IngestSecret, RecorderSecret: o.RecorderSecret,
				TranscoderSecret: o.TranscoderSecret, PackagerSecret: o.PackagerSecret,
				TrustLoopback: !o.Production,
				RequestTime:   cmp.Or(o.RequestTime, time.Minute), TrustedProxies: o.TrustedProxies, Limits: o.Limits,
			},
			Unfinished: &s.Unfinished, RefuseStorage: o.RefuseStorage, Observe: o.Observe, Log: o.Log,
		},
		Areas: s.Areas, Realtime: s.upgrades(),
		Checks: append([]handlers.Check{
			{Name: "database", Engine: func() string { return "PostgreSQL" }, Run: s.Pool.Ping},
			{Name: "queue", Engine: func() string { return "River" }, Run: func(ctx context.Context) error { return jobs.Check(ctx, s.Pool) }},
		}, o.Checks...),
		Live: live, Pages: o.Pages, PagePaths: o.PagePaths, MissingPage: o.MissingPage, Metrics: http.NotFoundHandler(),
	})
	must(t, err)
	s.Handler = checked(t, router)
	s.openSFU(t, o)
	s.listen(t)
	if o.Sandbox == nil {
		s.Sandbox.SendTo(s.URL + "/v1/billing/webhook")
	}
	return s
}

func (o Options) withDefaults(t testing.TB) Options {
	t.Helper()
	switch {
	case o.Pool != nil:
	case o.Jobs, o.SFU: // rooms may be placed on any node of the database
		o.Pool = dbtest.New(t)
	default:
		o.Pool = dbtest.Shared(t)
	}
	if o.Node == "" {
		o.Node = id.New(id.Node)
	}
	if o.SFUURL == "" {
		o.SFUURL = SFUURL
	}
	if o.Origins == nil {
		o.Origins = []string{"*"}
	}
	if o.Pages == nil {
		o.Pages = http.NotFoundHandler()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Files == nil {
		files, err := blob.Open(t.Context(), blob.Config{Dir: t.TempDir(), Log: o.Log})
		must(t, err)
		t.Cleanup(func() { must(t, files.Close()) })
		o.Files = files
	}
	return o
}

// openClock returns the areas' clock.
func (s *Server) openClock(t testing.TB, o Options) func() time.Time {
	t.Helper()
	if o.Jobs {
		clock, err := postgres.NewClock(t.Context(), s.Pool, nil)
		must(t, err)
		return clock.Now
	}
	s.Clock = NewClock()
	return s.Clock.Now
}

// openAreas creates the media plane and the services, which refer to each other, and
// returns the handler of playlists.
func (s *Server) openAreas(t testing.TB, o Options, now func() time.Time) http.Handler {
	t.Helper()
	var err error
	if s.Box = o.Box; s.Box == nil {
		s.Box, err = secret.NewBox([]byte(MasterKey))
		must(t, err)
	}
	s.Viewers = mediagate.NewViewers(func() *stream.Service { return s.Streams }, func() *hub.Hub { return s.Hub }, now, o.Log)
	playlist := hls.New(hls.Config{
		Tokens: playtoken.Late(func() *playtoken.Tokens { return s.Playback }), Log: o.Log, Now: now, Viewers: s.Viewers,
	})
	s.Meter = metering.New(now)
	s.Hub = hub.New(hub.Config{Outputs: []hub.Output{playlist}, Meter: s.Meter, Now: now})
	t.Cleanup(func() {
		s.Hub.Close()
		playlist.Close()
	})
	s.openRealtime(o, now)
	prober := s.openRestream(t, o)
	s.Areas, err = areas.Open(t.Context(), areas.Config{
		Settings: areas.Settings{
			PublicURL: PublicURL, IngestURL: "rtmp://ingest.example.test/live", NodeURL: o.NodeURL, SFUURL: o.SFUURL,
			TenantWatchers: 100, Broadcasts: 2,
			SRSAPI:      srsServers(t, o.SRSAPI),
			RecorderURL: o.RecorderURL, RecorderSecret: o.RecorderSecret, TranscoderURL: o.TranscoderURL, TranscoderSecret: o.TranscoderSecret,
			PackagerURL: o.PackagerURL, PackagerSecret: o.PackagerSecret,
			RingTimeout: o.RingTimeout, CaptureBytes: o.CaptureBytes, PlatformFee: o.PlatformFee, Push: o.Push,
			SignupPlan: o.SignupPlan, BillingGrace: cmp.Or(o.BillingGrace, subscription.DefaultGrace),
			MailServer: o.mailServer(t), MailFrom: &netmail.Address{Name: "Showfloor", Address: "no-reply@example.test"},
			Mailbox: !o.Production, Schedule: o.Schedule, AllowPrivate: !o.Production, RestreamPrivate: !o.Production,
		},
		Pool: s.Pool, Box: s.Box, Log: o.Log, Now: now, Node: s.Node, Engine: mediagate.Engine{Hub: s.Hub},
		Files: o.Files, RecordingClips: o.Clips, RestreamProber: prober,
		Renditions: o.Renditions, TranscodeWorkers: 1, Packages: o.Packages,
		RecordingTexts: cmp.Or[recording.TextStore](o.Texts, noTexts{}),
		Processor:      s.Sandbox.Client, BillingNow: func() time.Time { return s.Sandbox.Now().Add(o.BillingSkew) }, Realtime: &s.published,
		SummaryModel: o.SummaryModel, SpeechModel: o.SpeechModel,
		CheckEvent:     eventCheck(t),
		PasswordMemory: cmp.Or(o.PasswordMemory, 64),
	})
	must(t, err)
	if o.Listens {
		s.listenForStops(t, o.Log)
	}
	return playlist
}

// noTexts is a store that keeps no texts.
type noTexts struct{}

// StoreText implements recording.TextStore.
func (noTexts) StoreText(context.Context, recording.Media, string, *webvtt.File) (int64, error) {
	return 0, nil
}

// listenForStops starts the listener and returns when it listens.
func (s *Server) listenForStops(t testing.TB, log *slog.Logger) {
	t.Helper()
	reports := mediagate.NewReports(t.Context(), log)
	reports.Connect(s.Streams, s.Hub)
	connected := make(chan struct{})
	signal := sync.OnceFunc(func() { close(connected) })
	listener := &postgres.Listener{
		Pool: s.Pool, Channel: stream.StopsChannel, Heard: reports.Stopped, Log: log,
		Connected: func(ctx context.Context) {
			reports.Missed(ctx)
			signal()
		},
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var work sync.WaitGroup
	work.Go(func() { listener.Run(ctx) })
	t.Cleanup(func() {
		stop()
		work.Wait()
		reports.Close()
	})
	select {
	case <-connected:
	case <-t.Context().Done():
	}
}

// startJobs starts the workers. They stop when the test ends.
func (s *Server) startJobs(t testing.TB, o Options, now func() time.Time) {
	t.Helper()
	if !o.Jobs {
		return
	}
	client, err := jobs.New(jobs.Config{Pool: s.Pool, Areas: s.Areas, Node: s.Node, Now: now, Log: o.Log})
	must(t, err)
	must(t, client.Start(context.WithoutCancel(t.Context())))
	t.Cleanup(func() {
		if err := client.StopAndCancel(context.Background()); err != nil {
			t.Errorf("stop jobs: %v", err)
		}
	})
}

// FanOut writes the deliveries of a tenant's committed events. A server with Jobs does that by itself.
func (s *Server) FanOut(t testing.TB, tenantID string) {
	t.Helper()
	for {
		_, _, err := s.Webhooks.FanOutTenants(t.Context(), tenantID)
		must(t, err)
		var waiting bool
		must(t, s.Pool.QueryRow(t.Context(),
			"SELECT EXISTS (SELECT FROM events WHERE tenant_id = $1 AND fanned_at IS NULL)", tenantID).Scan(&waiting))
		if !waiting {
			return
		}
		// Another fan-out has the tenant's lock. That of a killed one is free when its connection has ended.
		runtime.Gosched()
	}
}

// listen serves on a free loopback port.
func (s *Server) listen(t testing.TB) {
	t.Helper()
	s.web.Config.Handler = s.Handler
	s.web.Start()
	s.URL, s.client = s.web.URL, s.web.Client()
	// Don't follow redirects, so that tests can check them.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
