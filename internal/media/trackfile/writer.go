package trackfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// flushEvery is how long a record waits in memory at most, and so what a kill loses.
	flushEvery = 100 * time.Millisecond
	// flushAt is how many waiting bytes of a track wake the writer earlier.
	flushAt = 64 << 10
	// maxWaiting bounds the waiting bytes of a track. While the disk is slower, further records are dropped.
	maxWaiting = 1 << 20
	// maxTimeline bounds the waiting bytes of the timeline.
	maxTimeline = 4 << 20

	folderMode, fileMode = 0o700, 0o600
)

// ErrLimit ends a recording that has reached Config.MaxBytes.
var ErrLimit = errors.New("the recording can't be larger")

// Config of a Writer.
type Config struct {
	// Dir is the recording's folder. It is made; it must not have files of another recording.
	Dir string
	// MaxBytes bounds the size of all files; 0 for no bound.
	MaxBytes int64
	// Refuse returns an error while the disk has no space for recordings; nil for never.
	Refuse func() error
	// Failed is called once, with the error of the disk that ends the recording. It must not block. nil for no call.
	Failed func(error)
	// Now is the clock; time.Now.
	Now func() time.Time
}

// Writer writes the files of one recording. Its methods are safe for concurrent use and never wait for the disk, except Close.
type Writer struct {
	config  Config
	started time.Time
	table   *crc32.Table
	wake    chan struct{}
	closing chan struct{}
	done    chan struct{}
	flushes chan chan struct{}
	dropped atomic.Uint64
	failed  atomic.Bool

	mu     sync.Mutex
	files  []*file
	all    map[string]bool // ids of all tracks
	closed bool

	// Only the writing goroutine touches the following.
	size int64
	err  error
}

// file is a file with records that wait to be written.
type file struct {
	name  string
	most  int
	spare []byte // the buffer that the writing goroutine uses
	out   *os.File

	mu      sync.Mutex
	waiting []byte
	ended   bool
}

// Create starts a recording: its folder and a timeline with the event Started.
func Create(c Config) (*Writer, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Refuse == nil {
		c.Refuse = func() error { return nil }
	}
	if err := os.MkdirAll(c.Dir, folderMode); err != nil {
		return nil, fmt.Errorf("make a recording's folder: %w", err)
	}
	w := &Writer{
		config: c, started: c.Now(), table: castagnoli(), wake: make(chan struct{}, 1), closing: make(chan struct{}),
		done: make(chan struct{}), all: map[string]bool{}, flushes: make(chan chan struct{}),
	}
	line := &file{name: timelineName, most: maxTimeline}
	if err := w.open(line); err != nil {
		return nil, err
	}
	w.files = []*file{line}
	w.Note(Event{Kind: Started, Started: w.started})
	go w.run()
	return w, nil
}

// Since returns the time since the start of the recording.
func (w *Writer) Since() time.Duration { return max(w.config.Now().Sub(w.started), 0) }

// Dropped returns the number of records that were lost because the disk was too slow, or had failed.
func (w *Writer) Dropped() uint64 { return w.dropped.Load() }

// Note adds an event to the timeline, at the current time.
func (w *Writer) Note(e Event) {
	e.At = w.Since()
	w.mu.Lock()
	line := w.files[0]
	w.mu.Unlock()
	if err := w.text(line, e); err != nil {
		w.dropped.Add(1)
	}
}

// text adds a record with JSON.
func (w *Writer) text(f *file, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a record: %w", err)
	}
	if len(body) > maxBody {
		return errTooLong
	}
	w.add(f, len(body), func(b []byte) []byte {
		from := len(b)
		return finish(append(begin(b, kindText), body...), from, w.table)
	})
	return nil
}

// add appends a record whose body has about n bytes, or drops it.
func (w *Writer) add(f *file, n int, encode func([]byte) []byte) {
	f.mu.Lock()
	if f.ended || w.failed.Load() || len(f.waiting)+n+headSize > f.most {
		f.mu.Unlock()
		w.dropped.Add(1)
		return
	}
	f.waiting = encode(f.waiting)
	full := len(f.waiting) >= flushAt
	f.mu.Unlock()
	if full {
		w.poke()
	}
}

func (w *Writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Track writes the packets of one track.
type Track struct {
	w *Writer
	f *file
}

// Track begins a track. Its id names the file, so it must be a valid name; a track can't begin twice.
func (w *Writer) Track(i Info) (*Track, error) {
	if i.ID == "" || i.ID != filepath.Base(i.ID) || i.ID[0] == '.' {
		return nil, fmt.Errorf("track id %q is not a file's name", i.ID)
	}
	f := &file{name: i.ID + trackSuffix, most: maxWaiting}
	if err := w.text(f, i); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.all[i.ID] {
		return nil, fmt.Errorf("track %s: %w", i.ID, os.ErrExist)
	}
	w.all[i.ID] = true
	w.files = append(w.files, f)
	return &Track{w, f}, nil
}

// Packet adds a packet, which has just arrived. It keeps no reference to the payload.
func (t *Track) Packet(sequence uint16, timestamp uint32, marker bool, payload []byte) {
	if len(payload) > maxBody-packetHead {
		t.w.dropped.Add(1)
		return
	}
	p := Packet{Arrived: t.w.Since(), Sequence: sequence, Timestamp: timestamp, Marker: marker, Payload: payload}
	t.w.add(t.f, packetHead+len(payload), func(b []byte) []byte { return appendPacket(b, &p, t.w.table) })
}

// Report adds a sender report, which has just arrived.
func (t *Track) Report(ntp uint64, timestamp uint32) {
	r := Report{Arrived: t.w.Since(), NTP: ntp, Timestamp: timestamp}
	t.w.add(t.f, reportSize, func(b []byte) []byte { return appendReport(b, &r, t.w.table) })
}

// Close ends the track. Records that come later are dropped.
func (t *Track) Close() {
	t.f.mu.Lock()
	t.f.ended = true
	t.f.mu.Unlock()
}
