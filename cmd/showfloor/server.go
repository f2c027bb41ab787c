package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/handlers/pipeline"
	"showfloor/internal/areas"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/diskspace"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/postgres/embedded"
	"showfloor/internal/base/secret"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/commerce/sandbox"
	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/ladder"
	"showfloor/internal/media/metering"
	"showfloor/internal/media/recorder"
	"showfloor/internal/media/restream"
	"showfloor/internal/media/roomrecorder"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/sfu"
	"showfloor/internal/media/thumbnail"
	"showfloor/internal/media/utterance"
	"showfloor/internal/media/vod"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/roomgate"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/packaging"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/restreamgate"
	"showfloor/internal/streams/stream"
	"showfloor/internal/streams/transcode"
	"showfloor/internal/tenancy/usage"
	"showfloor/jobs"
)

// server is the process: all parts, in the order in which they start.
type server struct {
	config config
	log    *slog.Logger
	// endLog writes the lines that the log's limit has held back.
	endLog func()
	failed chan error
	// closers stop the started parts. The last one runs first.
	closers []closer

	// lock is this process's lock on the data folder.
	lock    *embedded.DirLock
	node    string
	engines []engineNote
	pool    *pgxpool.Pool
	// cluster is the built-in database; nil with DATABASE_URL.
	cluster *embedded.Server
	// clock is the database's clock, used for all due times, expiries and stored timestamps.
	clock *postgres.Clock
	// files stores recordings and what is derived from them.
	files blob.Store
	// recorder writes streams to the storage, and vod serves them from there.
	recorder   *recorder.Recorder
	recordGate *recordgate.Gate
	// roomRecorder writes the media of recorded rooms, and roomGate composes it.
	roomRecorder *roomrecorder.Recorder
	roomGate     *recordgate.Rooms
	importer     recording.Importer // nil without SRS_DVR_DIR
	vod          *vod.Server
	assets       *recordgate.Assets
	renditions   transcode.Maker // nil without workers or ffmpeg
	packages     packaging.Maker // nil without workers
	// disk measures the free space on the disks with the server's data.
	disk    *diskspace.Guard
	box     *secret.Box
	metrics *metrics
	// processor is the client of the payment processor.
	processor *processor.Client
	// sandbox replaces the payment processor; nil in production, and with a real
	// processor's key.
	sandbox *sandbox.Server
	areas   *areas.Areas
	// realtime publishes events of rooms to browsers.
	realtime *realtime.Server

	// restream forwards streams to other platforms.
	restream     *restream.Engine
	restreamGate *restreamgate.Gate

	hub      *hub.Hub
	playlist *hls.Server
	ladder   *ladder.Ladder
	// meter measures the usage of streams and rooms, collector stores it.
	meter     *metering.Meter
	collector *usage.Collector
	reports   *mediagate.Reports
	viewers   *mediagate.Viewers
	rtmp      *rtmp.Server
	http      net.Addr
	https     net.Addr
	tls       tlsConfigs
	// unfinished counts handlers that still run after their request was answered.
	unfinished pipeline.Unfinished
	// listener cuts the speech of rooms; nil without a model for it.
	listener   *utterance.Listener
	sfu        *sfu.Server
	gate       *roomgate.SFU
	broadcasts *roomgate.Broadcasts
	// followers hold connections of participants. They are set before the steps
	// of start run.
	followers []roomgate.Follower
	bounds    bounds
}

type closer struct {
	what string
	stop func(ctx context.Context) error
}

// engineNote names the engine of a part, for the banner and readiness.
type engineNote struct{ part, engine string }

// The parts that readiness checks.
const (
	database = "database"
	queue    = "queue"
	files    = "files"
	storage  = "storage"
	ingest   = "ingest"
	mailing  = "mail"
	playback = "playback"
	limits   = "limits"
	payments = "payments"
	rooms    = "rooms"
	channel  = "realtime"
	timing   = "clock"
	disk     = "disk"
)

