package recorder_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/recorder"
)

// TestRecordsABroadcastWhole: every picture and sound from the first key picture on is stored, in segments that begin with key
// pictures and have their exact duration.
func TestRecordsABroadcastWhole(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", true)
	units := clip(t)
	r.write(p, units[:len(units)/2])
	r.recorder.Record("str_1", "rec_1")
	r.write(p, units[len(units)/2:])
	r.hub.Stop("str_1", hub.ErrStopped)
	id := take("rec_1", 1)
	until(t, "the take's end", func() bool { return s.isClosed(id) })

	list := s.list(id)
	require.Len(t, list, 5)
	for i, x := range list {
		require.Equal(t, i+1, x.Number)
		require.Equal(t, 1, x.Init)
		require.False(t, x.Discontinuity)
		require.InDelta(t, 4, x.Duration.Seconds(), 0.05)
		require.InDelta(t, x.Duration.Seconds(), x.Video.Seconds(), 0.05)
		require.Len(t, s.read(t, id, "init1-v.mp4"), int(s.inits[id][0].VideoBytes))
	}
	require.Empty(t, s.closed[id])
	require.Empty(t, s.ended)
	pictures, duration := s.play(t, id, "v")
	require.Equal(t, len(cliptest.Only(units, cliptest.IsVideo)), pictures)
	require.InDelta(t, sum(list).Seconds(), duration.Seconds(), 0.001)
	frames, _ := s.play(t, id, "a")
	require.InDelta(t, len(cliptest.Only(units, cliptest.NotVideo)), frames, 4, "sound behind the last picture is left out")
	require.Equal(t, "avc1", s.inits[id][0].Codecs[:4])
	requireEmpty(t, r.spool)
}

func sum(list []recorder.Segment) (d time.Duration) {
	for _, x := range list {
		d += x.Video
	}
	return d
}

func requireEmpty(t *testing.T, spool string) {
	t.Helper()
	until(t, "the spool to be empty", func() bool {
		left, err := os.ReadDir(spool)
		return err == nil && len(left) == 0
	})
}

// TestStartAndStopOnAir: a recording that begins on air starts with the next key picture, and its end leaves the stream on air.
func TestStartAndStopOnAir(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", false)
	units := clip(t)
	third := len(units) / 3
	r.recorder.Record("str_2", "rec_0") // not on air here
	for _, u := range units[:third] {
		require.NoError(t, p.Write(u))
	}
	r.recorder.Record("str_1", "rec_1")
	r.write(p, units[third:2*third])
	require.Equal(t, map[string]string{"str_1": "rec_1"}, r.recorder.Recording())
	r.recorder.Record("str_1", "rec_1") // a repeated notification
	r.recorder.Finish("str_1")
	r.recorder.Finish("str_1")
	require.NoError(t, p.Write(units[2*third]), "the stream is on air")
	until(t, "the take's end", func() bool { return s.isClosed(take("rec_1", 1)) })
	pictures, _ := s.play(t, take("rec_1", 1), "v")
	require.InDelta(t, 180, pictures, 65) // 7 s without the beginning of a group
	require.Equal(t, map[string]int{"rec_1": 1}, s.takes)
	requireEmpty(t, r.spool)
}

// TestARecordingContinuesAfterAReconnect: the pause is cut out, and the segment after it says so.
func TestARecordingContinuesAfterAReconnect(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := newRig(t, s, t.TempDir())
	units := clip(t)
	half := len(units) / 2
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	r.write(p, units[:half])
	p.Close()
	p = r.publish("str_1", true)
	r.write(p, cliptest.Shifted(units[half:], time.Hour, time.Millisecond))
	r.hub.Stop("str_1", hub.ErrStopped)
	id := take("rec_1", 1)
	until(t, "the take's end", func() bool { return s.isClosed(id) })
	breaks := 0
	for _, x := range s.list(id) {
		if x.Discontinuity {
			breaks++
		}
	}
	require.Equal(t, 1, breaks)
	require.InDelta(t, 19.5, sum(s.list(id)).Seconds(), 2)
}

