package mp4fragment_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4/seekablebuffer"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/mp4fragment"
)

// marshal is a fragment of another writer.
func marshal(t testing.TB) []byte {
	t.Helper()
	var b seekablebuffer.Buffer
	require.NoError(t, fmp4.Part{SequenceNumber: 7, Tracks: []*fmp4.PartTrack{{ID: 1, BaseTime: 1 << 40, Samples: []*fmp4.Sample{
		{Duration: 3000, PTSOffset: 6000, Payload: []byte("first")},
		{Duration: 2000, PTSOffset: -1000, IsNonSyncSample: true, Payload: []byte("second")},
	}}}}.Marshal(&b))
	return b.Bytes()
}

func read(file []byte, defaults mp4fragment.Sample) (mp4fragment.Index, error) {
	r := bytes.NewReader(file)
	box, err := mp4fragment.ReadHeader(r)
	if err != nil {
		return mp4fragment.Index{}, err
	}
	return mp4fragment.Read(r, box, defaults)
}

func TestReadsAnIndex(t *testing.T) {
	t.Parallel()
	file := marshal(t)
	x, err := read(file, mp4fragment.Sample{})
	require.NoError(t, err)
	require.EqualValues(t, 7, x.Sequence)
	require.EqualValues(t, 1<<40, x.BaseTime)
	require.EqualValues(t, 5000, x.Ticks())
	require.EqualValues(t, 11, x.Size())
	require.Equal(t, "firstsecond", string(file[x.Start:]))
	require.Equal(t, []int32{6000, -1000}, []int32{x.Samples[0].Offset, x.Samples[1].Offset})
	for _, s := range x.Samples[1:] {
		require.NotZero(t, s.Flags&0x10000)
	}
	for n := range len(file) - 11 - mp4fragment.BoxHeader {
		_, err := read(file[:n], mp4fragment.Sample{})
		require.Error(t, err, "torn after %d bytes", n)
	}
	_, err = mp4fragment.ReadHeader(bytes.NewReader(nil))
	require.ErrorIs(t, err, io.EOF)
}

// TestDefaults: a sample's own field counts more than the fragment's, and that more than the initialization section's.
func TestDefaults(t *testing.T) {
	t.Parallel()
	box := func(name string, content ...byte) []byte {
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(content))), name...), content...)
	}
	numbers := func(list ...uint32) (b []byte) {
		for _, n := range list {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	file := box("moof", append(box("mfhd", numbers(0, 1)...), box("traf", bytes.Join([][]byte{
		box("tfhd", numbers(0x08, 1, 100)...),                 // a default duration
		box("trun", numbers(0x204, 2, 0x02000000, 10, 20)...), // the first sample's flags, and sizes
		box("trun", numbers(0x300, 1, 50, 30)...),             // durations and sizes
	}, nil)...)...)...)
	x, err := read(file, mp4fragment.Sample{Duration: 1, Flags: 0x10000})
	require.NoError(t, err)
	require.Equal(t, []mp4fragment.Sample{
		{Duration: 100, Size: 10, Flags: 0x02000000}, {Duration: 100, Size: 20, Flags: 0x10000}, {Duration: 50, Size: 30, Flags: 0x10000},
	}, x.Samples)
	require.EqualValues(t, -1, x.Start)
	many := box("moof", box("traf", box("trun", numbers(0, 1<<31)...)...)...)
	_, err = read(many, mp4fragment.Sample{})
	require.ErrorContains(t, err, "too many samples")
}

func FuzzRead(f *testing.F) {
	f.Add(marshal(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		x, err := read(file, mp4fragment.Sample{})
		if err == nil {
			require.NotEmpty(t, x.Samples)
		}
	})
}
