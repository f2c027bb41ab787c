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

// Timeout is the time limit of one call, including the connect, so that a limit doesn't slow
// down the requests that it protects.
const Timeout = 100 * time.Millisecond

// keyPrefix is the prefix of our keys, because other programs may use the same database.
const keyPrefix = "showfloor:limit:"

// take is Memory.Take in Redis. It uses Redis's clock, so that processes whose clocks differ
// share the buckets. Times are in µs. KEYS: the buckets. ARGV: 1 to count the event, then
// interval, window and cost of each bucket. It returns for each bucket: allowed, remaining,
// retry after, full after.
//
//nolint:gochecknoglobals,dupword // go-redis keeps its hash; Lua ends each block with end
var take = redis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local answer, after, allowed = {}, {}, true
for i, key in ipairs(KEYS) do
  local interval, window, cost = tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  local fullAt = math.max(tonumber(redis.call('GET', key) or '0'), now)
  after[i] = fullAt + interval * cost
  local wait = after[i] - window - now
  local bucket = {0, 0, wait, fullAt - now}
  if wait > 0 then
    allowed = false
  else
    local remaining = math.floor((now + window - after[i]) / interval)
    local retry = 0
    if remaining == 0 then
      retry = math.max(after[i] + interval - window - now, 0)
    end
    bucket = {1, remaining, retry, after[i] - now}
  end
  for _, figure in ipairs(bucket) do
    answer[#answer + 1] = figure
  end
end
if allowed and ARGV[1] == '1' then
  for i, key in ipairs(KEYS) do
    redis.call('SET', key, string.format('%.0f', after[i]), 'PX', math.ceil((after[i] - now) / 1000))
  end
end
return answer
`)

// chargeAll is Memory.Charge in Redis. KEYS: the buckets. ARGV: the longest debt in µs, then
// interval and cost of each bucket.
//
//nolint:gochecknoglobals // go-redis keeps its hash
var chargeAll = redis.NewScript(`
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
for i, key in ipairs(KEYS) do
  local fullAt = math.max(tonumber(redis.call('GET', key) or '0'), now)
  local after = fullAt + tonumber(ARGV[2 * i]) * tonumber(ARGV[2 * i + 1])
  after = math.max(fullAt, math.min(after, now + tonumber(ARGV[1])))
  redis.call('SET', key, string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000))
end
return 0
`)

// Redis keeps buckets that several processes share. A bucket's key expires when the bucket is full.
type Redis struct {
	client  redisClient
	timeout time.Duration
}

// redisClient is the part of a redis.Client that is used. Packages that see the client's own
// type, whose hundreds of methods are compiled again for each of them, take seconds longer to compile.
type redisClient interface {
	redis.Scripter
	Ping(ctx context.Context) *redis.StatusCmd
	Close() error
}

// NewRedis parses the URL (redis://, rediss:// or unix://). It connects with the first call.
// timeout, normally Timeout, limits each call.
func NewRedis(url string, timeout time.Duration) (*Redis, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		// The parser's error may contain the password.
		return nil, errors.New("the Redis URL can't be read: it has to look like redis://user:password@host:6379/0")
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = timeout, timeout, timeout, timeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.DialerRetries = -1, 1 // counting in memory is faster than a retry
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	logging.Disable() // it writes errors to standard error that the caller gets as well
	return &Redis{redis.NewClient(o), timeout}, nil
}

// Close closes the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Ping checks whether Redis answers.
func (r *Redis) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.client.Ping(ctx).Err()
}

// Take counts an event in each bucket if all of them allow it, and in none otherwise. It
// returns one result per bucket.
func (r *Redis) Take(ctx context.Context, buckets ...Bucket) ([]Result, error) {
	return r.judge(ctx, buckets, 1)
}

// Peek returns the same as Take and counts nothing.
func (r *Redis) Peek(ctx context.Context, buckets ...Bucket) ([]Result, error) {
	return r.judge(ctx, buckets, 0)
}

// Charge counts an event that has already happened in each bucket, even if less is left.
func (r *Redis) Charge(ctx context.Context, buckets ...Bucket) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	var keys []string
	args := []any{maxDebt.Microseconds()}
	for _, b := range buckets {
		if b.Cost > 0 {
			keys, args = append(keys, key(b)), append(args, b.interval().Microseconds(), b.Cost)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if err := chargeAll.Run(ctx, r.client, keys, args...).Err(); err != nil {
		return fmt.Errorf("charge in Redis: %w", err)
	}
	return nil
}

func key(b Bucket) string { return keyPrefix + b.Name + ":" + b.Subject }

func (r *Redis) judge(ctx context.Context, buckets []Bucket, count int) ([]Result, error) {
	// The call ignores the end of the request's context: otherwise a client that disconnects
	// would look like a Redis that doesn't answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	keys, args := make([]string, len(buckets)), []any{count}
	for i, b := range buckets {
		interval := b.interval().Microseconds()
		keys[i], args = key(b), append(args, interval, interval*int64(b.Burst), b.cost())
	}
	answer, err := take.Run(ctx, r.client, keys, args...).Int64Slice()
	if err != nil {
		return nil, fmt.Errorf("ask Redis: %w", err)
	}
	const figures = 4
	if len(answer) != figures*len(buckets) {
		return nil, fmt.Errorf("ask Redis: %d figures", len(answer))
	}
	results := make([]Result, len(buckets))
	for i := range results {
		of := answer[figures*i:]
		results[i] = Result{
			Allowed: of[0] == 1, Remaining: int(of[1]),
			RetryAfter: time.Duration(of[2]) * time.Microsecond, Full: time.Duration(of[3]) * time.Microsecond,
		}
	}
	return results, nil
}