// TestAnEncodersNewSettings: another picture size begins a segment with another initialization section.
func TestAnEncodersNewSettings(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	r.write(p, clip(t))
	large := cliptest.Clip(t, cliptest.Spec{Seconds: 5, FPS: "30", GOP: 60, Rate: 48000, Stereo: true, Size: "640x360"})
	r.write(p, cliptest.Shifted(large, 20*time.Second, time.Millisecond))
	r.hub.Stop("str_1", hub.ErrStopped)
	id := take("rec_1", 1)
	until(t, "the take's end", func() bool { return s.isClosed(id) })
	require.Len(t, s.inits[id], 2)
	require.Equal(t, []int{320, 640}, []int{s.inits[id][0].Width, s.inits[id][1].Width})
	for _, x := range s.list(id) {
		require.Equal(t, x.Init == 2 && x.Number == 6, x.Discontinuity, "segment %d", x.Number)
	}
}

// TestSoundAlone records a stream without pictures.
func TestSoundAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	r.write(p, cliptest.Only(clip(t), cliptest.NotVideo))
	r.hub.Stop("str_1", hub.ErrStopped)
	id := take("rec_1", 1)
	until(t, "the take's end", func() bool { return s.isClosed(id) })
	_, duration := s.play(t, id, "a")
	require.InDelta(t, 20, duration.Seconds(), 0.1)
	for _, x := range s.list(id) {
		require.Zero(t, x.VideoBytes)
	}
}

// TestATakeWithoutARecordingLeavesNothing: the publisher never became playable, or the recording ended before the take opened.
func TestATakeWithoutARecordingLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"never known": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.refused = refused
			r := newRig(t, s, t.TempDir())
			p := r.publish("str_1", true)
			r.write(p, clip(t)[:600])
			if refused {
				r.recorder.Record("str_1", "rec_1")
				until(t, "the take to go", func() bool { return len(r.recorder.Recording()) == 0 })
			} else {
				r.hub.Stop("str_1", hub.ErrStopped)
			}
			requireEmpty(t, r.spool)
			require.Zero(t, r.recorder.Stats().SpoolBytes)
			r.stop(0)
		})
	}
}

// TestAStorageThatIsAwayForAWhile: the recording waits on the local disk, and nothing is missing.
func TestAStorageThatIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.fail(errors.New("away"))
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	units := clip(t)
	r.write(p, units)
	require.Empty(t, s.list(take("rec_1", 1)))
	require.Greater(t, r.recorder.Stats().SpoolBytes, int64(100_000))
	s.fail(nil)
	r.hub.Stop("str_1", hub.ErrStopped)
	until(t, "the take's end", func() bool { return s.isClosed(take("rec_1", 1)) })
	pictures, _ := s.play(t, take("rec_1", 1), "v")
	require.Equal(t, len(cliptest.Only(units, cliptest.IsVideo)), pictures)
	requireEmpty(t, r.spool)
	require.Zero(t, r.recorder.Stats().SpoolBytes)
}

// TestASpoolBeyondItsBound ends the recording with a reason, while the stream goes on.
func TestASpoolBeyondItsBound(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.fail(errors.New("away"))
	r := newRig(t, s, t.TempDir(), func(c *recorder.Config) { c.MaxSpool = 300_000 })
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	r.write(p, clip(t))
	until(t, "the take to end", func() bool { return len(r.recorder.Recording()) == 0 })
	s.fail(nil)
	id := take("rec_1", 1)
	until(t, "the take's end", func() bool { return s.isClosed(id) })
	require.Equal(t, "the storage was not reachable for too long", s.closed[id])
	require.Equal(t, s.closed[id], s.ended["rec_1"])
	require.NotEmpty(t, s.list(id), "the segments on the disk are stored")
	until(t, "the count", func() bool { return r.recorder.Stats().CutShort == 1 })
}

