package sfu_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
	"showfloor/internal/media/trackfile"
)

// archive makes the files of recordings in a folder. It implements sfu.Recordings.
type archive struct {
	dir   string
	fault error
	most  int64

	mu    sync.Mutex
	parts int
	ends  []error
}

func (a *archive) part(n int) string { return filepath.Join(a.dir, strconv.Itoa(n)) }

func (a *archive) ended() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]error(nil), a.ends...)
}

func (a *archive) Begin(_ string, failed func(error)) (*trackfile.Writer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fault != nil {
		a.ends = append(a.ends, a.fault)
		return nil, a.fault
	}
	a.parts++
	return trackfile.Create(trackfile.Config{Dir: a.part(a.parts), Failed: failed, MaxBytes: a.most})
}

func (a *archive) End(_ string, _ *trackfile.Writer, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = append(a.ends, err)
}

func newArchive(t *testing.T, change func(*archive)) (*rig, *archive) {
	t.Helper()
	a := &archive{dir: t.TempDir()}
	if change != nil {
		change(a)
	}
	return newRig(t, func(c *sfu.Config) { c.Recordings = a }), a
}

// kinds returns the kinds of a user's events, without those of speakers.
func kinds(t *testing.T, dir, user string) (list []trackfile.Kind) {
	t.Helper()
	events, err := trackfile.Timeline(dir)
	require.NoError(t, err)
	for _, e := range events {
		if e.UserID == user {
			list = append(list, e.Kind)
		}
	}
	return list
}

// content counts the packets, marks and reports of a part's tracks, by source.
func content(t *testing.T, dir string) map[string][3]int {
	t.Helper()
	paths, err := trackfile.Tracks(dir)
	require.NoError(t, err)
	list := map[string][3]int{}
	for _, path := range paths {
		r, err := trackfile.Open(path)
		require.NoError(t, err)
		var n [3]int
		for {
			p, x, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			switch {
			case x != nil:
				n[2]++
			case p.Marker:
				n[1]++
				n[0]++
			default:
				n[0]++
			}
		}
		require.NoError(t, r.Close())
		list[r.Info.UserID+" "+r.Info.Source] = n
	}
	return list
}

// TestRecording: the tracks that are there and those that come later are written, with what happens in the room. A recording that has
// ended doesn't begin again.
func TestRecording(t *testing.T) {
	t.Parallel()
	r, a := newArchive(t, nil)
	ann := r.join(t, "ann:host")
	require.Equal(t, false, ann.Expect(t, "the state", func(m sfutest.Message) bool { return m.Type == "welcome" }).Session["recording"])
	cameras := ann.Publish(t, sfutest.Camera())
	bob := r.join(t, "bob")
	bob.Sees(t, cameras[0].ID, 3)
	r.server.Record("sess_1", "rec_1")
	r.server.Record("sess_1", "rec_1")
	r.server.Record("other", "rec_2")
	eventually(t, "the camera", func() bool { return size(t, a.part(1)) > 20_000 })
	require.Equal(t, map[string]string{"sess_1": "rec_1"}, r.server.Recorded())
	bob.Expect(t, "the mark", func(m sfutest.Message) bool { return m.Type == "session" && m.Session["recording"] == true })
	cid := r.join(t, "cid")
	require.Equal(t, true, cid.Expect(t, "the state", func(m sfutest.Message) bool { return m.Type == "welcome" }).Session["recording"])
	cid.Sees(t, cameras[0].ID, 3) // a connection that is being made can't be closed cleanly
	microphone := bob.Publish(t, sfutest.Microphone())[0]
	ann.ExpectTrack(t, "bob", "microphone")
	ann.Send(t, map[string]any{"type": "mute", "id": cameras[0].ID, "muted": true})
	bob.Expect(t, "the mute", func(m sfutest.Message) bool { return m.Type == "track" && m.Track.ID == cameras[0].ID && m.Track.Muted })
	r.change("sess_1", "ann", func(g *sfu.Grant) { g.Room.Session = map[string]any{"layout": "spotlight", "spotlightUserId": "bob"} })
	eventually(t, "the microphone", func() bool {
		info, err := os.Stat(filepath.Join(a.part(1), microphone.ID+".track"))
		return err == nil && info.Size() > 2000
	})
	bob.Send(t, map[string]any{"type": "leave"})
	bob.Close()
	ann.Expect(t, "bob leaves", func(m sfutest.Message) bool { return m.Type == "left" })
	r.server.StopRecording("sess_1", "rec_0")
	r.server.StopRecording("sess_1", "rec_1")
	eventually(t, "the end", func() bool { return len(a.ended()) == 1 })
	require.NoError(t, a.ended()[0])
	ann.Expect(t, "the end of the mark", func(m sfutest.Message) bool { return m.Type == "session" && m.Session["recording"] == false })
	r.server.Record("sess_1", "rec_1")
	require.Empty(t, r.server.Recorded())

	require.Equal(t, []trackfile.Kind{trackfile.Joined, trackfile.Published, trackfile.Muted}, kinds(t, a.part(1), "ann"))
	require.Equal(t, []trackfile.Kind{
		trackfile.Joined, trackfile.Published, trackfile.Arranged, trackfile.Ended, trackfile.Left,
	}, kinds(t, a.part(1), "bob"))
	found := content(t, a.part(1))
	require.Len(t, found, 2)
	require.Greater(t, found["ann camera"][0], 20)
	require.NotZero(t, found["ann camera"][1], "marks")
	require.Greater(t, found["bob microphone"][0], 5)
}

// size returns the size of a part's tracks, in bytes.
func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.track"))
	require.NoError(t, err)
	for _, path := range paths {
		info, err := os.Stat(path)
		require.NoError(t, err)
		total += info.Size()
	}
	return total
}

// TestRecordingEndsWithItsRoom also when the last participant leaves while it begins.
func TestRecordingEndsWithItsRoom(t *testing.T) {
	t.Parallel()
	r, a := newArchive(t, nil)
	for n := 1; n <= 3; n++ {
		ann := r.join(t, "ann:host")
		r.server.Record("sess_1", "rec_"+strconv.Itoa(n))
		ann.Send(t, map[string]any{"type": "leave"})
		ann.Close()
		eventually(t, "the end", func() bool { return len(a.ended()) == n && len(r.server.Rooms()) == 0 })
	}
}

// TestRecordingFails: a full disk, and files that can't be made, end the recording and nothing else.
func TestRecordingFails(t *testing.T) {
	t.Parallel()
	full, a := newArchive(t, func(a *archive) { a.most = 5000 })
	ann := full.join(t, "ann:host")
	ann.Publish(t, sfutest.Camera())
	full.server.Record("sess_1", "rec_1")
	eventually(t, "the end", func() bool { return len(a.ended()) == 1 })
	require.ErrorIs(t, a.ended()[0], trackfile.ErrLimit)
	ann.Expect(t, "the end of the mark", func(m sfutest.Message) bool { return m.Type == "session" && m.Session["recording"] == false })

	fault := errors.New("no folder")
	away, b := newArchive(t, func(a *archive) { a.fault = fault })
	away.join(t, "ann:host")
	away.server.Record("sess_1", "rec_1")
	eventually(t, "the end", func() bool { return len(b.ended()) == 1 })
	require.ErrorIs(t, b.ended()[0], fault)
	eventually(t, "no recording", func() bool { return len(away.server.Recorded()) == 0 })
}
