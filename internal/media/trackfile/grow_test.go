package trackfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAGrowingFile is read in steps, each from the end of the one before. A step may end inside a record.
func TestAGrowingFile(t *testing.T) {
	t.Parallel()
	whole, growing := filepath.Join(t.TempDir(), "whole"), t.TempDir()
	w, err := Create(Config{Dir: whole})
	require.NoError(t, err)
	track, err := w.Track(info("a"))
	require.NoError(t, err)
	for n := range 100 {
		track.Packet(uint16(n), 0, false, []byte(strconv.Itoa(n)))
		w.Note(Event{Kind: Spoke, UserID: strconv.Itoa(n)})
	}
	require.NoError(t, w.Close())
	var packets, events []string
	var at, line int64
	for size := 1; size < 8000; size += 61 {
		for _, name := range []string{"a" + trackSuffix, timelineName} {
			b, err := os.ReadFile(filepath.Join(whole, name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(growing, name), b[:min(size, len(b))], 0o600))
		}
		var list []Event
		list, line, err = TimelineFrom(growing, line)
		require.NoError(t, err)
		for _, e := range list {
			if e.Kind == Spoke {
				events = append(events, e.UserID)
			}
		}
		r, err := OpenAt(filepath.Join(growing, "a"+trackSuffix), at)
		if errors.Is(err, ErrEmpty) {
			continue
		}
		require.NoError(t, err)
		for {
			p, _, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			packets = append(packets, string(p.Payload))
		}
		at = r.Offset()
		require.NoError(t, r.Close())
	}
	require.Len(t, packets, 100)
	require.NotEmpty(t, events)
	for n := range packets {
		require.Equal(t, strconv.Itoa(n), packets[n])
	}
	for n := range events {
		require.Equal(t, strconv.Itoa(n), events[n])
	}
}
