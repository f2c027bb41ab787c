package segmenter

import "github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"

// skipper makes pictures that change nothing: they follow an IDR picture, and all of their
// macroblocks are copied from the previous picture (P_Skip, ITU-T H.264, 8.4.1.1). So a few bytes
// keep a picture on the screen.
type skipper struct {
	slice *sliceH264 // of the IDR picture
	made  map[int][]byte
}

// maxMacroblocks is the largest frame of any level, ITU-T H.264, Table A-1.
const maxMacroblocks = 139264

// newSkipper returns a skipper for pictures after an IDR picture that begins with the given
// slice. It returns nil for codings that are too rare to support (fields, picture order count
// type 1, separate color planes), or that allow no reference.
func newSkipper(first *sliceH264) *skipper {
	sps := first.set.sps
	if !sps.FrameMbsOnlyFlag || sps.PicOrderCntType == 1 || sps.SeparateColourPlaneFlag || sps.MaxNumRefFrames == 0 ||
		first.firstMB != 0 || first.redundant != 0 || macroblocks(sps) > maxMacroblocks {
		return nil
	}
	return &skipper{slice: first, made: map[int][]byte{}}
}

// picture returns the n-th access unit after the IDR picture, from 1 to maxSkips.
func (k *skipper) picture(n int) []byte {
	if k.made[n] == nil {
		k.made[n] = appendUnit(nil, k.code(n))
	}
	return k.made[n]
}

// macroblocks is the size of a frame in macroblocks.
func macroblocks(sps *h264.SPS) int {
	return (int(sps.PicWidthInMbsMinus1) + 1) * (int(sps.PicHeightInMapUnitsMinus1) + 1)
}

// headerP is the NAL unit header of a slice of a reference picture.
const headerP = 2<<5 | byte(h264.NALUTypeNonIDR)

// code writes slice header and data, ITU-T H.264, 7.3.3 and 7.3.4.
func (k *skipper) code(n int) []byte {
	s, sps := k.slice, k.slice.set.sps
	var w bitWriter
	s.begin(&w, uint64(n)&(1<<(sps.Log2MaxFrameNumMinus4+4)-1), 5)
	order := uint64(2 * n)
	if s.idr {
		order += s.order
	}
	s.writeOrder(&w, order&(1<<(sps.Log2MaxPicOrderCntLsbMinus4+4)-1))
	if s.set.redundantPics {
		w.ue(0)
	}
	w.bits(1, 1) // num_ref_idx_active_override_flag
	w.ue(0)      // num_ref_idx_l0_active_minus1
	w.bits(0, 1) // ref_pic_list_modification_flag_l0
	if s.set.weighted {
		k.defaultWeights(&w)
	}
	w.bits(0, 1) // adaptive_ref_pic_marking_mode_flag
	if s.set.cabac {
		w.ue(0) // cabac_init_idc
		w.se(25 - s.set.initialQP)
	} else {
		w.se(0)
	}
	if s.set.deblocking {
		w.ue(1) // no filter: the picture was filtered when it was decoded first
	}
	blocks := macroblocks(sps)
	if s.set.cabac {
		w.bits(1<<w.free-1, w.free)
		encodeSkips(&w, blocks)
	} else {
		w.ue(uint32(blocks)) // mb_skip_run
		w.bits(1, 1)         // rbsp_stop_one_bit
	}
	return preventEmulation(headerP, w.buf)
}

// defaultWeights writes a pred_weight_table without weights.
func (k *skipper) defaultWeights(w *bitWriter) {
	colour := k.slice.set.sps.ChromaFormatIdc != 0
	w.ue(0)
	if colour {
		w.ue(0)
	}
	w.bits(0, 1)
	if colour {
		w.bits(0, 1)
	}
}

// arithmetic is the encoder of ITU-T H.264, 9.3.4, as far as skipped macroblocks need it.
type arithmetic struct {
	w           *bitWriter
	low, width  uint32 // codILow, codIRange
	outstanding int
	begun       bool
}

// encodeSkips writes the slice data of a P picture whose macroblocks are all skipped:
// mb_skip_flag 1 and end_of_slice_flag for each.
func encodeSkips(w *bitWriter, blocks int) {
	// With SliceQP 51 and cabac_init_idc 0, the context of mb_skip_flag (ctxIdx 11: m 23,
	// n 33) begins at state 42 with 1 as the more probable value, 9.3.1.1.
	a := arithmetic{w: w, width: 510}
	for i := range blocks {
		state := min(i, len(rangeLPS)/4-1)
		a.probable(uint32(rangeLPS[4*state+int(a.width>>6&3)]))
		a.terminate(i == blocks-1)
	}
}

// rangeLPS is rangeTabLPS (ITU-T H.264, Table 9-44) for states 42 to 62, four values each; the
// state stays at 62 after further more probable values.
const rangeLPS = "\x10\x14\x17\x1b\x0f\x13\x16\x19\x0e\x12\x15\x18\x0e\x11\x14\x17\x0d\x10\x13\x16\x0c\x0f\x12\x15\x0c\x0e\x11\x14" +
	"\x0b\x0e\x10\x13\x0b\x0d\x0f\x12\x0a\x0c\x0f\x11\x0a\x0c\x0e\x10\x09\x0b\x0d\x0f\x09\x0b\x0c\x0e\x08\x0a\x0c\x0e" +
	"\x08\x09\x0b\x0d\x07\x09\x0b\x0c\x07\x09\x0a\x0c\x07\x08\x0a\x0b\x06\x08\x09\x0b\x06\x07\x09\x0a\x06\x07\x08\x09" //nolint:dupword // hex

// probable encodes the more probable symbol.
func (a *arithmetic) probable(lps uint32) {
	a.width -= lps
	a.renormalize()
}

// terminate encodes end_of_slice_flag; its last bit is rbsp_stop_one_bit.
func (a *arithmetic) terminate(end bool) {
	a.width -= 2
	if !end {
		a.renormalize()
		return
	}
	a.low += a.width
	a.width = 2
	a.renormalize()
	a.put(a.low >> 9 & 1)
	a.w.bits(uint64(a.low>>7&3|1), 2)
}

func (a *arithmetic) renormalize() {
	for a.width < 256 {
		switch {
		case a.low < 256:
			a.put(0)
		case a.low >= 512:
			a.low -= 512
			a.put(1)
		default:
			a.low -= 256
			a.outstanding++
		}
		a.width <<= 1
		a.low <<= 1
	}
}

func (a *arithmetic) put(bit uint32) {
	if a.begun {
		a.w.bits(uint64(bit), 1)
	}
	a.begun = true
	for ; a.outstanding > 0; a.outstanding-- {
		a.w.bits(uint64(1-bit), 1)
	}
}
