package transcoder

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"
)

// readProgress reads what ffmpeg's -progress writes, and reports positions that never decrease, until the pipe ends.
func readProgress(r io.Reader, length time.Duration, report func(done time.Duration)) {
	lines := bufio.NewScanner(r)
	last := time.Duration(0)
	for lines.Scan() {
		value, ok := strings.CutPrefix(lines.Text(), "out_time_us=")
		us, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if !ok || err != nil || report == nil { // N/A before the first packet
			continue
		}
		last = max(last, min(time.Duration(us)*time.Microsecond, length))
		report(last)
	}
	_, _ = io.Copy(io.Discard, r) // after a line that is too long; otherwise ffmpeg would wait
}
