package ratelimit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// retryRedis is the pause after Redis didn't answer. After it, one request tries Redis again.
const retryRedis = time.Second

// Limiter counts in Redis if there is one, and in memory while Redis doesn't answer. Then
// each process has its own limits, and requests don't fail.
type Limiter struct {
	memory *Memory
	redis  *Redis // nil for none
	log    *slog.Logger
	// down is set while Redis doesn't answer. tryAt is when a caller may try it again, in
	// Unix nanoseconds.
	down  atomic.Bool
	tryAt atomic.Int64
}

// New returns a limiter that uses memory and, if it isn't nil, Redis.
func New(memory *Memory, redis *Redis, log *slog.Logger) *Limiter {
	return &Limiter{memory: memory, redis: redis, log: log}
}

// Take counts an event of the subject if the policy allows it. The policy must have a rate.
func (l *Limiter) Take(ctx context.Context, p Policy, subject string) Result {
	return l.TakeAll(ctx, Bucket{Policy: p, Subject: subject})[0]
}

// TakeAll counts an event in each bucket if all of them allow it, and in none otherwise;
// with Redis in one round trip. It returns one result per bucket. The policies must differ,
// and all calls must name them in the same order.
func (l *Limiter) TakeAll(ctx context.Context, buckets ...Bucket) []Result {
	if ask, probe := l.mayAsk(); ask {
		if r, err := l.redis.Take(ctx, buckets...); l.heard(ctx, err, probe) {
			return r
		}
	}
	return l.memory.Take(buckets...)
}

// Peek returns the same as Take and counts nothing.
func (l *Limiter) Peek(ctx context.Context, p Policy, subject string) Result {
	return l.PeekAll(ctx, Bucket{Policy: p, Subject: subject})[0]
}

// PeekAll returns the same as TakeAll and counts nothing.
func (l *Limiter) PeekAll(ctx context.Context, buckets ...Bucket) []Result {
	if ask, probe := l.mayAsk(); ask {
		if r, err := l.redis.Peek(ctx, buckets...); l.heard(ctx, err, probe) {
			return r
		}
	}
	return l.memory.Peek(buckets...)
}

// Charge counts an event that has already happened in each bucket, even if less is left:
// the whole Cost, also above the burst; with Redis in one round trip. A bucket may owe up
// to 24 hours, and Take refuses until the debt is paid.
func (l *Limiter) Charge(ctx context.Context, buckets ...Bucket) {
	if ask, probe := l.mayAsk(); ask && l.heard(ctx, l.redis.Charge(ctx, buckets...), probe) {
		return
	}
	l.memory.Charge(buckets...)
}

// Engine returns where events are counted at the moment.
func (l *Limiter) Engine() string {
	switch {
	case l.redis == nil:
		return "memory"
	case l.down.Load():
		return "memory, since Redis at REDIS_URL doesn't answer"
	default:
		return "Redis at REDIS_URL"
	}
}

// Check asks Redis, so that Engine is up to date even if there are no requests. It never
// fails: without Redis the limits are counted in memory.
func (l *Limiter) Check(ctx context.Context) error {
	if l.redis != nil {
		l.heard(ctx, l.redis.Ping(ctx), true)
	}
	return nil
}

// mayAsk reports whether the caller may ask Redis: always while Redis answers, otherwise
// one caller per pause, whose request is the probe.
func (l *Limiter) mayAsk() (ask, probe bool) {
	if l.redis == nil {
		return false, false
	}
	if !l.down.Load() {
		return true, false
	}
	due, now := l.tryAt.Load(), time.Now()
	won := now.UnixNano() >= due && l.tryAt.CompareAndSwap(due, now.Add(retryRedis).UnixNano())
	return won, won
}

// heard records whether Redis answered, and logs changes. Only a probe can end an outage:
// an answer to an older request doesn't show that Redis works now.
func (l *Limiter) heard(ctx context.Context, err error, probe bool) bool {
	switch {
	case err != nil:
		l.tryAt.Store(time.Now().Add(retryRedis).UnixNano())
		if !l.down.Swap(true) {
			l.log.WarnContext(ctx, "Redis doesn't answer: rate limits hold for this process alone", "error", err)
		}
	case probe && l.down.Swap(false):
		l.log.InfoContext(ctx, "Redis answers again: rate limits are shared")
	}
	return err == nil
}
