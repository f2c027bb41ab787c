package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"showfloor/internal/base/blob"
)

const (
	// sweepEvery is how often unfinished writes are removed, sweepAfter how old they must be. No write takes a day.
	sweepEvery, sweepAfter = time.Hour, 24 * time.Hour
)

// openStorage opens the storage of files. It stops the start if files can't be written there.
func (s *server) openStorage(ctx context.Context) error {
	c := s.config.storage()
	c.Log, c.Observe = s.log, s.metrics.observeStorage
	var err error
	if s.files, err = blob.Open(ctx, c); err != nil {
		if s.config.StorageURL == "" {
			return fmt.Errorf("DATA_DIR: %w", err)
		}
		return fmt.Errorf("STORAGE_URL: %w", err)
	}
	s.onStop("storage", func(context.Context) error { return s.files.Close() })
	return nil
}

// storageEngine names the storage for readiness, which the public sees: no paths and addresses.
func (c *config) storageEngine() string {
	switch place := c.storage(); {
	case c.StorageURL == "":
		return "the data folder"
	case place.Folder() != "":
		return "the folder at STORAGE_URL"
	case place.Redirect:
		return "S3 at STORAGE_URL, with redirects"
	default:
		return "S3 at STORAGE_URL"
	}
}

// checkStorage is the readiness check of the storage. Live media need none, so the server stays ready without it.
func (s *server) checkStorage(ctx context.Context) error { return s.files.Check(ctx) }

// sweepStorage removes what killed servers left unfinished in the storage, until the server stops.
func (s *server) sweepStorage(ctx context.Context) {
	sweeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() {
		ticker := time.NewTicker(sweepEvery)
		defer ticker.Stop()
		for {
			n, err := s.files.Sweep(sweeping, sweepAfter)
			switch {
			case sweeping.Err() != nil:
				return
			case err != nil:
				s.log.Warn("unfinished writes could not be removed from the storage", "error", err)
			case n > 0:
				s.log.Info("unfinished writes were removed from the storage", "writes", n)
			}
			select {
			case <-ticker.C:
			case <-sweeping.Done():
				return
			}
		}
	})
	s.onStop("storage sweep", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
}
