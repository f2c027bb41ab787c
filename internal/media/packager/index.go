package packager

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/Eyevinn/mp4ff/hevc"
	"github.com/Eyevinn/mp4ff/mp4"
)

const (
	// maxIndex bounds a moov box in bytes: 24 hours with 60 pictures per second have about 100 MB.
	maxIndex = 256 << 20
	// maxSamples bounds the samples of a track: 24 hours with 120 pictures per second.
	maxSamples = 24 * 3600 * 120
	// maxUniform bounds the samples of a track in which all have the same size: an index of some bytes may name millions of them.
	maxUniform = 1 << 20
	// maxLength bounds a track.
	maxLength = 25 * time.Hour
	// maxTracks bounds the tracks of a file.
	maxTracks = 8
	// maxBoxes bounds the boxes of a file that are skipped to find moov.
	maxBoxes = 64
)

// track is the index of a track of a source.
type track struct {
	video bool
	scale uint32 // Hz
	entry mp4.Box
	codec string

	width, height int
	rate, voices  int // sampling rate in Hz and channels

	samples []sample
	chunks  []chunk
	first   int // the first sample that is used
	// start is the decoding time of that sample, and shift is subtracted from all presentation times. Both are in the track's scale, and
	// come from the file's edit list.
	start, shift int64
}

// sample is a coded frame. Times are in the track's scale.
type sample struct {
	size     uint32
	duration uint32
	offset   int32 // presentation minus decoding time
	sync     bool
}

// chunk is a run of samples that follow each other in the file.
type chunk struct {
	at         int64 // offset in the file
	first, end int   // samples
	track      int   // in the list of tracks
}

// readIndex reads the tracks of a source, in the order of the file.
func readIndex(ctx context.Context, s Source) ([]*track, error) {
	content, err := readMoov(ctx, s)
	if err != nil {
		return nil, err
	}
	tracks, err := parseMoov(content)
	if err != nil {
		return nil, damaged(err)
	}
	for _, t := range tracks {
		if err := t.check(s.Size); err != nil {
			return nil, damaged(err)
		}
	}
	return tracks, nil
}

// check compares the places of the samples with the size of the file, and the length of the track with maxLength.
func (t *track) check(size int64) error {
	for _, c := range t.chunks {
		end := c.at
		for _, s := range t.samples[c.first:c.end] {
			end += int64(s.size)
		}
		if c.at < 0 || end > size {
			return errors.New("a chunk is outside of the file")
		}
	}
	ticks, most := t.start, int64(maxLength.Seconds())*int64(t.scale)
	for _, s := range t.samples {
		ticks += int64(s.duration)
	}
	if t.start < 0 || t.start > most || ticks > most || t.shift > most {
		return errors.New("a track is too long")
	}
	return nil
}

// readMoov finds the moov box and returns it whole.
func readMoov(ctx context.Context, s Source) ([]byte, error) {
	at := int64(0)
	for range maxBoxes {
		if at >= s.Size {
			break
		}
		name, size, err := readHeader(ctx, s, at)
		if err != nil {
			return nil, err
		}
		if name == "moov" {
			if size > maxIndex {
				return nil, &MediaError{"A file of the transcode is too long."}
			}
			return readRange(ctx, s, at, size)
		}
		at += size
	}
	return nil, damaged(errors.New("the file has no index"))
}

// readHeader reads the header of a box; size is that of the whole box.
func readHeader(ctx context.Context, s Source, at int64) (name string, size int64, err error) {
	const short, long = 8, 16
	b, err := readRange(ctx, s, at, min(long, s.Size-at))
	if err != nil {
		return "", 0, err
	}
	if len(b) < short {
		return "", 0, damaged(io.ErrUnexpectedEOF)
	}
	size = int64(binary.BigEndian.Uint32(b))
	switch {
	case size == 0:
		size = s.Size - at
	case size == 1 && len(b) == long:
		size = int64(binary.BigEndian.Uint64(b[short:]))
	}
	if size < short || size > s.Size-at {
		return "", 0, damaged(errors.New("a box is longer than the file"))
	}
	return string(b[4:short]), size, nil
}

