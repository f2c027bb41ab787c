package segmenter

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
)

// stillSpecs are clips of every kind of coding that stills must support.
var stillSpecs = map[string]struct {
	spec  cliptest.Spec
	plain bool // key pictures only
}{
	"CAVLC":            {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "cabac=0:8x8dct=0:ref=1:weightp=0"}, false},
	"CABAC":            {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "cabac=1:deblock=1,1:8x8dct=1:weightp=2:ref=3"}, false},
	"CABAC, B-frames":  {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, BFrames: 3, Params: "cabac=1:deblock=1,1:weightp=2"}, false},
	"CAVLC, B-frames":  {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, BFrames: 2, Params: "cabac=0"}, false},
	"slices":           {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "cabac=1:slices=5"}, false},
	"slices, CAVLC":    {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "cabac=0:slices=3"}, false},
	"odd size":         {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Size: "318x182", Params: "cabac=1"}, false},
	"large":            {cliptest.Spec{Seconds: 1, FPS: "25", GOP: 20, Size: "1920x1080", Params: "cabac=1:deblock=1,0"}, false},
	"key frames only":  {cliptest.Spec{Seconds: 1, FPS: "25", GOP: 1, Params: "cabac=1"}, true},
	"4:4:4":            {cliptest.Spec{Seconds: 1, FPS: "25", GOP: 20, Pixels: "yuv444p", Params: "cabac=1:weightp=2"}, false},
	"grey":             {cliptest.Spec{Seconds: 1, FPS: "25", GOP: 20, Pixels: "gray", Params: "cabac=1:weightp=2"}, false},
	"10 bits":          {cliptest.Spec{Seconds: 1, FPS: "25", GOP: 20, Pixels: "yuv422p10le", Params: "cabac=1"}, false},
	"fields":           {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "cabac=1:tff=1:interlaced=1"}, true},
	"fields, CAVLC":    {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "cabac=0:tff=1:interlaced=1"}, true},
	"open GOP":         {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, BFrames: 3, Params: "cabac=1:open_gop=1"}, false},
	"intra refresh":    {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "intra-refresh=1"}, false},
	"H.265":            {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Codec: "libx265", Params: "bframes=0"}, true},
	"H.265, B-frames":  {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, BFrames: 3, Codec: "libx265"}, true},
	"H.265, open GOP":  {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, BFrames: 3, Codec: "libx265", Params: "open-gop=1"}, true},
	"H.265, in slices": {cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Size: "640x640", Codec: "libx265", Params: "slices=3"}, true},
}

// TestStillsDecode: after some of an encoder's pictures come stills of a key picture, then the
// encoder's next key picture. A decoder reports no error, and meanwhile shows the key picture.
func TestStillsDecode(t *testing.T) {
	t.Parallel()
	for name, tt := range stillSpecs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			units := cliptest.Clip(t, tt.spec)
			for _, key := range firstKeys(units, 3) {
				checkStill(t, units, key, tt.plain, tt.spec.Params == "open-gop=1")
			}
		})
	}
}

// firstKeys returns the first key pictures, at most n.
func firstKeys(units []*hub.Unit, n int) []*hub.Unit {
	keys := cliptest.Only(units, func(u *hub.Unit) bool { return u.Key })
	return keys[:min(len(keys), n)]
}

// checkStill decodes a still of a key picture, inserted into its stream a little later, up to the
// next key picture. open: some pictures after that one need pictures that are missing then, so
// that decoders drop them.
func checkStill(t *testing.T, units []*hub.Unit, key *hub.Unit, plain, open bool) {
	t.Helper()
	s := newStill(key)
	require.NotNil(t, s)
	require.Equal(t, plain, s.skips == nil)
	from, at := slices.Index(units, firstKeys(units, 1)[0]), slices.Index(units, key)
	list := dataOf(units[from:min(at+8, len(units))])
	before := len(list)
	for i := range 11 {
		data, isKey := s.next(i%5 == 0)
		require.True(t, isKey || i%5 != 0 && !plain)
		list = append(list, data)
	}
	after := len(list)
	if next := slices.IndexFunc(units[at+1:], func(u *hub.Unit) bool { return u.Key }); next >= 0 {
		rest := units[at+1+next:]
		list = append(append(list, afterStill(rest[0]).Data), dataOf(rest[1:])...)
	}
	shown, alone := decode(t, key.Track, list), decode(t, key.Track, [][]byte{key.Data})
	if !open {
		require.Len(t, shown, len(list), "a picture is missing")
	}
	for i := before; i < after; i++ {
		require.Equal(t, alone[0], shown[i], "picture %d of the still", i-before)
	}
}

