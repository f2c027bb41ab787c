package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/postgres/embedded"
	"showfloor/internal/console"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/secondfactor"
	"showfloor/internal/tenancy/signin"
	"showfloor/internal/tenancy/signing"
	"showfloor/schema"
)

// operator is the actor of commands in the audit log.
func operator() audit.Actor { return audit.System("cli") }

// operate opens the database for a command, whether or not the server runs, and
// closes it afterwards.
func operate(ctx context.Context, e environment, run func(s *server) error) (err error) {
	c, err := loadConfig(e.environ)
	if err != nil {
		return &usageError{err}
	}
	s := &server{config: c, log: newLogger(e.err, "warn"), failed: make(chan error, 8)}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		err = errors.Join(err, s.stop(stopping))
	}()
	if err := s.reachDatabase(ctx); err != nil {
		return err
	}
	return run(s)
}

// reachDatabase connects to the server's database: at DATABASE_URL, or to the
// built-in one. It starts the built-in one unless a running server has.
func (s *server) reachDatabase(ctx context.Context) error {
	url := s.config.DatabaseURL
	if url == "" {
		err := s.openDatabase(ctx)
		if _, running := errors.AsType[*embedded.LockedError](err); !running {
			return err
		}
		if url, err = embedded.Running(s.config.DataDir); err != nil {
			return err
		}
	}
	var err error
	if s.pool, err = postgres.Open(ctx, url, postgres.Options{MaxConns: 2}); err != nil {
		return err
	}
	s.onStop("database pool", func(context.Context) error { s.pool.Close(); return nil })
	if err := s.openClock(ctx); err != nil {
		return err
	}
	return postgres.CheckVersion(ctx, s.pool, schema.FS)
}

// openConsole opens the service for commands about admins.
func (s *server) openConsole() *console.Service {
	accounts := account.New(account.Config{Pool: s.pool, Log: s.log, Now: s.clock.Now})
	return console.New(console.Config{
		Pool: s.pool, Accounts: accounts, SignIns: signin.New(s.pool, s.log, s.clock.Now),
		// A command deletes second factors and never opens one, so it needs no box.
		SecondFactors: secondfactor.New(s.pool, nil, s.clock.Now), Log: s.log, Now: s.clock.Now,
	})
}

// openKeys opens the signing keys. A command must not create a master key,
// because the server would create a different one.
func (s *server) openKeys(ctx context.Context) (*signing.Keys, error) {
	if path := filepath.Join(s.config.DataDir, "master.key"); s.config.key == nil {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no master key in %s: set MASTER_KEY or DATA_DIR as they are set for the server", path)
		}
	}
	var err error
	if s.box, err = s.config.newBox(); err != nil {
		return nil, err
	}
	return signing.New(ctx, signing.Config{Pool: s.pool, Box: s.box, Log: s.log, Now: s.clock.Now})
}
