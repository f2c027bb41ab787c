package segmenter

import (
	"bytes"
	"slices"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

	"showfloor/internal/media/hub"
)

// stillID and stillID+1 are the idr_pic_id of repeated pictures, in turn. Consecutive IDR
// pictures must differ in it (ITU-T H.264, 7.4.3). Encoders count from 0 or alternate 0 and 1, so
// that their next picture differs from these, too.
const stillID = 40000

// pictureSet holds the parameter sets that H.264 slices refer to.
type pictureSet struct {
	sps *h264.SPS
	ppsH264
}

// ppsH264 holds the fields of a picture parameter set that slice headers need (ITU-T H.264,
// 7.3.2.2).
type ppsH264 struct {
	sequence      uint32 // seq_parameter_set_id
	cabac         bool
	bottomOrder   bool // bottom_field_pic_order_in_frame_present_flag
	sliceGroups   uint32
	weighted      bool
	initialQP     int32 // pic_init_qp_minus26
	deblocking    bool  // deblocking_filter_control_present_flag
	redundantPics bool
}

// parameterSets are those of an access unit, by id.
type parameterSets struct {
	sps map[uint32]*h264.SPS
	pps map[uint32]ppsH264
}

func newParameterSets() *parameterSets {
	return &parameterSets{sps: map[uint32]*h264.SPS{}, pps: map[uint32]ppsH264{}}
}

func (p *parameterSets) addSPS(nalu []byte) {
	var sps h264.SPS
	if sps.Unmarshal(nalu) == nil {
		p.sps[sps.ID] = &sps
	}
}

func (p *parameterSets) addPPS(nalu []byte) {
	if len(nalu) < 2 {
		return
	}
	r := bitReader{buf: h264.EmulationPreventionRemove(nalu[1:])}
	id := r.ue()
	var s ppsH264
	s.sequence = r.ue()
	s.cabac, s.bottomOrder = r.flag(), r.flag()
	if s.sliceGroups = r.ue() + 1; s.sliceGroups == 1 {
		r.ue() // num_ref_idx_l0_default_active_minus1
		r.ue()
		s.weighted = r.flag()
		r.bits(2) // weighted_bipred_idc
		s.initialQP = r.se()
		r.se() // pic_init_qs_minus26
		r.se() // chroma_qp_index_offset
		s.deblocking = r.flag()
		r.flag() // constrained_intra_pred_flag
		s.redundantPics = r.flag()
	}
	if !r.bad {
		p.pps[id] = s
	}
}

// find returns the sets that a slice refers to.
func (p *parameterSets) find(id uint32) (pictureSet, bool) {
	pps, ok := p.pps[id]
	sps := p.sps[pps.sequence]
	ok = ok && sps != nil && pps.sliceGroups == 1 && sps.Log2MaxFrameNumMinus4 <= 12 && sps.Log2MaxPicOrderCntLsbMinus4 <= 12
	return pictureSet{sps: sps, ppsH264: pps}, ok
}

// newStillH264 repeats a picture with intra slices only, as an IDR picture.
func newStillH264(t *hub.Track, nalus [][]byte) *stillPicture {
	sets := newParameterSets()
	sets.addSPS(t.SPS)
	sets.addPPS(t.PPS)
	for _, n := range nalus {
		switch h264.NALUType(n[0] & 0x1F) {
		case h264.NALUTypeSPS:
			sets.addSPS(n)
		case h264.NALUTypePPS:
			sets.addPPS(n)
		}
	}
	s := &stillPicture{}
	var first *sliceH264
	for i := range s.keys {
		if s.keys[i], first = repeatH264(sets, nalus, stillID+uint32(i)); s.keys[i] == nil {
			return nil
		}
	}
	s.skips = newSkipper(first)
	return s
}