func dataOf(units []*hub.Unit) [][]byte {
	var list [][]byte
	for _, u := range units {
		list = append(list, u.Data)
	}
	return list
}

// decode has ffmpeg decode access units, which must cause no error, and returns a checksum of
// each picture in presentation order.
func decode(t testing.TB, track *hub.Track, list [][]byte) []string {
	t.Helper()
	var stream []byte
	for _, n := range [][]byte{track.VPS, track.SPS, track.PPS} {
		if len(n) > 0 {
			stream = append(append(stream, 0, 0, 0, 1), n...)
		}
	}
	for _, data := range list {
		nalus, ok := splitUnits(data)
		require.True(t, ok)
		for _, n := range nalus {
			stream = append(append(stream, 0, 0, 0, 1), n...)
		}
	}
	format := map[hub.Codec]string{hub.H264: "h264", hub.H265: "hevc"}[track.Codec]
	cmd := exec.Command("ffmpeg", "-v", "warning", "-nostdin", "-threads", "1", "-err_detect", "explode", "-f", format, "-i", "-",
		"-fps_mode", "passthrough", "-f", "framemd5", "-")
	cmd.Stdin = bytes.NewReader(stream)
	var out, faults bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &faults
	require.NoError(t, cmd.Run(), faults.String())
	require.Empty(t, faults.String())
	var sums []string
	for line := range strings.Lines(out.String()) {
		if line[0] != '#' {
			fields := strings.Split(strings.TrimSpace(line), ",")
			sums = append(sums, fields[len(fields)-1])
		}
	}
	return sums
}

// TestStillsDifferFromTheirNeighbours: consecutive key pictures never have the same idr_pic_id.
func TestStillsDifferFromTheirNeighbours(t *testing.T) {
	t.Parallel()
	key := cliptest.Only(cliptest.Clip(t, cliptest.Spec{Seconds: 1, FPS: "30", GOP: 30, Rate: 48000}), cliptest.IsVideo)[0]
	s := newStill(key)
	last := idOf(t, key.Track, key.Data)
	for range 5 {
		data, isKey := s.next(true)
		require.True(t, isKey)
		id := idOf(t, key.Track, data)
		require.NotEqual(t, last, id)
		last = id
	}
}

// idOf returns idr_pic_id of an access unit's first slice.
func idOf(t testing.TB, track *hub.Track, data []byte) uint32 {
	t.Helper()
	sets := setsOf(track)
	nalus, _ := splitUnits(data)
	for _, n := range nalus {
		if n[0]&0x1F == 5 {
			s := parseSlice(sets, n)
			r := bitReader{buf: s.rbsp}
			r.ue()
			r.ue()
			r.ue()
			r.bits(int(s.set.sps.Log2MaxFrameNumMinus4) + 4)
			return r.ue()
		}
	}
	t.Fatal("no IDR picture")
	return 0
}

func TestPicturesThatCannotBeRepeated(t *testing.T) {
	t.Parallel()
	units := cliptest.Clip(t, cliptest.Spec{Seconds: 2, FPS: "25", GOP: 20, Params: "intra-refresh=1"})
	require.Nil(t, newStill(units[20]), "one of the pictures of a refresh")
	key := units[0]
	for name, data := range map[string][]byte{
		"nothing": {}, "half a length": {0, 0}, "too long": {0, 0, 0, 9, 0x65}, "no slice": {0, 0, 0, 2, 0x09, 0x10},
		"no header": {0, 0, 0, 1, 0x65}, "empty": {0, 0, 0, 0},
	} {
		require.Nil(t, newStill(&hub.Unit{Track: key.Track, Data: data, Key: true}), name)
	}
	other := *key.Track
	other.PPS = []byte{0x68}
	require.Nil(t, newStill(&hub.Unit{Track: &other, Data: key.Data, Key: true}), "no parameter set")
	hevc := &hub.Track{Codec: hub.H265}
	for name, data := range map[string][]byte{
		"nothing": {}, "no slice": {0, 0, 0, 2, 0x40, 1}, "one byte": {0, 0, 0, 1, 0x26},
		"half a picture": slices.Concat(appendUnit(nil, []byte{0x26, 1, 9}), appendUnit(nil, []byte{0x02, 1, 9})),
	} {
		require.Nil(t, newStill(&hub.Unit{Track: hevc, Data: data, Key: true}), name)
	}
}

