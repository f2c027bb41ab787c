package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"showfloor/gen"
	"showfloor/handlers"
	"showfloor/internal/account"
	"showfloor/internal/durable"
	"showfloor/internal/event"
	"showfloor/internal/id"
	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/onair"
	"showfloor/internal/postgres"
	"showfloor/internal/postgres/embedded"
	"showfloor/internal/secret"
	"showfloor/internal/stream"
	"showfloor/internal/webhook"
	"showfloor/jobs"
	"showfloor/schema"
	"showfloor/web"
)

// server is the process: every part, in the order in which they start.
type server struct {
	config config
	log    *slog.Logger
	failed chan error
	// closers stop what was started, run from the last to the first.
	closers []closer

	lock     *embedded.DirLock
	node     string
	engines  []engineNote
	pool     *pgxpool.Pool
	box      *secret.Box
	metrics  *metrics
	inserter *river.Client[pgx.Tx]
	accounts *account.Service
	streams  *stream.Service
	webhooks *webhook.Service
	hub      *hub.Hub
	playlist *hls.Server
	reports  *onair.Reports
	rtmp     *rtmp.Server
	http     net.Addr
}

type closer struct {
	what string
	stop func(ctx context.Context) error
}

// engineNote says which engine a part runs on, for the banner and readiness.
type engineNote struct{ part, engine string }

// The parts that readiness asks.
const (
	database = "database"
	queue    = "queue"
	files    = "files"
	ingest   = "ingest"
	playback = "playback"
)

// start brings everything up and prints the banner; on an error it has stopped
// what it had started.
func start(ctx context.Context, c config, e environment) (_ *server, err error) {
	s := &server{config: c, log: newLogger(e.err, c.LogLevel), failed: make(chan error, 8), metrics: newMetrics()}
	defer func() {
		if err != nil {
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
			defer cancel()
			err = errors.Join(err, s.stop(stopping))
		}
	}()
	if err := s.openDatabase(ctx); err != nil {
		return nil, err
	}
	if err := s.openAreas(ctx); err != nil {
		return nil, err
	}
	for _, setting := range c.unused() {
		s.log.Warn("this setting was checked, but nothing in this version uses it", "setting", setting)
	}
	for _, step := range []func(context.Context) error{s.recoverNode, s.startJobs, s.startRTMP, s.startAdmin, s.startHTTP} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	// Last, when nothing can fail any more between making the password and
	// showing it.
	password, created, err := s.accounts.EnsureSuperAdmin(ctx, c.AdminEmail, c.AdminPassword)
	if err != nil {
		return nil, err
	}
	s.printBanner(e.out, created, password)
	return s, nil
}

func (s *server) onStop(what string, stop func(ctx context.Context) error) {
	s.closers = append(s.closers, closer{what, stop})
}

// stop ends all parts in reverse order: stop accepting, end requests, seal
// streams, stop workers, stop the database.
func (s *server) stop(ctx context.Context) error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		if err := c.stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", c.what, err))
		}
	}
	s.closers = nil
	return errors.Join(errs...)
}

// openDatabase takes the data folder and opens the database in it or at
// DATABASE_URL, at the newest schema.
func (s *server) openDatabase(ctx context.Context) error {
	lock, err := embedded.LockDir(s.config.DataDir)
	if err != nil {
		return err
	}
	s.lock = lock
	s.onStop("data folder", func(context.Context) error { return lock.Unlock() })
	if s.node, err = nodeName(s.config.DataDir); err != nil {
		return err
	}

	url, engine := s.config.DatabaseURL, "PostgreSQL at DATABASE_URL"
	if url == "" {
		cluster, err := embedded.Start(ctx, embedded.Options{Dir: s.config.DataDir, BinDir: s.config.PGBin, Lock: lock, Log: s.log})
		if err != nil {
			return err
		}
		s.onStop("database", cluster.Stop)
		go func() {
			<-cluster.Done()
			if err := cluster.Err(); err != nil {
				s.fail(fmt.Errorf("the built-in database stopped: %w", err))
			}
		}()
		url, engine = cluster.ConnString(), "built-in PostgreSQL"
	}
	s.engines = []engineNote{
		{database, engine}, {queue, "River in the database"},
		{ingest, "built in"}, {playback, "built in, HLS and LL-HLS"}, {files, "the data folder"},
	}
	if s.pool, err = postgres.Open(ctx, url, postgres.Options{}); err != nil {
		return err
	}
	s.onStop("database pool", func(context.Context) error { s.pool.Close(); return nil })
	return postgres.Migrate(ctx, s.pool, schema.FS, s.log)
}