func readRange(ctx context.Context, s Source, at, size int64) ([]byte, error) {
	r, err := s.Open(ctx, at, size)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.Name, err)
	}
	defer r.Close()
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.Name, err)
	}
	return b, nil
}

// parseMoov reads the tracks of pictures and sound.
func parseMoov(content []byte) (tracks []*track, err error) {
	defer func() {
		if fault := recover(); fault != nil { // the library's, at damaged boxes
			err = fmt.Errorf("read the index: %v", fault)
		}
	}()
	box, err := mp4.DecodeBox(0, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	moov, ok := box.(*mp4.MoovBox)
	if !ok || moov.Mvhd == nil || moov.Mvhd.Timescale == 0 || len(moov.Traks) > maxTracks {
		return nil, errors.New("the index has no movie header, or too many tracks")
	}
	for _, trak := range moov.Traks {
		if trak.Mdia == nil || trak.Mdia.Hdlr == nil || trak.Mdia.Mdhd == nil || trak.Mdia.Minf == nil || trak.Mdia.Minf.Stbl == nil {
			return nil, errors.New("a track is incomplete")
		}
		kind := trak.Mdia.Hdlr.HandlerType
		if kind != "vide" && kind != "soun" {
			continue
		}
		t := &track{video: kind == "vide", scale: trak.Mdia.Mdhd.Timescale}
		if err := t.read(trak, moov.Mvhd.Timescale, len(tracks)); err != nil {
			return nil, err
		}
		tracks = append(tracks, t)
	}
	return tracks, nil
}

func (t *track) read(trak *mp4.TrakBox, movieScale uint32, index int) error {
	stbl := trak.Mdia.Minf.Stbl
	if t.scale == 0 || stbl.Stsd == nil || len(stbl.Stsd.Children) != 1 || stbl.Stts == nil || stbl.Stsz == nil || stbl.Stsc == nil {
		return errors.New("a track has no tables, or more than one codec")
	}
	t.entry = stbl.Stsd.Children[0]
	if err := t.describe(); err != nil {
		return err
	}
	if err := t.readSamples(stbl); err != nil {
		return err
	}
	if err := t.readChunks(stbl, index); err != nil {
		return err
	}
	return t.readEdits(trak.Edts, movieScale)
}

// describe reads the sample entry.
func (t *track) describe() error {
	switch e := t.entry.(type) {
	case *mp4.VisualSampleEntryBox:
		t.width, t.height = int(e.Width), int(e.Height)
		switch {
		case e.AvcC != nil:
			t.codec = fmt.Sprintf("%s.%02x%02x%02x", e.Type(), e.AvcC.AVCProfileIndication, e.AvcC.ProfileCompatibility, e.AvcC.AVCLevelIndication)
		case e.HvcC != nil:
			name, err := hevcCodec(e)
			if err != nil {
				return err
			}
			t.codec = name
		}
	case *mp4.AudioSampleEntryBox:
		t.rate, t.voices = int(e.SampleRate), int(e.ChannelCount)
		if e.Esds != nil && e.Esds.DecConfigDescriptor != nil && e.Esds.DecConfigDescriptor.DecSpecificInfo != nil &&
			len(e.Esds.DecConfigDescriptor.DecSpecificInfo.DecConfig) > 0 {
			const shortTypes = 31
			kind := e.Esds.DecConfigDescriptor.DecSpecificInfo.DecConfig[0] >> 3
			if kind < shortTypes {
				t.codec = "mp4a.40." + strconv.Itoa(int(kind))
			}
		}
	}
	if t.codec == "" {
		return fmt.Errorf("the codec %q can't be packaged", t.entry.Type())
	}
	return nil
}

// hevcCodec is the name of a codec as RFC 6381 and ISO/IEC 14496-15, annex E, have it.
func hevcCodec(e *mp4.VisualSampleEntryBox) (string, error) {
	for _, list := range e.HvcC.NaluArrays {
		if list.NaluType() != hevc.NALU_SPS || len(list.Nalus) == 0 {
			continue
		}
		sps, err := hevc.ParseSPSNALUnit(list.Nalus[0])
		if err != nil {
			return "", fmt.Errorf("read the parameters of HEVC: %w", err)
		}
		return hevc.CodecString(e.Type(), sps), nil
	}
	return "", errors.New("HEVC has no parameters")
}

func (t *track) readSamples(stbl *mp4.StblBox) error {
	n := int(stbl.Stsz.SampleNumber)
	uniform := stbl.Stsz.SampleUniformSize
	if n > maxSamples || uniform == 0 && len(stbl.Stsz.SampleSize) != n || uniform > 0 && n > maxUniform {
		return fmt.Errorf("a track has %d samples", n)
	}
	t.samples = make([]sample, n)
	for i := range t.samples {
		t.samples[i].size, t.samples[i].sync = uniform, stbl.Stss == nil
		if uniform == 0 {
			t.samples[i].size = stbl.Stsz.SampleSize[i]
		}
	}
	if err := t.readDurations(stbl.Stts); err != nil {
		return err
	}
	if stbl.Ctts != nil {
		for i, offset := range stbl.Ctts.SampleOffset {
			for s := int(stbl.Ctts.EndSampleNr[i]); s < min(int(stbl.Ctts.EndSampleNr[i+1]), n); s++ {
				t.samples[s].offset = offset
			}
		}
	}
	if stbl.Stss != nil {
		for _, number := range stbl.Stss.SampleNumber {
			if number == 0 || int(number) > n {
				return errors.New("a key frame is missing")
			}
			t.samples[number-1].sync = true
		}
	}
	return nil
}

func (t *track) readDurations(stts *mp4.SttsBox) error {
	at := 0
	for i, count := range stts.SampleCount {
		for range count {
			if at >= len(t.samples) {
				return errors.New("a track has more times than samples")
			}
			t.samples[at].duration = stts.SampleTimeDelta[i]
			at++
		}
	}
	if at != len(t.samples) {
		return errors.New("a track has fewer times than samples")
	}
	return nil
}

func (t *track) readChunks(stbl *mp4.StblBox, index int) error {
	var places []int64
	switch {
	case stbl.Co64 != nil:
		for _, at := range stbl.Co64.ChunkOffset {
			places = append(places, int64(at))
		}
	case stbl.Stco != nil:
		for _, at := range stbl.Stco.ChunkOffset {
			places = append(places, int64(at))
		}
	}
	first, group := 0, 0
	for i, at := range places {
		for group+1 < len(stbl.Stsc.Entries) && int(stbl.Stsc.Entries[group+1].FirstChunk) <= i+1 {
			group++
		}
		if group >= len(stbl.Stsc.Entries) || len(t.chunks) > 0 && at < t.chunks[len(t.chunks)-1].at {
			return errors.New("the chunks are not in order")
		}
		end := min(first+int(stbl.Stsc.Entries[group].SamplesPerChunk), len(t.samples))
		t.chunks = append(t.chunks, chunk{at, first, end, index})
		first = end
	}
	if first != len(t.samples) {
		return errors.New("a track has samples without a place")
	}
	return nil
}

// readEdits reads an edit list of an optional pause and one part of the media, as encoders write it.
func (t *track) readEdits(edts *mp4.EdtsBox, movieScale uint32) error {
	pause, at := int64(0), int64(0)
	if edts != nil && len(edts.Elst) > 0 {
		list := edts.Elst[0].Entries
		if len(list) > 0 && list[0].MediaTime < 0 {
			pause = int64(float64(list[0].SegmentDuration) * float64(t.scale) / float64(movieScale))
			list = list[1:]
		}
		if len(list) > 1 {
			return errors.New("the file has more than one edit")
		}
		if len(list) == 1 {
			at = max(list[0].MediaTime, 0)
		}
	}
	if t.video {
		t.start, t.shift = pause, at
		return nil
	}
	// The sound before the edit is the encoder's lead-in, in whole frames. It is left out.
	for t.first < len(t.samples) {
		frame := int64(t.samples[t.first].duration)
		if frame == 0 || at < frame-frame/2 {
			break
		}
		at -= frame
		t.first++
	}
	t.start = max(pause-at, 0)
	return nil
}
