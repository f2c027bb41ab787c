package trackfile

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killEnv names the folder in which TestChildWrites records until it is killed.
const killEnv = "TRACKFILE_KILLED"

// TestChildWrites is the child process of TestKill. It prints a line for each flush.
func TestChildWrites(t *testing.T) {
	dir := os.Getenv(killEnv)
	if dir == "" {
		t.Skip("only for TestKill")
	}
	w, err := Create(Config{Dir: dir})
	require.NoError(t, err)
	tracks := make([]*Track, 4)
	for i := range tracks {
		tracks[i], err = w.Track(info("t" + strconv.Itoa(i)))
		require.NoError(t, err)
	}
	for n := 0; ; n++ {
		for _, track := range tracks {
			track.Packet(uint16(n), uint32(n), false, []byte(strconv.Itoa(n)))
		}
		if n%100 == 99 {
			w.Note(Event{Kind: Spoke, UserID: strconv.Itoa(n)})
			w.Flush()
			_, err := os.Stdout.WriteString(strconv.Itoa(n) + "\n")
			require.NoError(t, err)
		}
	}
}

// TestKill: all records that a killed process has flushed are read again, without a gap.
func TestKill(t *testing.T) {
	t.Parallel()
	for range 5 {
		dir := filepath.Join(t.TempDir(), "recording")
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestChildWrites$")
		child.Env = append(os.Environ(), killEnv+"="+dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines, flushed, enough := bufio.NewScanner(out), 0, 20+rand.IntN(200)
		for i := 0; i < enough && lines.Scan(); i++ {
			flushed, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
		}
		require.NoError(t, child.Process.Kill())
		for lines.Scan() {
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				flushed = n
			}
		}
		require.Error(t, child.Wait())
		for i := range 4 {
			packets, _ := read(t, filepath.Join(dir, "t"+strconv.Itoa(i)+trackSuffix))
			require.Greater(t, len(packets), flushed)
			for n, p := range packets {
				require.Equal(t, strconv.Itoa(n), string(p.Payload))
				require.Less(t, p.Arrived, time.Hour)
			}
		}
		events, err := Timeline(dir)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(events), 1+(flushed+1)/100)
	}
}
