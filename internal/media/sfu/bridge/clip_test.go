package bridge

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

const fps = 25

// encode runs ffmpeg and returns its output.
func encode(t testing.TB, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-v", "error", "-nostdin"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, said.String())
	return out
}

// pictures returns a clip of H.264 as of an encoder; size is the picture size.
func pictures(t testing.TB, seconds, bframes int, size string) []*hub.Unit {
	t.Helper()
	raw := encode(t, "-f", "lavfi", "-i", "testsrc=duration="+strconv.Itoa(seconds)+":size="+size+":rate="+strconv.Itoa(fps),
		"-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-g", strconv.Itoa(fps), "-bf", strconv.Itoa(bframes),
		"-x264-params", "aud=1:sliced-threads=0:threads=1", "-f", "h264", "pipe:1")
	track := &hub.Track{Codec: hub.H264}
	var units []*hub.Unit
	for _, nal := range bytes.Split(bytes.ReplaceAll(raw, []byte{0, 0, 0, 1}, []byte{0, 0, 1}), []byte{0, 0, 1})[1:] {
		switch h264.NALUType(nal[0] & 0x1F) {
		case h264.NALUTypeAccessUnitDelimiter:
			at := time.Duration(len(units)) * time.Second / fps
			units = append(units, &hub.Unit{Track: track, DTS: at, PTS: at})
		case h264.NALUTypeSPS:
			track.SPS = nal
		case h264.NALUTypePPS:
			track.PPS = nal
		default:
			u := units[len(units)-1]
			u.Key = u.Key || h264.NALUType(nal[0]&0x1F) == h264.NALUTypeIDR
			u.Data = append(binary.BigEndian.AppendUint32(u.Data, uint32(len(nal))), nal...)
		}
	}
	var sps h264.SPS
	require.NoError(t, sps.Unmarshal(track.SPS))
	track.Width, track.Height = sps.Width(), sps.Height()
	return units
}

// sound returns a clip of AAC as of an encoder.
func sound(t testing.TB, seconds int) []*hub.Unit {
	t.Helper()
	raw := encode(t, "-f", "lavfi", "-i", "sine=frequency=440:duration="+strconv.Itoa(seconds)+":sample_rate=44100", "-ac", "2", "-c:a", "aac", "-f", "adts", "pipe:1")
	var packets mpeg4audio.ADTSPackets
	require.NoError(t, packets.Unmarshal(raw))
	config, err := (&mpeg4audio.AudioSpecificConfig{
		Type: packets[0].Type, SampleRate: packets[0].SampleRate, ChannelConfig: packets[0].ChannelConfig,
	}).Marshal()
	require.NoError(t, err)
	track := &hub.Track{Codec: hub.AAC, AudioConfig: config, SampleRate: packets[0].SampleRate, Channels: 2}
	units := make([]*hub.Unit, len(packets))
	for i, p := range packets {
		at := (time.Duration(i) * 1024 * time.Second / 44100).Truncate(time.Millisecond)
		units[i] = &hub.Unit{Track: track, DTS: at, PTS: at, Key: true, Data: bytes.Clone(p.AU)}
	}
	return units
}