// repeatH264 returns the access unit as an IDR picture with that idr_pic_id, and its first slice;
// nil if that isn't possible. Metadata of one picture, such as its captions, is left out.
func repeatH264(sets *parameterSets, nalus [][]byte, id uint32) (data []byte, first *sliceH264) {
	idr := slices.ContainsFunc(nalus, func(n []byte) bool { return h264.NALUType(n[0]&0x1F) == h264.NALUTypeIDR })
	for _, n := range nalus {
		switch h264.NALUType(n[0] & 0x1F) {
		case h264.NALUTypeSPS, h264.NALUTypePPS, h264.NALUTypeSPSExtension:
		case h264.NALUTypeNonIDR, h264.NALUTypeIDR:
			slice := parseSlice(sets, n)
			switch {
			case slice == nil:
				return nil, nil
			case slice.idr != idr && first != nil && first.field && slice.field:
				// The second field of an IDR picture isn't IDR: it stays unchanged.
			case slice.idr != idr || !slice.intra || !idr && slice.field:
				return nil, nil
			default:
				if n = slice.repeated(id); n == nil {
					return nil, nil
				}
			}
			if first == nil {
				first = slice
			}
		case h264.NALUTypeDataPartitionA, h264.NALUTypeDataPartitionB, h264.NALUTypeDataPartitionC:
			return nil, nil
		default:
			continue
		}
		data = appendUnit(data, n)
	}
	if first == nil {
		return nil, nil
	}
	return data, first
}

// sliceH264 is the part of a slice header (ITU-T H.264, 7.3.3) that slices of intra pictures
// need, and the position of its data.
type sliceH264 struct {
	set    pictureSet
	header byte // of the NAL unit
	rbsp   []byte
	data   int // position of slice_data in bits

	idr, intra  bool
	firstMB     uint32
	sliceType   uint32
	ppsID       uint32
	colourPlane uint64
	field       bool
	bottom      bool
	order       uint64   // pic_order_cnt_lsb
	orderDeltas [2]int32 // delta_pic_order_cnt_bottom or delta_pic_order_cnt
	redundant   uint32
	tail        []uint32 // slice_qp_delta and the deblocking filter's settings, encoded
}

// parseSlice parses a slice header; nil if that fails.
func parseSlice(sets *parameterSets, nalu []byte) *sliceH264 {
	s := &sliceH264{header: nalu[0], idr: h264.NALUType(nalu[0]&0x1F) == h264.NALUTypeIDR,
		rbsp: bytes.TrimRight(h264.EmulationPreventionRemove(nalu[1:]), "\x00")}
	r := bitReader{buf: s.rbsp}
	s.firstMB, s.sliceType, s.ppsID = r.ue(), r.ue(), r.ue()
	s.intra = s.sliceType == 2 || s.sliceType == 7
	var ok bool
	if s.set, ok = sets.find(s.ppsID); !ok || r.bad {
		return nil
	}
	sps := s.set.sps
	if sps.SeparateColourPlaneFlag {
		s.colourPlane = r.bits(2)
	}
	r.bits(int(sps.Log2MaxFrameNumMinus4) + 4) // frame_num
	if !sps.FrameMbsOnlyFlag {
		if s.field = r.flag(); s.field {
			s.bottom = r.flag()
		}
	}
	if !s.intra {
		return s // such as the second field: the rest isn't needed
	}
	if s.idr {
		r.ue() // idr_pic_id
	}
	s.readOrder(&r)
	if s.set.redundantPics {
		s.redundant = r.ue()
	}
	if s.header&0x60 != 0 {
		s.skipMarking(&r)
	}
	s.tail = append(s.tail, r.ue()) // slice_qp_delta
	if s.set.deblocking {
		mode := r.ue()
		if s.tail = append(s.tail, mode); mode != 1 {
			s.tail = append(s.tail, r.ue(), r.ue())
		}
	}
	if s.data = r.pos; r.bad || s.data/8 >= len(s.rbsp)-1 {
		return nil // there isn't even one macroblock
	}
	return s
}

