package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/web/middleware"
	"github.com/redis/go-redis/v9"
)

// takeScript takes tokens from all buckets or from none. A bucket is stored as the moment when it is full again:
//
//	SECONDS:NANOSECONDS
//
// Lua's numbers hold integers of up to 53 bits exactly, so the script only calculates with times relative to now. They are exact for
// 104 days, and rounded beyond that.
//
// ARGV is the cost, and the interval of a token and the burst of each bucket. The reply is whether the tokens were taken, and for each
// bucket the time until it is full and the time to wait, in nanoseconds. The time to wait is -1 if the cost exceeds the burst.
var takeScript = redis.NewScript(`
local time = redis.call('TIME')
local sec, nano = tonumber(time[1]), tonumber(time[2]) * 1000
local cost = tonumber(ARGV[1])
local taken, before, after, wait = 1, {}, {}, {}
for i, key in ipairs(KEYS) do
	local interval, burst = tonumber(ARGV[2*i]), tonumber(ARGV[2*i+1])
	local full = 0
	local value = redis.call('GET', key)
	if value then
		local s, n = string.match(value, '^(%d+):(%d+)$')
		if not s then return redis.error_reply('value is not a token bucket') end
		full = math.max((tonumber(s) - sec) * 1e9 + (tonumber(n) - nano), 0)
	end
	before[i], wait[i] = full, 0
	if cost > burst then
		after[i], wait[i] = full, -1
	elseif cost <= -burst then
		after[i] = 0
	else
		after[i] = math.max(full + cost * interval, 0)
		if cost > 0 then wait[i] = math.max(after[i] - burst * interval, 0) end
	end
	if wait[i] ~= 0 then taken = 0 end
end
local reply = {taken}
for i, key in ipairs(KEYS) do
	local full = before[i]
	if taken == 1 then
		full = after[i]
		if full <= 0 then
			redis.call('DEL', key)
		elseif full ~= before[i] then
			local at = nano + full
			local seconds = math.floor(at / 1e9)
			redis.call('SET', key, string.format('%.0f:%.0f', sec + seconds, at - seconds * 1e9), 'PX', string.format('%.0f', math.ceil(full / 1e6) + 1))
		end
	end
	reply[2*i] = string.format('%.0f', full)
	reply[2*i+1] = string.format('%.0f', wait[i])
end
return reply`)

// maxBucket is the longest time in which a bucket may fill up, as for MemoryStore.
const maxBucket = 1 << 61

var (
	errBucket     = errors.New("redisstore: a Bucket needs a positive Limit and Window, and has to be full again within 73 years")
	errSameBucket = errors.New("redisstore: two buckets of one call have the same key")
)

// Take implements [middleware.Taker]. In a cluster, all buckets of a call must be in the same slot: their keys need a common part in
// braces, as the keys of middleware.Limiter have. Intervals are rounded up to whole nanoseconds.
func (s *Store) Take(ctx context.Context, cost int64, buckets []middleware.Bucket) (taken bool, err error) {
	if err := begin(ctx, 0); err != nil {
		return false, err
	}
	if len(buckets) == 0 {
		return true, nil
	}
	keys, arguments := make([]string, len(buckets)), append(make([]any, 0, 1+2*len(buckets)), cost)
	for i := range buckets {
		interval, burst, ok := plan(&buckets[i])
		if !ok {
			return false, errBucket
		}
		for _, other := range keys[:i] {
			if other == s.prefix+buckets[i].Key {
				return false, errSameBucket
			}
		}
		keys[i], arguments = s.prefix+buckets[i].Key, append(arguments, interval, burst)
	}
	reply, err := takeScript.Run(ctx, s.client, keys, arguments...).Slice()
	if err != nil {
		return false, err
	}
	if len(reply) != 1+2*len(buckets) {
		return false, errReply
	}
	for i := range buckets {
		if err := show(&buckets[i], reply[1+2*i], reply[2+2*i]); err != nil {
			return false, err
		}
	}
	return reply[0] == int64(1), nil
}

// plan returns the time in nanoseconds until one token comes back, and the number of tokens in a full bucket.
func plan(b *middleware.Bucket) (interval, burst int64, ok bool) {
	if b.Limit <= 0 || b.Window <= 0 || b.Burst < 0 {
		return 0, 0, false
	}
	interval = (int64(b.Window)-1)/b.Limit + 1
	if burst = b.Burst; burst == 0 {
		burst = b.Limit
	}
	return interval, burst, burst <= maxBucket/interval
}

// show sets the state of a bucket from the reply of the script.
func show(b *middleware.Bucket, full, wait any) error {
	reset, err := nanoseconds(full)
	if err != nil {
		return err
	}
	if b.RetryAfter, err = nanoseconds(wait); err != nil {
		return err
	}
	interval, burst, _ := plan(b)
	b.ResetAfter = reset
	b.Left = max(burst*interval-int64(reset), 0) / interval
	return nil
}

// nanoseconds reads a number of the reply.
func nanoseconds(reply any) (time.Duration, error) {
	text, _ := reply.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errReply
	}
	return time.Duration(n), nil
}
