package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// shutdownTime is what a clean stop may take in all.
	shutdownTime = 10 * time.Second
	// farewellTime is what a stop may take when the database is lost. It is for the
	// messages to encoders, viewers and participants; nothing can be written any more.
	farewellTime = 2 * time.Second
)

type serveCommand struct{}

// Run serves until the context ends, then stops cleanly.
func (serveCommand) Run(ctx context.Context, e environment) error {
	c, err := loadConfig(e.environ)
	if err == nil {
		err = c.checkServing()
	}
	if err != nil {
		return &usageError{err}
	}
	s, err := start(ctx, c, e)
	if err != nil {
		if ctx.Err() != nil {
			err = nil // stopped while it started
		}
		return err
	}
	if os.Getenv("GOGC") == "" {
		go collectOften(ctx)
	}
	var failure error
	select {
	case <-ctx.Done():
		fmt.Fprintln(e.err, "\nstopping …")
	case failure = <-s.failed:
	}
	if _, lost := errors.AsType[*databaseLostError](failure); lost {
		_ = stopWithin(ctx, s, farewellTime) // What it could not do has the same cause.
		return failure
	}
	return errors.Join(failure, stopWithin(ctx, s, shutdownTime))
}

// stopWithin stops the server. What doesn't end in time is left to the end of
// the process: the next start puts right what a kill leaves behind.
func stopWithin(ctx context.Context, s *server, limit time.Duration) error {
	// The first signal has ended ctx; the stop itself gets its own time.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop(stopping) }()
	select {
	case err := <-stopped:
		return err
	case <-stopping.Done():
		s.endLog()
		return fmt.Errorf("not everything stopped within %s; the next start puts it right", limit)
	}
}

type migrateCommand struct{}

// Run applies the migrations, and with the built-in database makes it first.
func (migrateCommand) Run(ctx context.Context, e environment) error {
	c, err := loadConfig(e.environ)
	if err != nil {
		return &usageError{err}
	}
	s := &server{config: c, log: newLogger(e.err, c.LogLevel)}
	err = s.openDatabase(ctx)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := errors.Join(err, s.stop(stopping)); err != nil {
		return err
	}
	fmt.Fprintln(e.out, "the database is up to date")
	return nil
}
