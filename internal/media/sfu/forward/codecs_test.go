package forward

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return b
}

func TestPayloadsAreParsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		codec               codec
		payload, dependency string
		want                picture
	}{
		"VP8 key, 640x360": {vp8, "10" + "100200" + "9d012a" + "8002" + "6801", "", picture{begins: true, key: true, sync: true, width: 640, height: 360}},
		"VP8 delta":        {vp8, "1001", "", picture{begins: true}},
		"VP8 continuation": {vp8, "0000", "", picture{}},
		"VP8 second partition is no beginning": {
			vp8, "1100", "", picture{},
		},
		"VP8 with all fields": {
			vp8, "90e0" + "8123" + "07" + "60" + "01", "",
			picture{begins: true, wide: true, idAt: 2, id: 0x123, tl0At: 4, tl0: 7, temporal: 1, sync: true},
		},
		"VP8 with a short id":    {vp8, "9080" + "23" + "01", "", picture{begins: true, idAt: 2, id: 0x23}},
		"VP8 cut short":          {vp8, "90e081", "", picture{}},
		"VP8 cut shorter":        {vp8, "90", "", picture{}},
		"VP8 of fields only":     {vp8, "9080" + "23", "", picture{begins: true, idAt: 2, id: 0x23}},
		"VP9 key, 320x180":       {vp9, "8a" + "8001" + "10" + "014000b4" + "00", "", picture{begins: true, key: true, sync: true, wide: true, idAt: 1, id: 1, width: 320, height: 180}},
		"VP9 delta":              {vp9, "c8" + "8001" + "00", "", picture{begins: true, wide: true, idAt: 1, id: 1}},
		"VP9 in layers":          {vp9, "e8" + "8001" + "30" + "09" + "00", "", picture{begins: true, wide: true, idAt: 1, id: 1, temporal: 1, sync: true, tl0At: 4, tl0: 9}},
		"VP9 upper spatial":      {vp9, "a8" + "05" + "02" + "09" + "00", "", picture{idAt: 1, id: 5, tl0At: 3, tl0: 9}},
		"VP9 cut short":          {vp9, "e880", "", picture{}},
		"H264 parameter set":     {h264, "67", "", picture{begins: true, key: true, sync: true}},
		"H264 aggregated":        {h264, "78" + "0001" + "09" + "0002" + "6742" + "0001" + "68", "", picture{begins: true, key: true, sync: true}},
		"H264 aggregated lie":    {h264, "78" + "ffff" + "67", "", picture{}},
		"H264 IDR":               {h264, "65", "", picture{}},
		"H264 fragment":          {h264, "7c85", "", picture{}},
		"H264 fragmented set":    {h264, "7c87", "", picture{begins: true, key: true, sync: true}},
		"AV1 sequence":           {av1, "18" + "0a", "", picture{begins: true, key: true, sync: true}},
		"AV1 delta":              {av1, "10" + "32", "", picture{}},
		"AV1 continuation":       {av1, "98" + "32", "", picture{}},
		"AV1 by its descriptor":  {av1, "10" + "32", "80" + "0001" + "80" + "00", picture{begins: true, key: true, sync: true}},
		"AV1 delta's descriptor": {av1, "10" + "32", "c1" + "0002", picture{begins: true}},
		"of another coding":      {opaque, "00", "", picture{begins: true, key: true}},
		"empty":                  {vp8, "", "", picture{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, c.codec.look(bytesOf(t, c.payload), bytesOf(t, c.dependency)))
		})
	}
}

func TestPictureSizesAreReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var heard [][3]int
	note := func(layer, w, h int) { heard = append(heard, [3]int{layer, w, h}) }
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/H264", Layers: 2, SizeChanged: note})
	// An SPS of x264 for 1280x720.
	sps := bytesOf(t, "6764001facd9405005bb011000000300100000030320f1831960")
	track.Write(1, raw(t, 1, 1, 1, sps))
	track.Write(1, raw(t, 2, 2, 1, sps))
	assert.Equal(t, [][3]int{{1, 1280, 720}}, heard)
	w, h := track.Size(1)
	assert.Equal(t, []int{1280, 720}, []int{w, h})
}

func TestH264WithoutParameterSetsBeginsAtAnIDRPicture(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/H264"})
	x := r.receiver()
	x.add(track)
	r.run()
	track.Write(0, raw(t, 1, 1, 1, bytesOf(t, "4101")))
	track.Write(0, raw(t, 2, 2, 1, bytesOf(t, "7c8501")))
	track.Write(0, raw(t, 3, 2, 1, bytesOf(t, "7c4501")))
	r.run()
	assert.Len(t, x.packets, 2)
}

func TestExtensionsArePassedOnUnderTheSubscribersIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Audio, Extensions: Extensions{AudioLevel: 5, TransportCC: 6}})
	x := r.receiver()
	x.add(track, func(c *SinkConfig) { c.Extensions = Extensions{AudioLevel: 2, TransportCC: 3} })
	r.run()
	for i := range uint16(3) {
		track.Write(0, raw(t, i, uint32(i), 1, []byte{1}, func(p *rtp.Packet) {
			if i == 1 {
				return
			}
			require.NoError(t, p.SetExtension(5, []byte{0x80 | 40}))
			require.NoError(t, p.SetExtension(6, []byte{9, 9}))
			require.NoError(t, p.SetExtension(7, []byte{1, 2, 3}))
		}))
	}
	r.run()
	require.Len(t, x.packets, 3)
	assert.Equal(t, []byte{0x80 | 40}, x.packets[0].GetExtension(2))
	assert.Nil(t, x.packets[1].GetExtension(2))
	for i, p := range x.packets {
		assert.Equal(t, []byte{0, byte(i)}, p.GetExtension(3))
		assert.Nil(t, p.GetExtension(7))
		_, err := p.Marshal()
		require.NoError(t, err)
	}
}

func TestFrameNumbersGoOnOverLayersOfAV1(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	track := r.track(TrackConfig{Kind: Video, MimeType: "video/AV1", Layers: 2, Extensions: Extensions{DependencyDescriptor: 12}})
	x := r.receiver()
	s := x.add(track, func(c *SinkConfig) { c.Extensions.DependencyDescriptor = 4 })
	s.View(View{Width: 100, Height: 100})
	r.run()
	write := func(layer int, seq, number uint16, structure int) {
		r.advance(33 * time.Millisecond)
		track.Write(layer, raw(t, seq, uint32(seq)*3000, uint32(layer+1), []byte{0x10, 0x32, 1}, func(p *rtp.Packet) {
			d := []byte{0xc0, byte(number >> 8), byte(number)}
			if structure > 0 {
				d = append(append(d, 0x80), make([]byte, structure)...)
			}
			p.Extension, p.ExtensionProfile = true, rtp.ExtensionProfileTwoByte
			require.NoError(t, p.SetExtension(12, d))
		}))
		r.run()
	}
	write(0, 1, 65535, 5)
	write(0, 2, 0, 0)
	s.View(View{})
	r.run()
	write(1, 900, 500, 40)
	write(1, 901, 501, 0)
	var numbers []uint16
	for _, p := range x.packets {
		d, ok := lookDependency(p.GetExtension(4))
		require.True(t, ok)
		numbers = append(numbers, d.number)
	}
	assert.Equal(t, []uint16{65535, 0, 1, 2}, numbers)
	assert.Len(t, x.packets[2].GetExtension(4), 44)
}
