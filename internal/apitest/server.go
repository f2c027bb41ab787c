// Package apitest builds the whole API on a real database for tests: areas,
// router, media hub, playlists and, on demand, the workers. Every response that
// goes through it is checked against the API document; what doesn't fit fails
// the test.
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
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/handlers"
	"showfloor/internal/areas"
	"showfloor/internal/dbtest"
	"showfloor/internal/id"
	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/metering"
	"showfloor/internal/media/sfu"
	"showfloor/internal/onair"
	"showfloor/internal/playtoken"
	"showfloor/internal/postgres"
	"showfloor/internal/realtime"
	"showfloor/internal/secret"
	"showfloor/internal/setting"
	"showfloor/internal/stream"
	"showfloor/jobs"
)

// MasterKey is the master key of every test server, so that several can share
// one database.
const MasterKey = "a master key for tests, 32 bytes"

// publicURL is where the test servers say that they are; links begin with it.
const publicURL = "https://api.example.test"

// Options of a test server.
type Options struct {
	// Jobs starts the workers, on a database and a node name that no other
	// test has. The clock is the database's then, since the queue lives by it.
	Jobs bool
	// Pool is the database; nil for one that is shared by the tests of this
	// process, or for one of its own when Jobs is set.
	Pool *pgxpool.Pool
	// Listens is set for a server that hears what other servers on its database
	// have stopped.
	Listens bool
	// Realtime lets clients connect to the realtime channel. What other servers on
	// the database change in rooms is heard of, and what they publish when RedisURL
	// is theirs too. Credentials are looked at again every 100 ms.
	Realtime bool
	RedisURL string
	// Node names the process; a fresh name by default.
	Node string
	// Box holds other master keys than MasterKey.
	Box *secret.Box
	// NodeURL is where other nodes reach this one; none by default.
	NodeURL string
	// SFUURL is where the node's SFU is; the package's SFUURL by default.
	SFUURL string
	// IngestSecret lets SRS servers in; empty for loopback callers only.
	IngestSecret string
	// Schedule is the pauses between attempts; the default schedule when nil.
	Schedule []time.Duration
	// SFU lets browsers into rooms, on loopback; SFUURL is its address then. It has a
	// database that no other test has.
	SFU bool
	// Production refuses deliveries to private addresses, and has no mailbox.
	Production bool
	// Limits says how often callers may come; nothing is limited by default.
	Limits handlers.Limits
	// RefuseStorage says why nothing that can wait is stored; nil refuses nothing.
	RefuseStorage func() error
	// RequestTime is the time in which operations have to answer; a minute when it
	// is 0.
	RequestTime time.Duration
	// Origins are those whose scripts may call the API; all by default.
	Origins []string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// PasswordMemory is what hashing one password takes, in KiB: 64 when it is 0, a 300th
	// of the server's.
	PasswordMemory uint32
	// RingTimeout is how long a call rings; the default when it is 0.
	RingTimeout time.Duration
	// CaptureBytes is what captured requests of all tenants may take up; the default
	// when it is 0.
	CaptureBytes int64
	// PlatformFee is the default of the platform's fee; 0 by default.
	PlatformFee setting.Rate
	// Sandbox is another server's processor; one of its own by default.
	Sandbox *Sandbox
	// SMTP is where mail goes, as SMTP_URL; the mailbox by default.
	SMTP string
	// Checks of readiness, besides those of the database and the queue.
	Checks []handlers.Check
	// Pages serves PagePaths.
	Pages     http.Handler
	PagePaths []string
	// Observe hears of each request.
	Observe func(method, route string, status int, took time.Duration)
	// Log; nothing is logged by default.
	Log *slog.Logger
}

// Server is the API, listening on loopback.
type Server struct {
	*areas.Areas

	// URL is where it listens, without a slash at the end.
	URL string
	// Handler is the router with the check of its responses around it.
	Handler http.Handler
	Pool    *pgxpool.Pool
	Box     *secret.Box
	Node    string
	Hub     *hub.Hub
	Meter   *metering.Meter
	// SFU is where media is, when Options.SFU is set.
	SFU *sfu.Server
	// Sandbox is the payment processor.
	Sandbox *Sandbox
	// Realtime is the realtime channel; nil unless it was asked for.
	Realtime *realtime.Server
	// Unfinished counts the handlers whose request was answered before they ended.
	Unfinished handlers.Unfinished
	// Clock is what the areas go by; nil when Jobs is set.
	Clock *Clock

	web       *httptest.Server
	client    *http.Client
	published publications
}

