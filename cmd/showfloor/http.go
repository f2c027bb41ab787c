package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"showfloor/handlers"
	"showfloor/handlers/pipeline"
	"showfloor/internal/shows/show"
	"showfloor/web"
)

func (s *server) startHTTP(ctx context.Context) error {
	pages, err := web.NewPages(web.Files())
	if err != nil {
		return err
	}
	pages.UseHeads(func(ctx context.Context, page web.Address) web.Head {
		return web.Head(s.areas.Shows.PageHead(ctx, show.PageAddress(page)))
	})
	var paths []string
	if pages.Built() {
		paths = web.Paths()
	}
	router, err := handlers.New(handlers.Config{
		Pipeline: pipeline.Config{
			Settings: s.config.http, Unfinished: &s.unfinished, RefuseStorage: s.refuseStorage, Observe: s.metrics.observeHTTP, Log: s.log,
		},
		Areas: s.areas, Checks: s.checks(), Live: s.playlist, Recordings: s.vod, Realtime: s.realtime, Pages: pages, PagePaths: paths,
		MissingPage: pages.ServeMissing, Metrics: s.metrics.handler(),
	})
	if err != nil {
		return err
	}
	s.metrics.gauge("http_unfinished", "Requests that still run after they were answered with 503 timeout.",
		func() float64 { return float64(s.unfinished.Count()) })
	listener, err := s.listen(ctx, "HTTP_ADDR", s.config.HTTPAddr)
	if err != nil {
		return err
	}
	s.http = listener.Addr()
	handler := refuseBy(router, s.withNodes(s.withSFU(s.withUploads(s.withSandbox(router)))))
	srv := newHTTPServer(handler)
	s.serve("API", pipeline.AnswerUnread(srv, s.bounds.http.Bound(srv, listener)), srv)
	if err := s.startHTTPS(ctx, handler); err != nil {
		return err
	}
	s.sendReports()
	// The ingest starts before the API, so that the server is complete when it begins
	// to answer. It also stops before the API: sealing the broadcasts ends the
	// viewers' blocked requests.
	s.onStop("ingest", s.rtmp.Stop)
	s.onStop("rooms", s.stopRooms)
	s.onStop("reports", func(context.Context) error {
		s.reports.Hurry(shutdownTime / 3)
		return nil
	})
	// The parts registered last stop first: this server must release its rooms before
	// the rooms stop, so that no participant is directed to it any more.
	s.onStop("place of rooms", s.retire)
	return nil
}

// startAdmin serves metrics and profiles for the operator.
func (s *server) startAdmin(ctx context.Context) error {
	listener, err := s.listen(ctx, "ADMIN_ADDR", s.config.AdminAddr)
	if err != nil {
		return err
	}
	s.serve("admin port", listener, newHTTPServer(adminHandler(s.metrics)))
	return nil
}

func (s *server) listen(ctx context.Context, setting, addr string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; stop what uses the port or set %[1]s to another", setting, err)
	}
	return listener, nil
}

// serve runs an HTTP server until it is stopped, over TLS if it has a certificate. A
// stop waits for open requests, except those that wait for media that won't come.
func (s *server) serve(what string, listener net.Listener, srv *http.Server) {
	const patience = 3 * time.Second
	srv.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)
	run := srv.Serve
	if srv.TLSConfig != nil {
		run = func(l net.Listener) error { return srv.ServeTLS(l, "", "") }
	}
	go func() {
		if err := run(listener); !errors.Is(err, http.ErrServerClosed) {
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
