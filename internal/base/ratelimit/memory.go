package ratelimit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// shards is the number of shards per table: as many requests can count at the
	// same time.
	shards = 32
	// shardSize is the largest number of buckets in a shard. A table has 65,536
	// buckets, about 8 MiB.
	shardSize = 2048
	// looked is how many buckets are checked for each new one, to drop idle ones.
	looked = 3
	// sampled is the size of the sample from which a bucket is evicted.
	sampled = 8
)

// Memory keeps buckets in this process. It drops full buckets, and its size is
// limited however many subjects there are.
type Memory struct {
	now  func() time.Time
	seed maphash.Seed

	mu     sync.RWMutex
	tables map[string]*table // by policy; there are few
}

type table [shards]shard

type shard struct {
	mu sync.Mutex
	// fullAt is the time at which each bucket will be full, in Unix nanoseconds.
	fullAt map[string]int64
}

// NewMemory returns an empty store; now is the clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{now: now, seed: maphash.MakeSeed(), tables: map[string]*table{}}
}

// Take counts an event in each bucket if all of them allow it, and in none
// otherwise. It returns one result per bucket. The policies must differ, and all
// calls must name them in the same order, because Take locks the buckets in it.
func (m *Memory) Take(buckets ...Bucket) []Result { return m.judge(buckets, true) }

// Peek returns the same as Take and counts nothing.
func (m *Memory) Peek(buckets ...Bucket) []Result { return m.judge(buckets, false) }

// Charge counts an event that has already happened in each bucket, even if less is left.
func (m *Memory) Charge(buckets ...Bucket) {
	now := m.now().UnixNano()
	for _, b := range buckets {
		if b.Cost > 0 {
			m.charge(b, now)
		}
	}
}

func (m *Memory) charge(b Bucket, now int64) {
	s := m.shard(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	fullAt, known := s.fullAt[b.Subject]
	if !known {
		s.makeRoom(now)
	}
	s.fullAt[b.Subject] = charge(b, fullAt, now)
}

func (m *Memory) judge(buckets []Bucket, count bool) []Result {
	results := make([]Result, len(buckets))
	m.judgeEach(buckets, results, m.now().UnixNano(), count)
	return results
}

// judgeEach judges the first bucket and, while its shard is locked, the others.
// Each refusal clears count. If count is still set at the end, judgeEach counts the
// event. It reports whether it did.
func (m *Memory) judgeEach(buckets []Bucket, results []Result, now int64, count bool) bool {
	if len(buckets) == 0 {
		return count
	}
	b := buckets[0]
	s := m.shard(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	fullAt, known := s.fullAt[b.Subject]
	after, result := judge(b, fullAt, now)
	results[0] = result
	if !m.judgeEach(buckets[1:], results[1:], now, count && result.Allowed) {
		return false
	}
	if !known {
		s.makeRoom(now)
	}
	s.fullAt[b.Subject] = after
	return true
}

// makeRoom drops idle buckets in a sample. If the shard is full, it evicts the one
// of the sample that will be full soonest. So an empty bucket stays, and a client
// can't get a new allowance by making up subjects.
func (s *shard) makeRoom(now int64) {
	if s.fullAt == nil {
		s.fullAt = map[string]int64{}
	}
	full := len(s.fullAt) >= shardSize
	look := looked
	if full {
		look = sampled
	}
	soonest, at := "", int64(0)
	for subject, fullAt := range s.fullAt { // the order is random, so this is a sample
		if fullAt <= now {
			delete(s.fullAt, subject)
			full = false
		} else if soonest == "" || fullAt < at {
			soonest, at = subject, fullAt
		}
		if look--; look == 0 {
			break
		}
	}
	if full {
		delete(s.fullAt, soonest)
	}
}

func (m *Memory) shard(b Bucket) *shard {
	return &m.table(b.Name)[maphash.String(m.seed, b.Subject)%shards]
}

func (m *Memory) table(policy string) *table {
	m.mu.RLock()
	t := m.tables[policy]
	m.mu.RUnlock()
	if t != nil {
		return t
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tables[policy] == nil {
		m.tables[policy] = &table{}
	}
	return m.tables[policy]
}

// buckets returns the number of stored buckets.
func (m *Memory) buckets() (n int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, t := range m.tables {
		for i := range t {
			t[i].mu.Lock()
			n += len(t[i].fullAt)
			t[i].mu.Unlock()
		}
	}
	return n
}