// TestOpenPicturesOfH265: they become pictures that need no earlier ones.
func TestOpenPicturesOfH265(t *testing.T) {
	t.Parallel()
	cra := []byte{byte(h265.NALUType_CRA_NUT) << 1, 1, 0x80, 7}
	u := &hub.Unit{Track: &hub.Track{Codec: hub.H265}, Data: appendUnit(nil, cra), Key: true}
	require.True(t, isStandalone(u))
	data, _ := newStill(u).next(true)
	require.Equal(t, appendUnit(nil, []byte{byte(h265.NALUType_BLA_N_LP) << 1, 1, 0x80, 7}), data)
	require.Equal(t, appendUnit(nil, []byte{byte(h265.NALUType_BLA_W_LP) << 1, 1, 0x80, 7}), afterStill(u).Data)
	require.Equal(t, appendUnit(nil, cra), u.Data, "a unit is shared")
}

func setsOf(track *hub.Track) *parameterSets {
	sets := newParameterSets()
	sets.addSPS(track.SPS)
	sets.addPPS(track.PPS)
	return sets
}

// FuzzStill repeats damaged key pictures: the output has the same content as the input.
func FuzzStill(f *testing.F) {
	for _, params := range []string{"cabac=0:slices=3", "cabac=1", "cabac=1:interlaced=1", "cabac=0:bframes=2"} {
		u := cliptest.Clip(f, cliptest.Spec{Seconds: 1, FPS: "25", GOP: 20, Size: "64x64", Params: params})[0]
		f.Add(u.Track.SPS, u.Track.PPS, u.Data)
	}
	f.Fuzz(func(t *testing.T, sps, pps, data []byte) {
		u := &hub.Unit{Track: &hub.Track{Codec: hub.H264, SPS: sps, PPS: pps}, Data: data, Key: true}
		s := newStill(u)
		if s == nil {
			return
		}
		for i := range 14 {
			repeated, key := s.next(i == 0)
			if _, ok := splitUnits(repeated); !ok {
				t.Fatalf("%x", repeated)
			}
			if !key {
				continue
			}
			again := newStill(&hub.Unit{Track: u.Track, Data: repeated, Key: true})
			if again == nil || !bytes.Equal(again.keys[s.turn], repeated) {
				t.Fatalf("a repeated picture isn't repeated as it is: %x", repeated)
			}
		}
	})
}

// FuzzBits writes codes and reads them back, with emulation prevention in between.
func FuzzBits(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		var w bitWriter
		var want []int64
		for range 50 {
			v := int64(random.Uint32() >> random.IntN(32))
			switch want = append(want, v); len(want) % 3 {
			case 0:
				w.ue(uint32(v) / 2)
			case 1:
				w.se(int32(v/4) * int32(1-v%2*2))
			case 2:
				w.bits(uint64(v), 32)
			}
		}
		w.bits(1, 1)
		nalu := preventEmulation(0x65, w.buf)
		for i := 2; i < len(nalu); i++ {
			if nalu[i-2] == 0 && nalu[i-1] == 0 && nalu[i] < 3 {
				t.Fatalf("a start code in %x", nalu)
			}
		}
		r := bitReader{buf: unescape(nalu[1:])}
		for i, v := range want {
			var got, wanted int64
			switch (i + 1) % 3 {
			case 0:
				got, wanted = int64(r.ue()), int64(uint32(v)/2)
			case 1:
				got, wanted = int64(r.se()), int64(int32(v/4)*int32(1-v%2*2))
			case 2:
				got, wanted = int64(r.bits(32)), v
			}
			if got != wanted || r.bad {
				t.Fatalf("code %d: %d instead of %d", i, got, wanted)
			}
		}
	})
}

// unescape removes emulation prevention bytes, in a simple way.
func unescape(b []byte) []byte {
	var out []byte
	zeros := 0
	for _, x := range b {
		if zeros == 2 && x == 3 {
			zeros = 0
			continue
		}
		out = append(out, x)
		if zeros++; x != 0 {
			zeros = 0
		}
	}
	return out
}

