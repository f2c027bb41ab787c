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
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/handlers"
	"showfloor/internal/account"
	"showfloor/internal/analytics"
	"showfloor/internal/console"
	"showfloor/internal/dbtest"
	"showfloor/internal/event"
	"showfloor/internal/id"
	"showfloor/internal/idempotency"
	"showfloor/internal/mail"
	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/onair"
	"showfloor/internal/postgres"
	"showfloor/internal/secret"
	"showfloor/internal/signing"
	"showfloor/internal/stream"
	"showfloor/internal/tester"
	"showfloor/internal/webhook"
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
	// test has. The clock is the real one then, since the queue lives by it.
	Jobs bool
	// Pool is the database; nil for one that is shared by the tests of this
	// process, or for one of its own when Jobs is set.
	Pool *pgxpool.Pool
	// Listens is set for a server that hears what other servers on its database
	// have stopped.
	Listens bool
	// Node names the process; a fresh name by default.
	Node string
	// IngestSecret lets SRS servers in; empty for loopback callers only.
	IngestSecret string
	// Schedule is the pauses between attempts; the default schedule when nil.
	Schedule []time.Duration
	// Production refuses deliveries to private addresses, and has no mailbox.
	Production bool
	// Limits says how often callers may come; nothing is limited by default.
	Limits handlers.Limits
	// Origins are those whose scripts may call the API; all by default.
	Origins []string
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
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
	// URL is where it listens, without a slash at the end.
	URL string
	// Handler is the router with the check of its responses around it.
	Handler   http.Handler
	Pool      *pgxpool.Pool
	Box       *secret.Box
	Node      string
	Keys      *signing.Keys
	Accounts  *account.Service
	Console   *console.Service
	Streams   *stream.Service
	Webhooks  *webhook.Service
	Tester    *tester.Service
	Analytics *analytics.Service
	Mails     *mail.Service
	Events    *event.Log
	Inserter  *river.Client[pgx.Tx]
	Hub       *hub.Hub
	// Idempotency keeps what requests with an Idempotency-Key came to.
	Idempotency *idempotency.Service
	// Clock is what the areas go by; nil when Jobs is set.
	Clock *Clock

	client *http.Client
}

// New starts a server that goes with the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	o = o.withDefaults(t)
	s := &Server{Pool: o.Pool, Node: o.Node}
	now := time.Now
	if !o.Jobs {
		s.Clock = NewClock()
		now = s.Clock.Now
	}
	s.openAreas(t, o, now)
	live := s.openPlayback(t, o, now)
	s.startJobs(t, o)
	router, err := handlers.New(handlers.Config{
		Accounts: s.Accounts, Console: s.Console, Streams: s.Streams, Webhooks: s.Webhooks, Tester: s.Tester, Analytics: s.Analytics,
		Mails: s.Mails, Idempotency: s.Idempotency,
		Checks: append([]handlers.Check{
			{Name: "database", Engine: func() string { return "PostgreSQL" }, Run: s.Pool.Ping},
			{Name: "queue", Engine: func() string { return "River" }, Run: func(ctx context.Context) error { return jobs.Check(ctx, s.Pool) }},
		}, o.Checks...),
		Live: live, Pages: o.Pages, PagePaths: o.PagePaths,
		PublicURL: publicURL, IngestSecret: o.IngestSecret, TrustLoopback: !o.Production,
		Limits: o.Limits, TrustedProxies: o.TrustedProxies, Origins: o.Origins,
		Metrics: http.NotFoundHandler(), Log: o.Log, Observe: o.Observe,
	})
	must(t, err)
	s.Handler = checked(t, router)
	s.listen(t)
	return s
}

func (o Options) withDefaults(t testing.TB) Options {
	t.Helper()
	switch {
	case o.Pool != nil:
	case o.Jobs:
		o.Pool = dbtest.New(t)
	default:
		o.Pool = dbtest.Shared(t)
	}
	if o.Node == "" {
		o.Node = id.New(id.Node)
	}
	if o.Schedule == nil {
		o.Schedule = webhook.DefaultSchedule()
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

func (s *Server) openAreas(t testing.TB, o Options, now func() time.Time) {
	t.Helper()
	var err error
	s.Box, err = secret.NewBox([]byte(MasterKey))
	must(t, err)
	s.Inserter, err = jobs.NewInserter(s.Pool, o.Log)
	must(t, err)
	s.Keys, err = signing.New(t.Context(), signing.Config{Pool: s.Pool, Box: s.Box, Log: o.Log, Now: now})
	must(t, err)
	s.openMail(t, o, now)
	s.Accounts = account.New(account.Config{
		Pool: s.Pool, Keys: s.Keys, Mails: s.Mails, Jobs: s.Inserter, CodeKey: s.Box.Derive("sign-up codes"),
		PublicURL: publicURL, Log: o.Log, Now: now,
	})
	s.Events = event.NewLog(s.Inserter, now)
	s.Events.CheckWith(eventCheck(t))
	s.Analytics = analytics.New(s.Pool, now)
	s.Idempotency = idempotency.New(idempotency.Config{Pool: s.Pool, Box: s.Box, Log: o.Log, Now: now})
	s.Webhooks = webhook.New(webhook.Config{
		Pool: s.Pool, Box: s.Box, Events: s.Events, Mails: s.Mails, Schedule: o.Schedule, AllowPrivate: !o.Production, Now: now,
	})
	s.Tester = tester.New(tester.Config{Pool: s.Pool, AllowPrivate: !o.Production, Now: now})
}

// openPlayback makes the media plane and, over it, the streams.
func (s *Server) openPlayback(t testing.TB, o Options, now func() time.Time) http.Handler {
	t.Helper()
	playlist := hls.New(hls.Config{
		Authorize: func(token string) (string, time.Time, error) { return s.Streams.CheckPlaybackToken(token) },
		Log:       o.Log, Now: now,
	})
	s.Hub = hub.New(hub.Config{Outputs: []hub.Output{playlist}, Now: now})
	s.Streams = stream.New(stream.Config{
		Pool: s.Pool, Events: s.Events, Jobs: s.Inserter, Engine: onair.Engine{Hub: s.Hub}, Node: s.Node,
		PlaybackKey: s.Box.Derive("playback"), PublicURL: publicURL, IngestURL: "rtmp://ingest.example.test/live", Now: now,
	})
	s.Console = console.New(console.Config{
		Pool: s.Pool, Accounts: s.Accounts, Streams: s.Streams, Stoppers: []console.Stopper{s.Streams}, Keys: s.Keys, Log: o.Log, Now: now,
	})
	t.Cleanup(func() {
		s.Hub.Close()
		playlist.Close()
	})
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
func (s *Server) startJobs(t testing.TB, o Options) {
	t.Helper()
	if !o.Jobs {
		return
	}
	client, err := jobs.New(jobs.Config{
		Pool: s.Pool, Keys: s.Keys, Accounts: s.Accounts, Streams: s.Streams, Webhooks: s.Webhooks, Tester: s.Tester,
		Mails: s.Mails, Idempotency: s.Idempotency, Node: s.Node, Log: o.Log,
	})
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
	server := httptest.NewServer(s.Handler)
	s.URL, s.client = server.URL, server.Client()
	// A redirect is an answer like any other.
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(server.Close)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
