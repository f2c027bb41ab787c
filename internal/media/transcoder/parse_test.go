package transcoder

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBoxes(t *testing.T) {
	t.Parallel()
	const ftyp = "\x00\x00\x00\x0cftypisom"
	for name, tt := range map[string]struct {
		data   string
		inside bool
	}{
		"nothing":                {"", false},
		"one box":                {ftyp, false},
		"a torn header":          {ftyp + "\x00\x00\x00", true},
		"a torn box":             {ftyp + "\x00\x00\x00\x0amdat1", true},
		"whole boxes":            {ftyp + "\x00\x00\x00\x0amdat12\x00\x00\x00\x08free", false},
		"a size of 64 bits":      {ftyp + "\x00\x00\x00\x01mdat\x00\x00\x00\x00\x00\x00\x00\x1212", false},
		"a torn size of 64 bits": {ftyp + "\x00\x00\x00\x01mdat\x00\x00", true},
		"a torn box of 64 bits":  {ftyp + "\x00\x00\x00\x01mdat\x00\x00\x00\x00\x00\x00\x00\x121", true},
		"a box to the end":       {ftyp + "\x00\x00\x00\x00mdat12345", false},
		"too small a size":       {ftyp + "\x00\x00\x00\x07mdat12345", false},
		"another format":         {"RIFF1234AVI LIST", false},
	} {
		for _, step := range []int{1, 5, math.MaxInt} {
			var b boxes
			for rest := []byte(tt.data); len(rest) > 0; {
				n := min(step, len(rest))
				b.add(rest[:n])
				rest = rest[n:]
			}
			require.Equal(t, tt.inside, b.inside(), "%s, %d bytes at a time", name, step)
		}
	}
}

// FuzzBoxes: the result doesn't depend on how the data arrives.
func FuzzBoxes(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0cftypisom\x00\x00\x00\x0amdat1"), 7)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		var whole, parts boxes
		whole.add(data)
		cut = max(0, min(cut, len(data)))
		parts.add(data[:cut])
		parts.add(data[cut:])
		require.Equal(t, whole.inside(), parts.inside())
	})
}

func TestReadProgress(t *testing.T) {
	t.Parallel()
	var reported []time.Duration
	lines := "out_time_us=N/A\nprogress=continue\nout_time_us=-21000\nout_time_us=2000000\nout_time_us=1000000\nout_time_us=9000000\nprogress=end\n"
	readProgress(strings.NewReader(lines), 5*time.Second, func(done time.Duration) { reported = append(reported, done) })
	require.Equal(t, []time.Duration{0, 2 * time.Second, 2 * time.Second, 5 * time.Second}, reported)
	long := strings.NewReader(strings.Repeat("x", 1<<20))
	readProgress(long, 5*time.Second, nil)
	require.Zero(t, long.Len(), "the rest is read")
}

// TestFault: the message decides whether another try can help.
func TestFault(t *testing.T) {
	t.Parallel()
	exit := errors.New("exit status 1")
	for message, want := range map[string]error{
		"av_interleaved_write_frame(): No space left on device":                                         ErrNoSpace,
		"Error writing trailer of a.mp4: Disk quota exceeded":                                           ErrNoSpace,
		"a.mp4: File too large":                                                                         ErrNoSpace,
		"Unknown encoder 'libx265'":                                                                     ErrNoEncoder,
		"Too many packets buffered for output stream 0:0.":                                              &MediaError{tooLate},
		"Picture size 20000x20000 is invalid":                                                           &MediaError{tooLarge},
		"Invalid data found when processing input":                                                      &MediaError{unreadable},
		"Invalid data found when processing input\nError while opening encoder: Cannot allocate memory": nil,
		"Something else": nil,
	} {
		err := fault(exit, message, &sourceCopy{})
		if want == nil {
			require.ErrorIs(t, err, exit, message)
			require.ErrorContains(t, err, message)
		} else {
			require.Equal(t, want, err, message)
		}
	}
	require.NoError(t, trailerFault("Error while decoding stream #0:0: Invalid data found when processing input"))
	require.ErrorIs(t, trailerFault("Error writing trailer of a.mp4: No space left on device"), ErrNoSpace)
	require.Error(t, trailerFault("Error writing trailer of a.mp4: Input/output error"))
}