// TestARecordingHasABoundOnSegments: beyond it, it ends with a reason, while the stream goes on.
func TestARecordingHasABoundOnSegments(t *testing.T) {
	t.Parallel()
	clips := func(fps string) [2][]*hub.Unit {
		small := cliptest.Spec{Seconds: 10, FPS: fps, GOP: 1, Rate: 48000, Stereo: true}
		large := small
		large.Size = "640x360"
		return [2][]*hub.Unit{
			cliptest.Shifted(cliptest.Clip(t, small), 0, time.Millisecond), cliptest.Shifted(cliptest.Clip(t, large), 0, time.Millisecond),
		}
	}
	t.Run("other settings with each picture", func(t *testing.T) {
		t.Parallel()
		segments, reason := recordChanging(t, clips("30"), 1, 0)
		require.Equal(t, "the encoder changed its settings or its clock too often", reason)
		require.InDelta(t, 124, segments, 5)
	})
	t.Run("other settings with each second", func(t *testing.T) {
		t.Parallel()
		segments, reason := recordChanging(t, clips("1"), 110, 0)
		require.Equal(t, "the encoder changed its settings or its clock too often", reason)
		require.Equal(t, 1000, segments)
	})
	t.Run("segments", func(t *testing.T) {
		t.Parallel()
		segments, reason := recordChanging(t, clips("1"), 1, 3)
		require.Equal(t, "a recording can't have more segments", reason)
		require.Equal(t, 3, segments)
	})
}

// recordChanging records rounds of two clips of the same length, whose pictures alternate, until the take ends.
func recordChanging(t *testing.T, clips [2][]*hub.Unit, rounds, maxSegments int) (segments int, reason string) {
	t.Helper()
	s := newStore(t)
	r := newRig(t, s, t.TempDir(), func(c *recorder.Config) { c.MaxSegments = maxSegments })
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	id, length := take("rec_1", 1), 10*time.Second
	other := cliptest.Only(clips[1], cliptest.IsVideo)
	for n := range rounds {
		var mixed []*hub.Unit
		pictures := 0
		for _, u := range clips[0] {
			if cliptest.IsVideo(u) {
				if pictures%2 == 1 {
					u = other[pictures]
				}
				pictures++
			}
			mixed = append(mixed, u)
		}
		for _, u := range cliptest.Shifted(mixed, time.Duration(n)*length, time.Millisecond) {
			require.NoError(t, p.Write(u))
		}
		until(t, "most of the segments", func() bool {
			return len(s.list(id)) >= (n+1)*pictures-10 || len(r.recorder.Recording()) == 0
		})
	}
	until(t, "the take's end", func() bool { return s.isClosed(id) })
	require.Equal(t, s.closed[id], s.ended["rec_1"])
	return len(s.list(id)), s.closed[id]
}

// TestATakeThatOthersClosed is dropped at the next heartbeat or report.
func TestATakeThatOthersClosed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	units := clip(t)
	r.write(p, units[:700])
	until(t, "a segment", func() bool { return len(s.list(take("rec_1", 1))) > 0 })
	require.NoError(t, s.CloseTake(t.Context(), take("rec_1", 1), "silent"))
	stored := len(s.list(take("rec_1", 1)))
	r.write(p, units[700:])
	until(t, "the take to go", func() bool { return len(r.recorder.Recording()) == 0 })
	require.Len(t, s.list(take("rec_1", 1)), stored)
	requireEmpty(t, r.spool)
}

