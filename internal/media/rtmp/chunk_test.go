package rtmp

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire builds chunk streams.
type wire []byte

func (w *wire) id(format byte, id int) {
	switch {
	case id < 64:
		*w = append(*w, format<<6|byte(id))
	case id < 320:
		*w = append(*w, format<<6, byte(id-64))
	default:
		*w = append(*w, format<<6|1, byte(id-64), byte((id-64)>>8))
	}
}

func (w *wire) u24(n int) { *w = append(*w, byte(n>>16), byte(n>>8), byte(n)) }

// time writes the timestamp field, and returns the bytes that must follow the header.
func (w *wire) time(ts uint32) []byte {
	if ts < extendedTime {
		w.u24(int(ts))
		return nil
	}
	w.u24(extendedTime)
	return binary.BigEndian.AppendUint32(nil, ts)
}

func (w *wire) type0(id int, ts uint32, kind byte, length int, payload ...byte) {
	w.id(0, id)
	ext := w.time(ts)
	w.u24(length)
	*w = append(*w, kind, 1, 0, 0, 0)
	*w = append(append(*w, ext...), payload...)
}

func (w *wire) type1(id int, delta uint32, kind byte, length int, payload ...byte) {
	w.id(1, id)
	ext := w.time(delta)
	w.u24(length)
	*w = append(append(append(*w, kind), ext...), payload...)
}

func (w *wire) type2(id int, delta uint32, payload ...byte) {
	w.id(2, id)
	ext := w.time(delta)
	*w = append(append(*w, ext...), payload...)
}

func (w *wire) type3(id int, payload ...byte) {
	w.id(3, id)
	*w = append(*w, payload...)
}

func mediaReader(b []byte) *chunkReader {
	c := newChunkReader(bufio.NewReaderSize(bytes.NewReader(b), readBuffer))
	c.media = true
	return c
}

// readAll returns all messages and the error at the end.
func readAll(c *chunkReader) (all []message, err error) {
	for {
		m, err := c.next()
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

func TestChunkHeaders(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte{7}, 300)
	var w wire
	w.type0(4, 1000, typeVideo, 1, 'a')
	w.type1(4, 40, typeAudio, 2, 'b', 'b')
	w.type2(4, 20, 'c', 'c')
	w.type3(4, 'd', 'd')               // repeats the delta
	w.type0(70, 5, typeVideo, 1, 'e')  // two-byte id
	w.type0(900, 6, typeVideo, 1, 'f') // three-byte id
	w.type3(900, 'g')                  // after type 0: its time is the delta
	w.type0(7, 20_000, typeVideo, 1, 'h')
	w.type3(7, 'i') // unless that is absurd
	w.type0(5, 1, typeVideo, len(long), long[:128]...)
	w.type0(6, 2, typeAudio, 1, 'j') // between the chunks of another message
	w.type3(5, long[:128]...)
	w.type3(5, long[:44]...)
	w.type1(8, 9, typeAudio, 1, 'k') // librtmp can start with type 1
	w.type0(4, 3, typeAudio, 0)

	got, err := readAll(mediaReader(w))
	require.ErrorIs(t, err, io.EOF)
	want := []message{
		{typeVideo, 1000, []byte("a")}, {typeAudio, 1040, []byte("bb")}, {typeAudio, 1060, []byte("cc")},
		{typeAudio, 1080, []byte("dd")}, {typeVideo, 5, []byte("e")}, {typeVideo, 6, []byte("f")},
		{typeVideo, 12, []byte("g")}, {typeVideo, 20_000, []byte("h")}, {typeVideo, 20_000, []byte("i")},
		{typeAudio, 2, []byte("j")}, {typeVideo, 1, long}, {typeAudio, 9, []byte("k")}, {typeAudio, 3, nil},
	}
	require.Equal(t, want, got)
}

func TestExtendedTimestamps(t *testing.T) {
	t.Parallel()
	const start = 0xFFFFFFF0
	body := bytes.Repeat([]byte{1}, 200)
	ext := binary.BigEndian.AppendUint32(nil, start)
	for name, repeated := range map[string][]byte{"repeated": ext, "not repeated": nil} {
		t.Run(name, func(t *testing.T) {
			var w wire
			w.type0(4, start, typeVideo, len(body), body[:128]...)
			w.type3(4, append(repeated, body[128:]...)...)
			w.type1(4, 32, typeVideo, 1, 'x') // wraps around at 32 bits
			w.type3(4, 'y')
			got, err := readAll(mediaReader(w))
			require.ErrorIs(t, err, io.EOF)
			require.Equal(t, []message{
				{typeVideo, start, body}, {typeVideo, 16, []byte("x")}, {typeVideo, 48, []byte("y")},
			}, got)
		})
	}
}

func TestAbortAndAbandonedMessages(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte{1}, 200)
	var w wire
	w.type0(4, 1, typeVideo, 200, body[:128]...)
	w.type0(2, 0, typeAbort, 4, 0, 0, 0, 4)
	w.type0(4, 2, typeVideo, 1, 'a')
	w.type0(4, 3, typeVideo, 200, body[:128]...)
	w.type0(4, 4, typeVideo, 1, 'b') // a new header abandons the old message
	c := mediaReader(w)
	got, err := readAll(c)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, []message{{typeVideo, 2, []byte("a")}, {typeVideo, 4, []byte("b")}}, got)
	require.Zero(t, c.assembling)
}

