// Package latency counts durations in buckets, so that quantiles over many servers and days can be computed from sums.
package latency

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// Buckets is the number of buckets. The last one has everything above about 20 minutes.
	Buckets = 64
	// first is the upper bound of the first bucket; each later bound is growth times the one before.
	first  = 100 * time.Microsecond
	growth = 1.3
)

// Counts has the number of durations in each bucket.
type Counts [Buckets]int64

// Add counts a duration.
func (c *Counts) Add(d time.Duration) { c[bucket(d)]++ }

// Merge adds other counts, which may be fewer or more than ours.
func (c *Counts) Merge(other []int64) {
	for i, n := range other {
		c[min(i, Buckets-1)] += n
	}
}

// Total is the number of durations.
func (c *Counts) Total() (n int64) {
	for _, k := range c {
		n += k
	}
	return n
}

// Quantile returns the duration that a share q of all durations didn't exceed, with an error of up to 15 percent; 0 without durations.
func (c *Counts) Quantile(q float64) time.Duration {
	total := c.Total()
	if total == 0 {
		return 0
	}
	rank := int64(math.Ceil(q * float64(total)))
	for i, n := range c {
		if rank -= n; rank <= 0 {
			return time.Duration(float64(first) * math.Pow(growth, float64(i)-0.5))
		}
	}
	return 0
}

// String writes the counts as PostgreSQL reads an array.
func (c *Counts) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, n := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	b.WriteByte('}')
	return b.String()
}

func bucket(d time.Duration) int {
	if d <= first {
		return 0
	}
	return min(int(math.Ceil(math.Log(float64(d)/float64(first))/math.Log(growth))), Buckets-1)
}
