package diskspace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Mark is an amount of free space: a number of bytes, or a share of the file system.
// The zero value is a mark that no file system is below.
type Mark struct {
	bytes   uint64
	percent float64
}

// units are the suffixes that ParseMark accepts.
func units() []struct {
	suffix string
	bytes  float64
} {
	return []struct {
		suffix string
		bytes  float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"", 1}}
}

// ParseMark reads a mark such as 2GiB, 500MiB, 1073741824 (bytes), 5% or 0 (no mark).
func ParseMark(text string) (Mark, error) {
	fault := fmt.Errorf("%q is not an amount of free space; write 2GiB, 500MiB, a number of bytes, a share such as 5%%, or 0 for none", text)
	if share, percent := strings.CutSuffix(text, "%"); percent {
		n, err := strconv.ParseFloat(share, 64)
		if err != nil || !(n >= 0 && n <= 100) {
			return Mark{}, fault
		}
		return Mark{percent: n}, nil
	}
	for _, unit := range units() {
		amount, has := strings.CutSuffix(text, unit.suffix)
		if !has {
			continue
		}
		n, err := strconv.ParseFloat(amount, 64)
		if err != nil || !(n >= 0 && n*unit.bytes < math.MaxInt64) {
			return Mark{}, fault
		}
		return Mark{bytes: uint64(n * unit.bytes)}, nil
	}
	return Mark{}, fault
}

// Of returns the mark in bytes, on a file system of total bytes.
func (m Mark) Of(total uint64) uint64 {
	if m.percent > 0 {
		return uint64(m.percent / 100 * float64(total))
	}
	return m.bytes
}

// Bytes writes an amount of space for people, such as "1.5 GiB".
func Bytes(n uint64) string {
	for _, unit := range []struct {
		name  string
		bytes uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