func TestSkippedMessagesCostNoMemory(t *testing.T) {
	const size = 12 << 20
	var w wire
	w.type0(2, 0, typeSetChunkSize, 4, 0, 0x10, 0, 0)
	w.type0(4, 0, 99, size)
	head := []byte(w)
	w = nil
	w.type0(5, 0, typeAudio, 1, 'a')
	// One chunk of 1 MiB after another, each with a one-byte header in between.
	readers := []io.Reader{bytes.NewReader(head)}
	for i := range size >> 20 {
		if i > 0 {
			readers = append(readers, bytes.NewReader([]byte{3<<6 | 4}))
		}
		readers = append(readers, io.LimitReader(zeros{}, 1<<20))
	}
	readers = append(readers, bytes.NewReader(w))
	c := newChunkReader(bufio.NewReader(io.MultiReader(readers...)))
	c.media = true
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := c.next()
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Equal(t, message{typeAudio, 0, []byte("a")}, m)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestChunkLimits(t *testing.T) {
	t.Parallel()
	manyStreams, manyUnfinished := wire{}, wire{}
	for i := range maxChunkStreams + 1 {
		manyStreams.type0(10+i, 0, typeAudio, 0)
	}
	manyUnfinished.type0(2, 0, typeSetChunkSize, 4, 0, 0x10, 0, 0)
	for i := range 3 {
		manyUnfinished.type0(10+i, 0, typeVideo, maxVideo, make([]byte, 1<<20)...)
		manyUnfinished.type3(10+i, make([]byte, 1<<20)...)
		manyUnfinished.type3(10+i, make([]byte, 1<<20)...)
	}
	single := func(f func(w *wire)) wire {
		var w wire
		f(&w)
		return w
	}
	for name, b := range map[string]wire{
		"chunk streams":   manyStreams,
		"unfinished":      manyUnfinished,
		"video":           single(func(w *wire) { w.type0(4, 0, typeVideo, maxVideo+1) }),
		"audio":           single(func(w *wire) { w.type0(4, 0, typeAudio, maxAudio+1) }),
		"command":         single(func(w *wire) { w.type0(3, 0, typeCommandAMF0, maxCommand+1) }),
		"control":         single(func(w *wire) { w.type0(2, 0, typeUserControl, maxControl+1) }),
		"chunk size":      single(func(w *wire) { w.type0(2, 0, typeSetChunkSize, 4, 0, 0x10, 0, 1) }),
		"chunk size 2^31": single(func(w *wire) { w.type0(2, 0, typeSetChunkSize, 4, 0x80, 0, 0, 1) }),
		"chunk size zero": single(func(w *wire) { w.type0(2, 0, typeSetChunkSize, 4, 0, 0, 0, 0) }),
		"no chunk size":   single(func(w *wire) { w.type0(2, 0, typeSetChunkSize, 2, 0, 0) }),
		"type 3 first":    single(func(w *wire) { w.type3(9) }),
		"type 2 first":    single(func(w *wire) { w.type2(9, 1) }),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(mediaReader(b))
			require.Error(t, err)
			require.False(t, errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF), err)
		})
	}
}

func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	t.Parallel()
	var w wire
	for i := range maxChunkStreams {
		w.type0(10+i, 0, typeVideo, maxVideo)
		w = append(w, make([]byte, 128)...)
	}
	c := mediaReader(w)
	_, err := readAll(c)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, maxChunkStreams*growStep, c.assembling)
}

func TestMediaIsSkippedBeforePublishing(t *testing.T) {
	t.Parallel()
	var w wire
	w.type0(4, 0, typeVideo, 10<<20)
	c := newChunkReader(bufio.NewReader(bytes.NewReader(w)))
	_, err := c.next()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Zero(t, c.assembling)
}

func FuzzChunks(f *testing.F) {
	var w wire
	w.type0(4, 1000, typeVideo, 200, make([]byte, 128)...)
	w.type3(4, make([]byte, 72)...)
	w.type1(4, 0xFFFFFFFF, typeAudio, 1, 1)
	w.type0(2, 0, typeSetChunkSize, 4, 0, 0, 1, 0)
	f.Add([]byte(w))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := mediaReader(b)
		total := 0
		for {
			m, err := c.next()
			if err != nil {
				break
			}
			total += len(m.body)
			sum := 0
			for _, cs := range c.streams {
				sum += cap(cs.body)
			}
			require.Equal(t, sum, c.assembling)
			require.LessOrEqual(t, sum, maxAssembling)
		}
		require.LessOrEqual(t, total, len(b))
	})
}