// start starts all parts and prints the banner. On an error it stops the parts that it has started.
func start(ctx context.Context, c config, e environment) (_ *server, err error) {
	s := &server{config: c, failed: make(chan error, 8), metrics: newMetrics()}
	s.limitLog(e.err)
	defer func() {
		if err != nil {
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
			defer cancel()
			err = errors.Join(err, s.stop(stopping))
		}
	}()
	if err := s.divideDescriptors(); err != nil {
		return nil, err
	}
	if err := s.lockFolder(); err != nil {
		return nil, err
	}
	if err := c.checkPorts(ctx); err != nil {
		return nil, err
	}
	s.openConns()
	if err := s.openStorage(ctx); err != nil {
		return nil, err
	}
	if err := s.openDatabase(ctx); err != nil {
		return nil, err
	}
	if err := s.openAreas(ctx); err != nil {
		return nil, err
	}
	if err := s.openLimiter(); err != nil {
		return nil, err
	}
	s.watchClock(ctx)
	s.watchDisk(ctx)
	s.sweepStorage(ctx)
	for _, step := range []func(context.Context) error{
		s.recoverNode, s.startRecorder, s.startRestream, s.startUsage, s.startCounts,
		s.startSFU, s.followRooms, s.startJobs, s.startRTMP, s.startAdmin,
		s.followCertificates, s.startHTTP,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	// This step is the last one, so that no later step can fail between the
	// creation of the password and its display.
	password, created, err := s.areas.Console.EnsureSuperAdmin(ctx, c.AdminEmail, c.AdminPassword)
	if err != nil {
		return nil, err
	}
	s.printBanner(e.out, created, password)
	s.warnOfExposure(e.out)
	s.warnOfDescriptors(e.out)
	return s, nil
}

func (s *server) onStop(what string, stop func(ctx context.Context) error) {
	s.closers = append(s.closers, closer{what, stop})
}

// stop stops all parts in reverse order: it stops accepting, ends requests, seals
// streams, stops workers, stops the database.
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

// openAreas creates the media plane and the services, which refer to each other.
func (s *server) openAreas(ctx context.Context) error {
	var err error
	if s.box, err = s.config.newBox(); err != nil {
		return err
	}
	s.meter = metering.New(nil)
	if err := s.openRecorder(); err != nil {
		return err
	}
	s.openRestream()
	s.openMedia(ctx)
	s.openDisk()
	if err := s.openSandbox(ctx); err != nil {
		return err
	}
	s.openProcessor()
	s.realtime = realtime.New(realtime.Config{RedisURL: s.config.RedisURL, Log: s.log, Now: s.clock.Now})
	config := areas.Config{
		Settings: s.config.areas, Pool: s.pool, Box: s.box, Log: s.log, Now: s.clock.Now, Node: s.node, Version: version,
		Engine: mediagate.Engine{Hub: s.hub}, Files: s.files, RecordingAssets: s.assets, RecordingImporter: s.importer,
		Renditions: s.renditions, TranscodeWorkers: s.config.transcodeWorkers, Packages: s.packages,
		RecordingClips: recordgate.Clips{Files: s.files}, RecordingTexts: recordgate.Texts{Files: s.files},
		Processor: s.processor, Realtime: s.realtime,
		IdleCalls: s.bounds.shares.idleCalls, RefuseCaptures: s.refuseCaptures, PasswordCommand: hashPasswords(),
		ObserveDelivery: s.metrics.observeDelivery, ObserveMail: s.metrics.observeMail, ObserveOrder: s.metrics.observeOrder,
		ObserveMediaJob: s.metrics.observeMediaJob, RestreamProber: s.restreamGate, ObservePush: s.metrics.observePush,
	}
	switch {
	case s.sandbox != nil:
		config.BillingNow = s.sandbox.Now // people can move it forward
	case strings.HasPrefix(s.config.ProcessorKey, sandboxKey):
		config.BillingNow = s.followSandbox(ctx)
	}
	if !s.assets.Pictures.Works() {
		config.Broadcasts = 0 // they need ffmpeg, too
	}
	if m := s.config.summaryModel(); m != nil {
		config.SummaryModel = m
	}
	if m := s.config.speechModel(); m != nil {
		config.SpeechModel = m
	}
	config.SpeechCalls, config.ObserveSpeech = s.config.transcribeCalls, s.metrics.observeSpeech
	s.areas, err = areas.Open(ctx, config)
	if err != nil {
		return err
	}
	s.reports.Connect(s.areas.Streams, s.hub)
	if err := s.startRealtime(); err != nil {
		return err
	}
	s.engines = append(s.engines, engineNote{mailing, s.areas.Mails.Engine()})
	if !s.areas.Mails.Works() {
		s.log.Warn("SMTP_URL is not set: sign-up codes, invitations and new passwords are refused with mail_unavailable")
	}
	if err := s.openListener(); err != nil {
		return err
	}
	if err := s.openSFU(); err != nil {
		return err
	}
	return s.openRTMP()
}

// liveThumbnailWidth is the width of streams' thumbnails in pixels, at most.
const liveThumbnailWidth = 640

// openMedia creates the parts that streams need.
func (s *server) openMedia(ctx context.Context) {
	s.onStop("usage", s.finishUsage)
	s.reports = mediagate.NewReports(ctx, s.log)
	s.ladder = ladder.New(ladder.Config{Places: s.config.ladderWorkers, Log: s.log})
	pictures := thumbnail.New() // not that of recordings: their storyboards would delay it
	s.viewers = mediagate.NewViewers(
		func() *stream.Service { return s.areas.Streams }, func() *hub.Hub { return s.hub }, s.clock.Now, s.log)
	s.playlist = hls.New(hls.Config{
		Viewers: s.viewers,
		JPEG: func(ctx context.Context, u *hub.Unit) ([]byte, error) {
			return pictures.Unit(ctx, u, liveThumbnailWidth)
		},
		Tokens: playtoken.Late(func() *playtoken.Tokens { return s.areas.Playback }), Log: s.log, Now: s.clock.Now, Arrivals: time.Now,
		ClientIP: s.clientIP, CDN: s.config.cdn.Sent, Meter: s.meter, NetworkViewers: s.config.hlsPerAddress, NoRenditions: !s.ladder.Works(),
		Edge: mediagate.Edge(s.node, s.config.NodeURL, s.box.DeriveAll("nodes"), func() *stream.Service { return s.areas.Streams }),
	})
	s.hub = hub.New(hub.Config{
		Outputs: []hub.Output{s.playlist, s.recorder, s.ladder}, OnPlayable: s.reports.Playable, Meter: s.meter, Calendar: s.clock.Now,
	})
	s.onStop("media", func(context.Context) error {
		s.hub.Close()
		s.ladder.Close()
		s.reports.Close()
		s.playlist.Close()
		return nil
	})
}

// openRTMP creates the ingest without listening.
func (s *server) openRTMP() error {
	var err error
	if s.tls, err = s.config.loadTLS(s.log); err != nil {
		return err
	}
	s.rtmp, err = rtmp.New(rtmp.Config{
		Addr: s.config.RTMPAddr, TLSAddr: s.config.RTMPSAddr, TLS: s.tls.rtmps, Hub: s.hub, Gate: s.reports, Log: s.log,
		Limits: s.rtmpLimits(),
	})
	if err != nil {
		return err
	}
	s.metrics.watch(s.pool, s.hub, s.playlist, s.rtmp)
	s.metrics.watchEvents(s.pool, s.clock.Now)
	s.metrics.watchEdge(s.playlist)
	s.metrics.watchRecorder(s.recorder, s.vod)
	s.metrics.watchLadder(s.ladder)
	s.metrics.watchRestream(s.restream)
	if s.cluster != nil {
		s.metrics.watchCluster(s.cluster)
	}
	return nil
}

// recoverNode repairs the state that the last process on this data folder left if it
// was killed.
func (s *server) recoverNode(ctx context.Context) error {
	n, err := jobs.RecoverNode(ctx, s.pool, s.node)
	if err != nil {
		return err
	}
	if n > 0 {
		s.log.Info("jobs that were running when the server was killed run again", "jobs", n)
	}
	if err := s.areas.Streams.RecoverNode(ctx); err != nil {
		return err
	}
	if err := s.areas.MediaJobs.RecoverNode(ctx); err != nil {
		return err
	}
	listener := &postgres.Listener{
		Pool: s.pool, Channel: stream.StopsChannel, Connected: s.reports.Missed, Heard: s.streamChanged, Log: s.log,
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.reports.Watch(watching) })
	if s.config.NodeURL != "" {
		work.Go(func() { s.reports.Share(watching) })
	}
	work.Go(func() { s.reports.RecallKeys(watching, s.rtmp) })
	work.Go(func() { listener.Run(watching) })
	s.onStop("heartbeat", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
	return nil
}

func (s *server) startJobs(ctx context.Context) error {
	client, err := jobs.New(jobs.Config{Pool: s.pool, Areas: s.areas, Node: s.node, Now: s.clock.Now, Log: s.log})
	if err != nil {
		return err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start jobs: %w", err)
	}
	s.onStop("jobs", client.Stop)
	return nil
}

func (s *server) startRTMP(context.Context) error {
	if err := s.rtmp.Start(); err != nil {
		return fmt.Errorf("RTMP_ADDR: %w; stop what uses the port or set RTMP_ADDR to another", err)
	}
	s.onStop("ingest", s.rtmp.Stop)
	return nil
}

// fail stops the process for an error that it can't recover from.
func (s *server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}
