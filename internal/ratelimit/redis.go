package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Timeout is what one call may take, connecting included: a limit must not make
// the requests that it protects slow.
const Timeout = 100 * time.Millisecond

// keyPrefix begins our keys: the database may serve others as well.
const keyPrefix = "showfloor:limit:"

// take is judge in Redis, on Redis's clock, so that processes whose clocks
// differ share one bucket; times are in µs. KEYS: the bucket. ARGV: interval,
// window, and 1 to count the event. Answers: allowed, remaining, retry after,
// full after.
//
//nolint:gochecknoglobals // go-redis keeps its hash
var take = redis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local interval, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local fullAt = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local after = fullAt + interval
local wait = after - window - now
if wait > 0 then
  return {0, 0, wait, fullAt - now}
end
if ARGV[3] == '1' then
  redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
end
local remaining = math.floor((now + window - after) / interval)
local retry = 0
if remaining == 0 then
  retry = math.max(after + interval - window - now, 0)
end
return {1, remaining, retry, after - now}
`)

// Redis keeps buckets where several processes find them. A bucket's key expires
// when it is full.
type Redis struct {
	client  *redis.Client
	timeout time.Duration
}

// NewRedis reads the URL (redis://, rediss:// or unix://) and connects when it
// is needed. The timeout, normally Timeout, bounds each call.
func NewRedis(url string, timeout time.Duration) (*Redis, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		// The cause may quote the password.
		return nil, errors.New("the Redis URL can't be read: it has to look like redis://user:password@host:6379/0")
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.DialerRetries = -1, 1 // memory steps in sooner than a second try
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	logging.Disable() // it writes to standard error by itself what our callers hear as errors
	return &Redis{redis.NewClient(o), timeout}, nil
}

// Close gives the connections back.
func (r *Redis) Close() error { return r.client.Close() }

// Ping asks whether Redis answers.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.client.Ping(ctx).Err()
}

// Take counts an event of the subject, when the policy allows it.
func (r *Redis) Take(ctx context.Context, p Policy, subject string) (Result, error) {
	return r.judge(ctx, p, subject, 1)
}

// Peek tells what Take would, and counts nothing.
func (r *Redis) Peek(ctx context.Context, p Policy, subject string) (Result, error) {
	return r.judge(ctx, p, subject, 0)
}

func (r *Redis) judge(ctx context.Context, p Policy, subject string, count int) (Result, error) {
	// Not the request's own end: a caller who goes away must not look like a
	// Redis that doesn't answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	interval := p.interval().Microseconds()
	answer, err := take.Run(ctx, r.client, []string{keyPrefix + p.Name + ":" + subject},
		interval, interval*int64(p.Burst), count).Int64Slice()
	if err != nil {
		return Result{}, fmt.Errorf("ask Redis: %w", err)
	}
	const figures = 4
	if len(answer) != figures {
		return Result{}, fmt.Errorf("ask Redis: %d figures", len(answer))
	}
	return Result{
		Allowed: answer[0] == 1, Remaining: int(answer[1]),
		RetryAfter: time.Duration(answer[2]) * time.Microsecond, Full: time.Duration(answer[3]) * time.Microsecond,
	}, nil
}