// TestAKilledProcess: at any byte at which a process dies, the next one stores all whole fragments of the spool, and closes the take.
func TestAKilledProcess(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.fail(errors.New("away"))
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	units := clip(t)
	r.write(p, units)
	until(t, "the take to open", func() bool { list, _ := s.OpenTakes(t.Context()); return len(list) == 1 })
	until(t, "the last segment", func() bool {
		list, _ := filepath.Glob(filepath.Join(r.spool, "take-*", "5-a.m4s"))
		return len(list) == 1
	})
	spool := t.TempDir()
	until(t, "a copy", func() bool { return os.CopyFS(filepath.Join(spool, "0"), os.DirFS(r.spool)) == nil })
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		at := filepath.Join(spool, "k")
		require.NoError(t, os.CopyFS(at, os.DirFS(filepath.Join(spool, "0"))))
		lost := tear(t, at, random)
		next := newStore(t)
		next.open, next.takes = []recorder.OpenTake{{TakeID: take("rec_1", 1)}}, map[string]int{"rec_1": 1}
		n := newRig(t, next, at)
		until(t, "the take's end", func() bool { return next.isClosed(take("rec_1", 1)) })
		pictures, duration := next.play(t, take("rec_1", 1), "v")
		require.GreaterOrEqual(t, pictures, 480, "round %d lost %d bytes", i, lost)
		require.InDelta(t, sum(next.list(take("rec_1", 1))).Seconds(), duration.Seconds(), 0.001)
		next.play(t, take("rec_1", 1), "a")
		require.Empty(t, next.closed[take("rec_1", 1)], "less than a fragment is missing")
		n.stop(10 * time.Second)
		requireEmpty(t, at)
		require.NoError(t, os.RemoveAll(at))
	}
	s.fail(nil)
}

// TestADamagedSpool: a segment that can't be read is missing with a reason, and doesn't keep the others from the storage; neither
// in the process that wrote it nor in the next one.
func TestADamagedSpool(t *testing.T) {
	t.Parallel()
	damages := map[string]func(t *testing.T, folder string){
		"missing": func(t *testing.T, folder string) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(folder, "2-v.m4s")))
		},
		"truncated": func(t *testing.T, folder string) {
			t.Helper()
			require.NoError(t, os.Truncate(filepath.Join(folder, "2-a.m4s"), 0))
		},
		"unreadable": func(t *testing.T, folder string) {
			t.Helper()
			require.NoError(t, os.Remove(filepath.Join(folder, "2-v.m4s")))
			require.NoError(t, os.Mkdir(filepath.Join(folder, "2-v.m4s"), 0o700))
		},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.fail(errors.New("away"))
			r := newRig(t, s, t.TempDir())
			p := r.publish("str_1", true)
			r.recorder.Record("str_1", "rec_1")
			r.write(p, clip(t))
			r.hub.Stop("str_1", hub.ErrStopped)
			id := take("rec_1", 1)
			until(t, "the take to open and to end", func() bool {
				list, _ := s.OpenTakes(t.Context())
				return len(list) == 1 && r.recorder.Stats().Active == 0
			})
			folders, err := filepath.Glob(filepath.Join(r.spool, "take-*"))
			require.NoError(t, err)
			require.Len(t, folders, 1)
			damage(t, folders[0])
			spool := t.TempDir()
			require.NoError(t, os.CopyFS(spool, os.DirFS(r.spool)))
			s.fail(nil)
			until(t, "the take's end", func() bool { return s.isClosed(id) })
			requireSkipped(t, s, id)
			require.Empty(t, s.ended)
			requireEmpty(t, r.spool)
			require.Zero(t, r.recorder.Stats().SpoolBytes)

			next := newStore(t)
			next.open, next.takes = []recorder.OpenTake{{TakeID: id}}, map[string]int{"rec_1": 1}
			newRig(t, next, spool)
			until(t, "the take's end", func() bool { return next.isClosed(id) })
			requireSkipped(t, next, id)
		})
	}
}

// requireSkipped checks that segment 2 of 5 is missing, or that only a part of it is there.
func requireSkipped(t *testing.T, s *store, id recorder.TakeID) {
	t.Helper()
	require.Equal(t, "a part could not be read from the server's disk", s.closed[id])
	var numbers []int
	for _, x := range s.list(id) {
		if x.Number == 2 {
			require.True(t, x.VideoBytes == 0 || x.AudioBytes == 0)
			continue
		}
		numbers = append(numbers, x.Number)
		require.Equal(t, x.Number == 3, x.Discontinuity, "segment %d", x.Number)
	}
	require.Equal(t, []int{1, 3, 4, 5}, numbers)
}

