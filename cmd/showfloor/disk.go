package main

import (
	"context"
	"sync"

	"showfloor/internal/base/diskspace"
	"showfloor/internal/console/alert"
)

// openDisk starts to measure the free space on the disks with the server's data.
// While it is low, captured requests are refused if the database that stores them is
// on such a disk.
func (s *server) openDisk() {
	dirs := []string{s.config.DataDir}
	if s.cluster != nil {
		dirs = append(dirs, s.cluster.DataDir())
	}
	var others []string
	storage := s.config.storage()
	if dir := storage.Folder(); dir != "" {
		others = append(others, dir)
	}
	s.disk = diskspace.New(diskspace.Config{Dirs: dirs, Others: others, Marks: s.config.diskMarks, Report: s.reportDisk, Log: s.log})
}

// refuseCaptures returns an error while captured requests can't be stored, and nil
// otherwise.
func (s *server) refuseCaptures() error {
	if s.cluster == nil {
		return nil // captures are on the disk of DATABASE_URL, which this process can't measure
	}
	return s.disk.Refuse()
}

// refuseStorage returns an error while writes that can wait can't be stored, and nil
// otherwise.
func (s *server) refuseStorage() error {
	if s.cluster == nil {
		return nil // as above
	}
	return s.disk.RefuseMore()
}

// reportDisk notifies the operator when a mark is crossed.
func (s *server) reportDisk(ctx context.Context, disk diskspace.Status) error {
	return alert.New(alert.Config{
		Pool: s.pool, Mails: s.areas.Mails, Address: s.config.OperatorEmail, Node: s.node, PublicURL: s.config.PublicURL, Now: s.clock.Now,
	}).ReportDisk(ctx, disk)
}

// watchDisk repeats the measurement until the server stops.
func (s *server) watchDisk(ctx context.Context) {
	s.metrics.gauge("disk_free_bytes", "Free space of the fullest disk with data of this server.",
		func() float64 { return float64(s.disk.Status().Space.Free) })
	s.metrics.gauge("disk_level", "0: enough space. 1: below DISK_LOW. 2: below DISK_VERY_LOW.",
		func() float64 { return float64(s.disk.Status().Level) })
	s.disk.Check(ctx) // so that there is a measurement before the first request
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.disk.Run(watching) })
	s.onStop("disk watch", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
}

// checkFiles is the readiness check of the data folder.
func (s *server) checkFiles(ctx context.Context) error {
	if err := s.disk.Writable(ctx); err != nil {
		return err
	}
	return writable(s.config.DataDir)
}
