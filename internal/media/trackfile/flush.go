package trackfile

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// run writes waiting records until the writer is closed.
func (w *Writer) run() {
	defer close(w.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.wake:
		case flushed := <-w.flushes:
			w.flush()
			close(flushed)
			continue
		case <-w.closing:
			w.flush()
			w.finish()
			return
		}
		w.flush()
	}
}

// flush writes the waiting records of all files, and closes the files of tracks that have ended.
func (w *Writer) flush() {
	w.mu.Lock()
	files := append([]*file(nil), w.files...)
	w.mu.Unlock()
	ended := map[*file]bool{}
	for _, f := range files {
		f.mu.Lock()
		b := f.waiting
		f.waiting, f.spare = f.spare[:0], nil
		if f.ended {
			ended[f] = true
		}
		f.mu.Unlock()
		w.write(f, b)
		if cap(b) <= 4*flushAt { // a larger one was needed once, while the disk was slow
			f.spare = b
		}
		if ended[f] {
			w.close(f)
		}
	}
	if len(ended) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.files[:0]
	for _, f := range w.files {
		if !ended[f] {
			kept = append(kept, f)
		}
	}
	clear(w.files[len(kept):])
	w.files = kept
}

// write writes records to a file. The first error ends the recording.
func (w *Writer) write(f *file, b []byte) {
	if w.err != nil || len(b) == 0 {
		return
	}
	err := w.config.Refuse()
	if err == nil && w.config.MaxBytes > 0 && w.size+int64(len(b)) > w.config.MaxBytes {
		err = ErrLimit
	}
	if err == nil && f.out == nil {
		err = w.open(f)
	}
	if err == nil {
		if _, err = f.out.Write(b); err != nil {
			err = fmt.Errorf("write a recording: %w", err)
		}
	}
	w.size += int64(len(b))
	w.fail(err)
}

// fail ends the recording with its first error.
func (w *Writer) fail(err error) {
	if err == nil || w.err != nil {
		return
	}
	w.err = err
	w.failed.Store(true)
	if w.config.Failed != nil {
		w.config.Failed(err)
	}
}

func (w *Writer) open(f *file) error {
	out, err := os.OpenFile(filepath.Join(w.config.Dir, f.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("make a file of a recording: %w", err)
	}
	f.out = out
	return nil
}

// close closes a file, which is then safe from a failure of the power too.
func (w *Writer) close(f *file) {
	if f.out == nil {
		return
	}
	err := f.out.Sync()
	if closeErr := f.out.Close(); err == nil {
		err = closeErr
	}
	f.out = nil
	if err != nil {
		w.fail(fmt.Errorf("close a file of a recording: %w", err))
	}
}

// finish closes all files.
func (w *Writer) finish() {
	w.mu.Lock()
	files := w.files
	w.mu.Unlock()
	for _, f := range files {
		f.mu.Lock()
		f.ended = true
		f.mu.Unlock()
		w.close(f)
	}
}

// Close notes the end, writes all waiting records and closes the files. The error is the one that ended the recording early. It is
// idempotent.
func (w *Writer) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	w.mu.Unlock()
	if first {
		w.Note(Event{Kind: Stopped})
		close(w.closing)
	}
	<-w.done
	return w.err
}

// Flush writes the waiting records now. It waits for the disk.
func (w *Writer) Flush() {
	done := make(chan struct{})
	select {
	case w.flushes <- done:
		<-done
	case <-w.done:
	}
}