// tear cuts the newest segment's files somewhere, at most a second of media before their end.
func tear(t *testing.T, spool string, random *rand.Rand) (lost int64) {
	t.Helper()
	for _, track := range []string{"v", "a"} {
		list, err := filepath.Glob(filepath.Join(spool, "take-*", "5-"+track+".m4s"))
		require.NoError(t, err)
		require.Len(t, list, 1)
		info, err := os.Stat(list[0])
		require.NoError(t, err)
		cut := random.Int64N(info.Size() / 3)
		require.NoError(t, os.Truncate(list[0], info.Size()-cut))
		lost += cut
	}
	return lost
}

// FuzzRepair: arbitrary bytes in the spool neither stop the recorder nor become a segment with a wrong size.
func FuzzRepair(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x08moof\x00\x00\x00\x08mdat"), []byte{})
	f.Add([]byte("\xff\xff\xff\xffmoof"), []byte("\x00\x00\x00\x00mdat"))
	f.Fuzz(func(t *testing.T, video, audio []byte) {
		spool := t.TempDir()
		folder := filepath.Join(spool, "take-1")
		require.NoError(t, os.Mkdir(folder, 0o700))
		for name, content := range map[string][]byte{"take.json": []byte(`{"recordingId":"rec_1","take":1}`), "1.json": []byte(`{"Init":1}`),
			"init1.json": []byte(`{"Number":1,"AudioRate":48000}`), "1-v.m4s": video, "1-a.m4s": audio} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
		}
		s := newStore(t)
		s.open = []recorder.OpenTake{{TakeID: take("rec_1", 1)}}
		newRig(t, s, spool)
		until(t, "the take's end", func() bool { return s.isClosed(take("rec_1", 1)) })
		for _, x := range s.list(take("rec_1", 1)) {
			require.LessOrEqual(t, x.VideoBytes, int64(len(video)))
			require.LessOrEqual(t, x.AudioBytes, int64(len(audio)))
		}
	})
}

// TestALostAnswerOpensNoOtherTake: neither in the same process nor in the next one.
func TestALostAnswerOpensNoOtherTake(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.deaf = true
	r := newRig(t, s, t.TempDir())
	p := r.publish("str_1", true)
	r.recorder.Record("str_1", "rec_1")
	r.write(p, clip(t)[:600])
	r.hub.Stop("str_1", hub.ErrStopped)
	until(t, "the take's end", func() bool { return s.isClosed(take("rec_1", 1)) })
	require.Len(t, s.open, 1)

	spool := t.TempDir()
	for n, key := range map[string]string{"take-1": "another", "take-2": "this one"} {
		folder := filepath.Join(spool, n)
		require.NoError(t, os.Mkdir(folder, 0o700))
		note := `{"recordingId":"rec_1","key":"` + key + `"}`
		require.NoError(t, os.WriteFile(filepath.Join(folder, "take.json"), []byte(note), 0o600))
	}
	next := newStore(t)
	next.open, next.takes = []recorder.OpenTake{{TakeID: take("rec_1", 1), Key: "this one"}}, map[string]int{"rec_1": 1}
	newRig(t, next, spool)
	until(t, "the takes' end", func() bool { return next.isClosed(take("rec_1", 1)) && next.isClosed(take("rec_1", 2)) })
	require.Empty(t, next.closed[take("rec_1", 1)])
	require.Equal(t, map[string]int{"rec_1": 2}, next.takes)
	requireEmpty(t, spool)
}

// TestTakesWithoutFilesAreClosed: the process died between the take's opening and its first segment, or lost its disk.
func TestTakesWithoutFilesAreClosed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.open = []recorder.OpenTake{{TakeID: take("rec_1", 1)}}
	newRig(t, s, t.TempDir())
	until(t, "the take's end", func() bool { return s.isClosed(take("rec_1", 1)) })
	require.Contains(t, s.closed[take("rec_1", 1)], "stopped")
}
