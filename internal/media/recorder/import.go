package recorder

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

// importBacklog is how many bytes of an import may wait in the spool for the storage.
const importBacklog = 256 << 20

// Import stores media that is not live as one take of a recording, and returns the take's number when all of it is stored. read
// passes the media to an Importer as fast as it can. The spool is a folder of its own below c.Dir, which is removed at the
// end: an import that ends early is repeated from the start. ErrEnded: another attempt has begun, or the recording was deleted.
func Import(ctx context.Context, c Config, recordingID string, read func(to *Importer) error) (take int, err error) {
	if err := os.MkdirAll(c.Dir, folderMode); err != nil {
		return 0, fmt.Errorf("make a folder for the import: %w", err)
	}
	dir, err := os.MkdirTemp(c.Dir, "import-*")
	if err != nil {
		return 0, fmt.Errorf("make a folder for the import: %w", err)
	}
	defer os.RemoveAll(dir)
	c.Dir = dir
	r := New(c)
	stop := context.AfterFunc(ctx, r.cancel)
	defer func() {
		stop()
		r.cancel()
		r.work.Wait()
	}()
	t, delivered, err := r.beginImport(recordingID)
	if err != nil {
		return 0, err
	}
	to := &Importer{take: t, out: &writer{take: t}}
	to.out.cut = segmenter.New(segmenter.Config{
		Start: c.Start,
		Sink:  to.out, NextRun: to.out.nextRun, PartTarget: fragmentTarget, SegmentTarget: segmentTarget, Log: c.Log,
	})
	err = read(to)
	if err == nil {
		to.out.cut.Seal()
	}
	to.out.close()
	err = errors.Join(err, to.out.err)
	close(t.recorded)
	if err != nil {
		t.drop()
		return 0, err
	}
	t.mu.Lock()
	t.complete = true
	t.mu.Unlock()
	t.notify()
	select {
	case <-delivered:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	switch reason := t.failure(); {
	case reason != "":
		return 0, errors.New(reason)
	case t.id().Take == 0, t.isDropped():
		return 0, ErrEnded
	}
	return t.id().Take, nil
}

// beginImport starts a take without a stream. delivered is closed when it has ended.
func (r *Recorder) beginImport(recordingID string) (t *take, delivered chan struct{}, err error) {
	t, delivered = &take{
		recorder: r, recordingID: recordingID, dir: &spoolDir{}, key: rand.Text(), bound: make(chan struct{}), prepared: make(chan struct{}),
		recorded: make(chan struct{}), wake: make(chan struct{}, 1),
	}, make(chan struct{})
	if err := t.prepare(); err != nil {
		return nil, nil, err
	}
	close(t.bound)
	close(t.prepared)
	t.context, t.cancel = context.WithCancel(r.ctx)
	r.mu.Lock()
	r.all[t] = struct{}{}
	r.mu.Unlock()
	r.work.Go(func() {
		t.deliver()
		close(delivered)
	})
	return t, delivered, nil
}

// Importer receives the units of an import.
type Importer struct {
	take  *take
	out   *writer
	epoch uint32
}

// Write takes the next unit. It waits while the storage is behind.
func (i *Importer) Write(u *hub.Unit) error {
	for i.take.backlog() > importBacklog {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-i.take.context.Done():
			return ErrEnded
		}
	}
	if i.take.context.Err() != nil {
		return ErrEnded
	}
	u.Epoch = i.epoch
	i.out.cut.Push(withParameterSets(u))
	return i.out.err
}

// Discontinuity announces that the times of the following units aren't comparable with those before.
func (i *Importer) Discontinuity() { i.epoch++ }
