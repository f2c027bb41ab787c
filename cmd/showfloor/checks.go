package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"showfloor/handlers"
	"showfloor/jobs"
)

// checks are what GET /v1/health/ready asks, with the engine of each part.
func (s *server) checks() []handlers.Check {
	return []handlers.Check{
		{Name: "database", Engine: s.engines[0].engine, Run: s.pool.Ping},
		{Name: "queue", Engine: s.engines[1].engine, Run: func(ctx context.Context) error { return jobs.Check(ctx, s.pool) }},
		{Name: "files", Engine: "the data folder", Run: func(context.Context) error { return writable(s.config.DataDir) }},
	}
}

// writable tells whether files can be made in the folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".ready-*")
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer os.Remove(filepath.Clean(f.Name()))
	return f.Close()
}
