package ratelimit

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAMillionSubjects checks that the store's size is limited, that idle buckets
// are dropped, and that a client can't get a new allowance by making up subjects.
func TestAMillionSubjects(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	m := NewMemory(func() time.Time { return now })
	p := Policy{Name: "email", Rate: Rate{Events: 5, Per: time.Minute, Burst: 5}}
	for range 6 {
		m.Take(Bucket{Policy: p, Subject: "victim@example.test"})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const most = shards * shardSize
	for i := range 1_000_000 {
		m.Take(Bucket{Policy: p, Subject: fmt.Sprintf("%d@example.test", i)})
		if i%1000 == 0 {
			now = now.Add(time.Millisecond)
		}
	}
	require.LessOrEqual(t, m.buckets(), most)
	require.Greater(t, m.buckets(), most*9/10)
	require.False(t, m.Take(Bucket{Policy: p, Subject: "victim@example.test"})[0].Allowed, "an empty bucket is kept before others")
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(32<<20))

	now = now.Add(time.Hour)
	for i := range 100_000 { // an hour later, when all earlier buckets are idle
		m.Take(Bucket{Policy: p, Subject: fmt.Sprintf("later-%d", i%100)})
		m.Take(Bucket{Policy: p, Subject: fmt.Sprintf("new-%d", i)})
		now = now.Add(13 * time.Second / 100)
	}
	require.Less(t, m.buckets(), 1000)
}

func BenchmarkMemoryTake(b *testing.B) {
	m := NewMemory(time.Now)
	p := Policy{Name: "caller", Rate: Rate{Events: 1_000_000, Per: time.Second, Burst: 1_000_000}}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Take(Bucket{Policy: p, Subject: "usr_01m18qg1mhf2bsz1fk6m8v4jxe"})
		}
	})
}