// TestSilenceDecodes: ffmpeg decodes silence of every kind to zeros, with the length that the
// track expects.
func TestSilenceDecodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		config        []byte
		rate, samples int
	}{
		{"mono", []byte{0x11, 0x88}, 48000, 1024}, {"stereo", []byte{0x11, 0x90}, 48000, 1024}, {"44100", []byte{0x12, 0x10}, 44100, 1024},
		{"3 channels", []byte{0x11, 0x98}, 48000, 1024}, {"4 channels", []byte{0x11, 0xA0}, 48000, 1024},
		{"5 channels", []byte{0x11, 0xA8}, 48000, 1024}, {"5.1", []byte{0x11, 0xB0}, 48000, 1024}, {"7.1", []byte{0x11, 0xB8}, 48000, 1024},
		{"960 samples", []byte{0x11, 0x94}, 48000, 960}, {"8000 Hz", []byte{0x15, 0x88}, 8000, 1024},
		// HE-AAC: object type 5, core 24000 Hz, SBR at 48000, AAC-LC; and type 29 with a mono core.
		{"SBR", []byte{0x2B, 0x11, 0x88, 0x00}, 24000, 2048}, {"SBR and PS", []byte{0xEB, 0x09, 0x88, 0x00}, 24000, 2048},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			track := &hub.Track{Codec: hub.AAC, AudioConfig: tt.config}
			_, _, err := describe(track)
			require.NoError(t, err)
			require.Equal(t, tt.rate, AudioRate(track))
			requireSilence(t, track, tt.samples)
		})
	}
	for _, channels := range []int{1, 2} {
		requireSilence(t, &hub.Track{Codec: hub.Opus, Channels: channels}, 960)
	}
}

// requireSilence has ffmpeg decode ten frames of a track's silence.
func requireSilence(t *testing.T, track *hub.Track, samples int) {
	t.Helper()
	c, err := newConfiguration(0, nil, track)
	require.NoError(t, err)
	s := silenceOf(track)
	frames := make([]sample, 10)
	for i := range frames {
		frames[i] = sample{data: s.data, duration: uint32(s.length), sync: true}
	}
	file := append(slices.Clone(c.Init), appendFragment(nil, 1, []TrackSamples{{track: AudioTrackID, samples: frames}})...)
	for _, decoder := range map[hub.Codec][]string{hub.AAC: {"aac"}, hub.Opus: {"opus", "libopus"}}[track.Codec] {
		cmd := exec.Command("ffmpeg", "-v", "warning", "-nostdin", "-err_detect", "explode", "-c:a", decoder, "-i", "-", "-f", "s16le", "-")
		cmd.Stdin = bytes.NewReader(file)
		var out, faults bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &faults
		require.NoError(t, cmd.Run(), faults.String())
		require.Empty(t, faults.String())
		require.GreaterOrEqual(t, out.Len(), 9*2*samples)
		require.Equal(t, make([]byte, out.Len()), out.Bytes(), "not silent")
	}
}

// TestComfortNoiseDecodes: at a pause of an encoder.
func TestComfortNoiseDecodes(t *testing.T) {
	t.Parallel()
	units := cliptest.Only(cliptest.Clip(t, cliptest.Spec{Seconds: 1, Rate: 48000, AudioCodec: "libopus"}), cliptest.NotVideo)
	c, err := newConfiguration(0, nil, units[0].Track)
	require.NoError(t, err)
	frames := []sample{}
	for _, u := range units[:20] {
		frames = append(frames, sample{data: u.Data, duration: 960, sync: true})
	}
	noise := comfortNoise(units[19].Data)
	require.EqualValues(t, 960, noise.length)
	require.True(t, isDTX(noise.data))
	for range 20 {
		frames = append(frames, sample{data: noise.data, duration: uint32(noise.length), sync: true})
	}
	file := append(slices.Clone(c.Init), appendFragment(nil, 1, []TrackSamples{{track: AudioTrackID, samples: frames}})...)
	for _, decoder := range []string{"opus", "libopus"} {
		cmd := exec.Command("ffmpeg", "-v", "warning", "-nostdin", "-c:a", decoder, "-i", "-", "-f", "s16le", "-")
		cmd.Stdin = bytes.NewReader(file)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, decoder)
		require.Greater(t, len(out), 38*960*2, decoder)
	}
}
