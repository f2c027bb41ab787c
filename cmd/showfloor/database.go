package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"showfloor/internal/base/durable"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/postgres/embedded"
	"showfloor/schema"
)

// lockFolder makes this process the only one that uses the data folder, and reads its name from there.
func (s *server) lockFolder() error {
	lock, err := embedded.LockDir(s.config.DataDir)
	if err != nil {
		return err
	}
	s.lock = lock
	s.onStop("data folder", func(context.Context) error { return lock.Unlock() })
	s.node, err = nodeName(s.config.DataDir)
	return err
}

// openDatabase opens the database at DATABASE_URL or in the data folder, and migrates it to the newest schema. If the
// folder isn't locked yet, the built-in database locks it.
func (s *server) openDatabase(ctx context.Context) error {
	var err error
	url, engine, options := s.config.DatabaseURL, "PostgreSQL at DATABASE_URL", postgres.Options{}
	if url == "" {
		if s.cluster, err = embedded.Start(ctx, embedded.Options{
			Dir: s.config.DataDir, BinDir: s.config.PGBin, Lock: s.lock, Log: s.log,
		}); err != nil {
			return err
		}
		s.onStop("database", s.cluster.Stop)
		go s.watchCluster()
		url, engine, options.Dial = s.cluster.ConnString(), "built-in PostgreSQL", s.cluster.Dial
	}
	s.engines = []engineNote{
		{database, engine}, {queue, "River in the database"},
		{ingest, "built in"}, {playback, "built in, HLS and LL-HLS"}, {files, "the data folder"}, {storage, s.config.storageEngine()},
		{timing, "the database's"}, {disk, "the data folder's"},
	}
	if s.pool, err = postgres.Open(ctx, url, options); err != nil {
		return err
	}
	s.onStop("database pool", func(context.Context) error { s.pool.Close(); return nil })
	if err := s.openClock(ctx); err != nil {
		return err
	}
	return postgres.Migrate(ctx, s.pool, schema.FS, schema.SearchIndexes(), s.log)
}

// watchCluster stops the process if the built-in database can't be started again.
func (s *server) watchCluster() {
	<-s.cluster.Done()
	if err := s.cluster.Err(); err != nil {
		s.fail(&databaseLostError{err})
	}
}

// databaseLostError reports that the built-in database can't be restarted. The
// stop then waits for no writes, because none can succeed.
type databaseLostError struct{ cause error }

func (e *databaseLostError) Error() string { return e.cause.Error() }
func (e *databaseLostError) Unwrap() error { return e.cause }

// nodeName returns the name of this process in the database. It stays the same after a
// restart: it is stored in the data folder, which only one process can lock.
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
