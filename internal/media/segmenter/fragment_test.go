package segmenter

import (
	"bytes"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4/seekablebuffer"
)

// TestFragment: another implementation can parse our fragments.
func TestFragment(t *testing.T) {
	t.Parallel()
	tracks := []TrackSamples{
		{track: 1, video: true, base: 1 << 40, samples: []sample{
			{data: []byte("key"), duration: 3000, offset: 6000, sync: true},
			{data: []byte("b"), duration: 3001, offset: 0}}},
		{track: 2, base: 77, samples: []sample{
			{data: []byte("a"), duration: 1024, sync: true}, {data: []byte("bc"), duration: 1024, sync: true}}},
		{track: 3, base: 5, samples: []sample{
			{data: []byte("x"), duration: 1024, sync: true}, {data: []byte("y"), duration: 2000, sync: true}}},
	}
	data := appendFragment(nil, 9, tracks)
	if len(data) != cap(data) {
		t.Errorf("%d bytes in an allocation of %d", len(data), cap(data))
	}
	var parts fmp4.Parts
	if err := parts.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	p := parts[0]
	if len(parts) != 1 || p.SequenceNumber != 9 || len(p.Tracks) != len(tracks) {
		t.Fatalf("%+v", p)
	}
	for i, r := range tracks {
		got := p.Tracks[i]
		if got.ID != int(r.track) || got.BaseTime != r.base || len(got.Samples) != len(r.samples) {
			t.Fatalf("track %d: %+v", i, got)
		}
		for j, s := range r.samples {
			x := got.Samples[j]
			if x.Duration != s.duration || x.PTSOffset != s.offset || x.IsNonSyncSample == s.sync || !bytes.Equal(x.Payload, s.data) {
				t.Errorf("track %d sample %d: %+v", i, j, x)
			}
		}
	}
}

// BenchmarkFragment compares our writer of parts with mediacommon's.
func BenchmarkFragment(b *testing.B) {
	video := TrackSamples{track: 1, video: true}
	audio := TrackSamples{track: 2}
	var theirs fmp4.Part
	tracks := []*fmp4.PartTrack{{ID: 1}, {ID: 2}}
	for i := range 6 { // 200 ms at 2.5 Mbit/s
		s := sample{data: make([]byte, 10400), duration: 3000, sync: i == 0}
		video.samples = append(video.samples, s)
		tracks[0].Samples = append(tracks[0].Samples, &fmp4.Sample{Duration: 3000, Payload: s.data, IsNonSyncSample: i > 0})
	}
	for range 9 {
		s := sample{data: make([]byte, 340), duration: 1024, sync: true}
		audio.samples = append(audio.samples, s)
		tracks[1].Samples = append(tracks[1].Samples, &fmp4.Sample{Duration: 1024, Payload: s.data})
	}
	theirs.Tracks = tracks
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			appendFragment(nil, 1, []TrackSamples{video, audio})
		}
	})
	b.Run("mediacommon", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var out seekablebuffer.Buffer
			if err := theirs.Marshal(&out); err != nil {
				b.Fatal(err)
			}
		}
	})
}
