package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"showfloor/internal/durable"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/postgres/embedded"
	"showfloor/schema"
)

// openDatabase takes the data folder and opens the database in it or at
// DATABASE_URL, at the newest schema.
func (s *server) openDatabase(ctx context.Context) error {
	lock, err := embedded.LockDir(s.config.DataDir)
	if err != nil {
		return err
	}
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
