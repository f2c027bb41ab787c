package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// shutdownTime is the time limit of a clean stop.
	shutdownTime = 10 * time.Second
	// farewellTime is the time limit of a stop after the database is lost. Encoders, viewers
	// and participants get their last messages in it; nothing can be written any more.
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
			err = nil // the context ended during the start
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
		_ = stopWithin(ctx, s, farewellTime) // its error has the same cause
		return failure
	}
	return errors.Join(failure, stopWithin(ctx, s, shutdownTime))
}

// stopWithin stops the server. Parts that don't stop in time end with the process: the
// next start repairs the state that a killed process leaves.
func stopWithin(ctx context.Context, s *server, limit time.Duration) error {
	// The first signal has ended ctx, so the stop gets a context of its own.
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

// Run applies the migrations. It creates the built-in database first if there is none.
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
