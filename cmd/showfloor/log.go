package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"showfloor/internal/base/loglimit"
)

// newLogHandler writes a readable format to a terminal and JSON to anything else.
func newLogHandler(w io.Writer, level string) slog.Handler {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo // loadConfig has checked the setting
	}
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return tint.NewTextHandler(w, &tint.Options{Level: l, TimeFormat: "15:04:05.000"})
	}
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: readable})
}

// readable writes durations in milliseconds, as a number whose key has the unit ("tookMs": 1.204). JSON would have
// nanoseconds without a unit.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"Ms", float64(a.Value.Duration().Microseconds())/1000)
	}
	return a
}

// newLogger returns the log of a command.
func newLogger(w io.Writer, level string) *slog.Logger { return slog.New(newLogHandler(w, level)) }

// limitLog sets the log of the server, which limits lines by cause, so that one
// cause can't fill the disk. Code without a logger, such as net/http, logs there too.
func (s *server) limitLog(w io.Writer) {
	limited := loglimit.New(newLogHandler(w, s.config.LogLevel), 0, nil)
	s.log = slog.New(limited)
	slog.SetDefault(s.log)
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { limited.Run(ctx) })
	s.endLog = sync.OnceFunc(func() {
		stop()
		work.Wait()
	})
	s.onStop("log", func(context.Context) error { s.endLog(); return nil })
}
