package vod

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"showfloor/internal/media/mediahttp"
	"showfloor/internal/media/recordfile"
)

const (
	// readyLife is how long a finished recording is served without asking the Source again: a
	// deleted one is played no longer than that.
	readyLife = 10 * time.Second
	// liveLife does the same for a running one, and for one that can't be played.
	liveLife = time.Second
	// staleLife is how long a recording is served after the Source has begun to fail.
	staleLife = time.Minute
	// loadTime bounds a call of the Source.
	loadTime = 10 * time.Second
	// loadsAtOnce bounds the calls of the Source at the same time. The first one for a recording reads all of its segments.
	loadsAtOnce = 4
	// entryBytes is an estimate of a recording's memory beside segments and texts.
	entryBytes = 1024
	// segmentBytes and initBytes are the memory of a segment and an init.
	segmentBytes, initBytes = 120, 200
)

// cache has the recordings that were asked for last. Its methods may be called at the same time.
type cache struct {
	source Source
	loads  chan struct{} // held during a call of the source
	bound  int
	window time.Duration
	now    func() time.Time

	mu      sync.Mutex
	entries map[string]*list.Element // of *entry
	order   list.List                // the last used first
	bytes   int
}

// entry is one recording.
type entry struct {
	cache *cache
	id    string
	done  chan struct{} // closed when the fields up to length are set
	err   error
	until time.Time // of its use
	media Media
	// read is when the Source returned media.
	read time.Time
	// length is the recording's playing time.
	length time.Duration

	size  int // of what is counted; guarded by cache.mu
	mu    sync.Mutex
	lists map[string]*rendered // by name
}

// rendered is a rendered playlist.
type rendered struct {
	mediahttp.Text

	sum uint64 // a hash of Plain
}

func newCache(source Source, bound int, window time.Duration, now func() time.Time) *cache {
	return &cache{
		source: source, loads: make(chan struct{}, loadsAtOnce), bound: bound, window: window, now: now, entries: map[string]*list.Element{},
	}
}

// get returns a recording. All who ask for it at the same time share one call of the source.
func (c *cache) get(ctx context.Context, id string) (*entry, error) {
	e, last, load := c.find(id)
	if load {
		// The caller loads for all others too, so it continues when its viewer has gone.
		c.load(context.WithoutCancel(ctx), e, last)
	}
	select {
	case <-e.done:
		return e, e.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the recording: %w", ctx.Err())
	}
}

// find returns the recording's entry. load is set if the caller must load it; last is then the
// entry before, if there was one.
func (c *cache) find(id string) (e, last *entry, load bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.entries[id]; ok {
		last = entryAt(at)
		if !last.loaded() || c.now().Before(last.until) {
			c.order.MoveToFront(at)
			return last, nil, false
		}
		c.remove(last)
	}
	e = &entry{cache: c, id: id, done: make(chan struct{}), lists: map[string]*rendered{}}
	c.entries[id] = c.order.PushFront(e)
	return e, last, true
}

// entryAt is a list element's entry.
func entryAt(at *list.Element) *entry {
	e, _ := at.Value.(*entry) // the list has only entries
	return e
}

func (e *entry) loaded() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// load asks the source for what has followed the entry before. If that fails, that entry's media is used for up to staleLife.
func (c *cache) load(ctx context.Context, e, last *entry) {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	var known Media
	if last != nil && last.err == nil {
		known = last.media
	}
	var more Media
	select {
	case c.loads <- struct{}{}:
		more, e.err = c.source.Media(ctx, e.id, known.ends())
		<-c.loads
	case <-ctx.Done():
		e.err = ctx.Err()
	}
	e.read = c.now()
	if e.err == nil {
		e.media = known.followedBy(more)
	}
	life := liveLife
	switch {
	case e.err == nil && e.media.Ready:
		life = readyLife
	case e.err != nil && !errors.Is(e.err, ErrNotFound) && last != nil && last.err == nil && e.read.Sub(last.read) < staleLife:
		e.media, e.read, e.err = last.media, last.read, nil
	}
	e.length = e.media.Length()
	e.until = c.now().Add(life)
	close(e.done)
	c.grow(e, entryBytes+segmentBytes*cap(e.media.Segments)+initBytes*cap(e.media.Inits)+e.media.chapterBytes())
}

// grow counts more bytes of an entry, and removes the entries that were not used for longest if
// there are too many.
func (c *cache) grow(e *entry, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.entries[e.id]; at == nil || at.Value != e {
		return // it was removed
	}
	e.size += n
	c.bytes += n
	for at := c.order.Back(); at != nil && c.bytes > c.bound; {
		old := entryAt(at)
		at = at.Prev()
		if old.loaded() {
			c.remove(old)
		}
	}
}

// remove removes an entry; the caller holds mu.
func (c *cache) remove(e *entry) {
	at := c.entries[e.id]
	if at == nil || at.Value != e {
		return
	}
	c.order.Remove(at)
	delete(c.entries, e.id)
	c.bytes -= e.size
}

func (c *cache) usage() (entries, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.bytes
}

// list returns a playlist, rendered at the first request; nil if there is none of that name.
func (e *entry) list(name string) *rendered {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t, ok := e.lists[name]; ok {
		return t
	}
	plain := e.render(name)
	if plain == nil {
		return nil
	}
	t := &rendered{sum: hashOf(plain)}
	t.Plain = plain
	e.lists[name] = t
	e.cache.grow(e, len(plain)+len(plain)/4) // and the compressed text
	return t
}

func hashOf(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

// render returns nil for a name that is no playlist of the recording, and while nothing is stored: players treat a playlist
// without segments as an error.
func (e *entry) render(name string) []byte {
	if len(e.media.Segments) == 0 {
		return nil
	}
	if language, ok := textLanguage(name); ok {
		return textPlaylist(&e.media, language)
	}
	p := playlist{of: recordfile.Audio, window: e.cache.window}
	switch name {
	case indexName:
		return multivariant(&e.media)
	case chaptersName:
		return chapters(&e.media)
	case videoName:
		p.of = recordfile.Video
	case dvrVideoName:
		p.of, p.dvr = recordfile.Video, true
	case dvrAudioName:
		p.dvr = true
	}
	if !p.dvr && !e.media.Ready {
		return nil
	}
	return p.render(&e.media)
}