// New starts a server that goes with the test.
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
		Areas: s.Areas, Realtime: s.upgrades(),
		Checks: append([]handlers.Check{
			{Name: "database", Engine: func() string { return "PostgreSQL" }, Run: s.Pool.Ping},
			{Name: "queue", Engine: func() string { return "River" }, Run: func(ctx context.Context) error { return jobs.Check(ctx, s.Pool) }},
		}, o.Checks...),
		Live: live, Pages: o.Pages, PagePaths: o.PagePaths,
		PublicURL: publicURL, IngestSecret: o.IngestSecret, TrustLoopback: !o.Production,
		RequestTime: cmp.Or(o.RequestTime, time.Minute), Unfinished: &s.Unfinished,
		Limits: o.Limits, RefuseStorage: o.RefuseStorage, TrustedProxies: o.TrustedProxies, Origins: o.Origins,
		Metrics: http.NotFoundHandler(), Log: o.Log, Observe: o.Observe,
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
	case o.Jobs, o.SFU: // rooms are placed on any node of the database
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
	return o
}

// openClock chooses what the areas go by.
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

// openAreas makes the media plane and the services, which hold each other, and
// returns what serves the playlists.
func (s *Server) openAreas(t testing.TB, o Options, now func() time.Time) http.Handler {
	t.Helper()
	var err error
	if s.Box = o.Box; s.Box == nil {
		s.Box, err = secret.NewBox([]byte(MasterKey))
		must(t, err)
	}
	playlist := hls.New(hls.Config{
		Tokens: playtoken.Late(func() *playtoken.Tokens { return s.Playback }), Log: o.Log, Now: now,
	})
	s.Meter = metering.New(now)
	s.Hub = hub.New(hub.Config{Outputs: []hub.Output{playlist}, Meter: s.Meter, Now: now})
	t.Cleanup(func() {
		s.Hub.Close()
		playlist.Close()
	})
	s.openRealtime(o, now)
	s.Areas, err = areas.Open(t.Context(), areas.Config{
		Pool: s.Pool, Box: s.Box, Log: o.Log, Now: now, Node: s.Node, NodeURL: o.NodeURL,
		PublicURL: publicURL, IngestURL: "rtmp://ingest.example.test/live", SFUURL: o.SFUURL, Engine: onair.Engine{Hub: s.Hub},
		MailServer: o.mailServer(t), MailFrom: &netmail.Address{Name: "Showfloor", Address: "no-reply@example.test"}, Mailbox: !o.Production,
		Schedule: o.Schedule, AllowPrivate: !o.Production, CheckEvent: eventCheck(t),
		Processor: s.Sandbox.Client, Realtime: &s.published, PlatformFee: o.PlatformFee,
		RingTimeout: o.RingTimeout, CaptureBytes: o.CaptureBytes, PasswordMemory: cmp.Or(o.PasswordMemory, 64),
	})
	must(t, err)
	if o.Listens {
		s.listenForStops(t, o.Log)
	}
	return playlist
}

// listenForStops returns when the server listens.
func (s *Server) listenForStops(t testing.TB, log *slog.Logger) {
	t.Helper()
	reports := onair.NewReports(t.Context(), log)
	reports.Connect(s.Streams, s.Hub)
	connected := make(chan struct{})
	tell := sync.OnceFunc(func() { close(connected) })
	listener := &postgres.Listener{
		Pool: s.Pool, Channel: stream.StopsChannel, Heard: reports.Stopped, Log: log,
		Connected: func(ctx context.Context) {
			reports.Missed(ctx)
			tell()
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

// startJobs starts the workers, which the test's end stops.
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

// listen serves on a free loopback port.
func (s *Server) listen(t testing.TB) {
	t.Helper()
	s.web.Config.Handler = s.Handler
	s.web.Start()
	s.URL, s.client = s.web.URL, s.web.Client()
	// A redirect is an answer like any other.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
