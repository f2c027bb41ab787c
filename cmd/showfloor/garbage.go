package main

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

const (
	// garbageFloor is the garbage in bytes that may always accumulate. Frequent
	// collections of a small heap cost the API more than the memory is worth.
	garbageFloor = 48 << 20
	// garbageShare is the share of a large heap that may accumulate as garbage.
	// Most of a large heap is media, which the collector doesn't scan, so
	// collecting it is cheap.
	garbageShare = 0.1
	// adjustEvery is how often the collector is adjusted to the heap's size.
	adjustEvery = 5 * time.Second
)

// collectOften keeps the memory of a server with many streams near the size of the live
// data: Go's default lets the heap grow to twice that. It returns when ctx ends.
func collectOften(ctx context.Context) {
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	ticker := time.NewTicker(adjustEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			runtimemetrics.Read(live)
			debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
		case <-ctx.Done():
			return
		}
	}
}

// gcPercent returns the garbage that may accumulate, in percent of the live heap.
func gcPercent(live uint64) int {
	const standard = 100
	if live == 0 {
		return standard
	}
	allowed := max(garbageFloor, garbageShare*float64(live))
	return min(int(allowed*100/float64(live)), standard)
}