func (s *sliceH264) readOrder(r *bitReader) {
	sps := s.set.sps
	switch {
	case sps.PicOrderCntType == 0:
		s.order = r.bits(int(sps.Log2MaxPicOrderCntLsbMinus4) + 4)
		if s.set.bottomOrder && !s.field {
			s.orderDeltas[0] = r.se()
		}
	case sps.PicOrderCntType == 1 && !sps.DeltaPicOrderAlwaysZeroFlag:
		s.orderDeltas[0] = r.se()
		if s.set.bottomOrder && !s.field {
			s.orderDeltas[1] = r.se()
		}
	}
}

// skipMarking skips dec_ref_pic_marking (ITU-T H.264, 7.3.3.3).
func (s *sliceH264) skipMarking(r *bitReader) {
	if s.idr {
		r.bits(2)
		return
	}
	if !r.flag() {
		return
	}
	for !r.bad {
		switch r.ue() {
		case 0:
			return
		case 3:
			r.ue()
			r.ue()
		case 5:
		default:
			r.ue()
		}
	}
}

// repeated returns the slice as one of an IDR picture with that idr_pic_id; nil if it isn't of a
// reference picture, as IDR pictures must be.
func (s *sliceH264) repeated(id uint32) []byte {
	if s.header&0x60 == 0 {
		return nil
	}
	w := bitWriter{buf: make([]byte, 0, len(s.rbsp)+8)}
	s.begin(&w, 0, s.sliceType)
	if !s.set.sps.FrameMbsOnlyFlag {
		w.bits(boolBit(s.field), 1)
		if s.field {
			w.bits(boolBit(s.bottom), 1)
		}
	}
	w.ue(id)
	order := s.order
	if !s.idr {
		order = 0 // as required for IDR pictures, 8.2.1
	}
	s.writeOrder(&w, order)
	if s.set.redundantPics {
		w.ue(s.redundant)
	}
	w.bits(0, 2) // no_output_of_prior_pics_flag, long_term_reference_flag
	for _, code := range s.tail {
		w.ue(code)
	}
	s.copyData(&w)
	// Zeros after the stop bit may have got a byte of their own.
	return preventEmulation(s.header&0xE0|byte(h264.NALUTypeIDR), bytes.TrimRight(w.buf, "\x00"))
}

// begin writes the header up to and including frame_num.
func (s *sliceH264) begin(w *bitWriter, frameNum uint64, sliceType uint32) {
	w.ue(s.firstMB)
	w.ue(sliceType)
	w.ue(s.ppsID)
	sps := s.set.sps
	if sps.SeparateColourPlaneFlag {
		w.bits(s.colourPlane, 2)
	}
	w.bits(frameNum, int(sps.Log2MaxFrameNumMinus4)+4)
}

func (s *sliceH264) writeOrder(w *bitWriter, order uint64) {
	sps := s.set.sps
	switch {
	case sps.PicOrderCntType == 0:
		w.bits(order, int(sps.Log2MaxPicOrderCntLsbMinus4)+4)
		if s.set.bottomOrder && !s.field {
			w.se(s.orderDeltas[0])
		}
	case sps.PicOrderCntType == 1 && !sps.DeltaPicOrderAlwaysZeroFlag:
		w.se(s.orderDeltas[0])
		if s.set.bottomOrder && !s.field {
			w.se(s.orderDeltas[1])
		}
	}
}

// copyData appends slice_data. With CABAC, the data begins at a byte boundary, after ones
// (cabac_alignment_one_bit); otherwise the data follows bit by bit, up to the stop bit.
func (s *sliceH264) copyData(w *bitWriter) {
	if s.set.cabac {
		w.bits(1<<w.free-1, w.free)
		w.buf = append(w.buf, s.rbsp[(s.data+7)/8:]...)
		return
	}
	r := bitReader{buf: s.rbsp, pos: s.data}
	for left := 8*len(r.buf) - r.pos; left > 0; left = 8*len(r.buf) - r.pos {
		n := min(left, 8)
		w.bits(r.bits(n), n)
	}
}

func boolBit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
