package main

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

const (
	// garbageFloor and garbageLeast are the most and the least garbage in bytes that may always accumulate. Frequent
	// collections of a small heap cost the API more than the memory is worth, but a server without work doesn't need it.
	garbageFloor = 48 << 20
	garbageLeast = 8 << 20
	// A heap larger than mediaHeap bytes is assumed to be mostly media, which the collector doesn't scan. Collecting it is cheap, so
	// half of garbageFloor may accumulate, or garbageShare of the heap if that is more.
	mediaHeap    = 192 << 20
	garbageShare = 0.07
	// adjustEvery is how often the collector is adjusted to the heap's size and to the garbage since the last time.
	adjustEvery = 5 * time.Second
)

// collectOften keeps the memory of a server with many streams near the size of the live data: Go's default lets the
// heap grow to twice that. It first returns the memory that only the start needed. It ends when ctx ends.
func collectOften(ctx context.Context) {
	debug.FreeOSMemory()
	heap := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	runtimemetrics.Read(heap)
	allocated, percent := heap[1].Value.Uint64(), 0
	ticker := time.NewTicker(adjustEvery)
	defer ticker.Stop()
	for {
		runtimemetrics.Read(heap)
		live, total := heap[0].Value.Uint64(), heap[1].Value.Uint64()
		// SetGCPercent stops all goroutines for a moment.
		if next := gcPercent(live, total-allocated); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
		allocated = total
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// gcPercent returns the garbage that may accumulate, in percent of the live heap. allocated is what was allocated in
// the last adjustEvery, in bytes.
func gcPercent(live, allocated uint64) int {
	const standard = 100
	if live == 0 {
		return standard
	}
	most := garbageFloor
	if live > mediaHeap {
		most = garbageFloor / 2
	}
	floor := min(max(float64(allocated), garbageLeast), float64(most))
	return min(int(max(floor, garbageShare*float64(live))*100/float64(live)), standard)
}
