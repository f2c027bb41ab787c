package mp4file

import (
	"encoding/binary"

	"github.com/Eyevinn/mp4ff/mp4"
)

// parameterSets returns the parameter sets of a sample entry as they stand in a sample: each behind
// its length in 4 bytes. It is empty for other codecs than H.264 and H.265.
//
// If a recording has several sample entries, each key picture gets them. Chromium ignores all
// entries but the first, so after a changed size it could decode nothing; ffmpeg and others read
// the entries, and the same sets again do no harm.
func parameterSets(entry mp4.Box) []byte {
	v, ok := entry.(*mp4.VisualSampleEntryBox)
	if !ok {
		return nil
	}
	var list [][]byte
	switch {
	case v.AvcC != nil:
		list = append(append(list, v.AvcC.SPSnalus...), v.AvcC.PPSnalus...)
	case v.HvcC != nil:
		for _, array := range v.HvcC.NaluArrays {
			list = append(list, array.Nalus...)
		}
	}
	var out []byte
	for _, set := range list {
		out = binary.BigEndian.AppendUint32(out, uint32(len(set)))
		out = append(out, set...)
	}
	return out
}

// sets are the parameter sets that key pictures of a sample entry get.
func (t *table) sets(description uint32) []byte {
	if len(t.entries) < 2 {
		return nil
	}
	return parameterSets(t.entries[description-1])
}