// openAreas makes the services and the media plane, which hold each other.
func (s *server) openAreas(ctx context.Context) error {
	key, err := s.config.masterKey()
	if err != nil {
		return err
	}
	if s.box, err = secret.NewBox(key); err != nil {
		return err
	}
	if s.inserter, err = jobs.NewInserter(s.pool, s.log); err != nil {
		return err
	}
	if s.accounts, err = account.New(ctx, account.Config{Pool: s.pool, Box: s.box, Log: s.log}); err != nil {
		return err
	}
	events := event.NewLog(s.inserter, time.Now)
	s.webhooks = webhook.New(webhook.Config{
		Pool: s.pool, Box: s.box, Events: events, Schedule: s.config.retries,
		AllowPrivate: s.config.AppEnv != production, Observe: s.metrics.observeDelivery,
	})

	rtmpTLS, err := s.config.rtmpTLS()
	if err != nil {
		return err
	}
	s.reports = onair.NewReports(ctx, s.log)
	s.playlist = hls.New(hls.Config{
		Authorize: func(token string) (string, time.Time, error) { return s.streams.CheckPlaybackToken(token) },
		Log:       s.log,
	})
	s.hub = hub.New(hub.Config{Outputs: []hub.Output{s.playlist}, OnPlayable: s.reports.Playable})
	s.streams = stream.New(stream.Config{
		Pool: s.pool, Events: events, Jobs: s.inserter, Engine: onair.Engine{Hub: s.hub}, Node: s.node,
		PlaybackKey: s.box.Derive("playback"), PublicURL: s.config.PublicURL, IngestURL: s.config.IngestURL,
	})
	s.reports.Connect(s.streams, s.hub)
	s.onStop("media", func(context.Context) error {
		s.hub.Close()
		s.reports.Close()
		s.playlist.Close()
		return nil
	})
	s.rtmp, err = rtmp.New(rtmp.Config{
		Addr: s.config.RTMPAddr, TLSAddr: s.config.RTMPSAddr, TLS: rtmpTLS, Hub: s.hub, Gate: s.reports, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.metrics.watch(s.pool, s.hub, s.playlist, s.rtmp)
	return nil
}

// recoverNode puts right what the last process on this data folder left behind
// when it was killed.
func (s *server) recoverNode(ctx context.Context) error {
	n, err := jobs.RecoverNode(ctx, s.pool, s.node)
	if err != nil {
		return err
	}
	if n > 0 {
		s.log.Info("jobs that were running when the server was killed run again", "jobs", n)
	}
	if err := s.streams.RecoverNode(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.reports.Watch(watching)
	}()
	s.onStop("heartbeat", func(context.Context) error {
		stop()
		<-done
		return nil
	})
	return nil
}

func (s *server) startJobs(ctx context.Context) error {
	client, err := jobs.New(jobs.Config{Pool: s.pool, Streams: s.streams, Webhooks: s.webhooks, Node: s.node, Log: s.log})
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start jobs: %w", err)
	}
	s.onStop("jobs", client.Stop)
	return nil
}

func (s *server) startHTTP(ctx context.Context) error {
	pages, err := web.NewPages(web.Files())
	if err != nil {
		return err
	}
	var paths []string
	if pages.Built() {
		paths = web.Paths()
	}
	router, err := handlers.New(handlers.Config{
		Accounts: s.accounts, Streams: s.streams, Webhooks: s.webhooks,
		Checks: s.checks(), Live: s.playlist, Pages: pages, PagePaths: paths, Document: gen.Document,
		PublicURL: s.config.PublicURL, IngestSecret: s.config.IngestSecret, TrustLoopback: s.config.AppEnv != production,
		Metrics: s.metrics.handler(), Log: s.log, Observe: s.metrics.observeHTTP,
	})
	if err != nil {
		return err
	}
	listener, err := s.listen(ctx, "HTTP_ADDR", s.config.HTTPAddr)
	if err != nil {
		return err
	}
	s.http = listener.Addr()
	s.serve("API", listener, router)
	// The ingest starts before the API, so that a server that answers is
	// complete, and it stops before as well: what it seals lets the viewers'
	// blocked requests end.
	s.onStop("ingest", s.rtmp.Stop)
	s.onStop("reports", func(context.Context) error {
		s.reports.Hurry(shutdownTime / 3)
		return nil
	})
	return nil
}

// startAdmin serves what only the operator may see: metrics and profiles.
func (s *server) startAdmin(ctx context.Context) error {
	listener, err := s.listen(ctx, "ADMIN_ADDR", s.config.AdminAddr)
	if err != nil {
		return err
	}
	s.serve("admin port", listener, adminHandler(s.metrics))
	return nil
}

func (s *server) listen(ctx context.Context, setting, addr string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; stop what uses the port or set %[1]s to another", setting, err)
	}
	return listener, nil
}

// serve runs an HTTP server until it is stopped. A stop lets requests end, but
// not those that wait for media that won't come.
func (s *server) serve(what string, listener net.Listener, h http.Handler) {
	const patience = 3 * time.Second
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.fail(fmt.Errorf("%s: %w", what, err))
		}
	}()
	s.onStop(what, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := srv.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			return srv.Close()
		} else if err != nil {
			return err
		}
		return nil
	})
}

func (s *server) startRTMP(context.Context) error {
	if err := s.rtmp.Start(); err != nil {
		return fmt.Errorf("RTMP_ADDR: %w; stop what uses the port or set RTMP_ADDR to another", err)
	}
	s.onStop("ingest", s.rtmp.Stop)
	return nil
}

// fail ends the process for a reason that nothing here can cure.
func (s *server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// rtmpTLS is the certificate of RTMPS; nil when none is configured.
func (c *config) rtmpTLS() (*tls.Config, error) {
	if c.RTMPSAddr == "" {
		return nil, nil
	}
	cert, err := loadCertificate(c.RTMPSCertFile, c.RTMPSKeyFile)
	if err != nil {
		return nil, &usageError{err}
	}
	return &tls.Config{GetCertificate: cert.get, MinVersion: tls.VersionTLS12}, nil
}

// nodeName names this process in the database, the same after a restart: it is
// kept in the data folder, which one process holds at a time.
func nodeName(dataDir string) (string, error) {
	path := filepath.Join(dataDir, "node")
	text, err := os.ReadFile(path)
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read node name: %w", err)
	}
	name := id.New(id.Node)
	if err := durable.WriteFile(path, []byte(name+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("write node name: %w", err)
	}
	return name, nil
}
