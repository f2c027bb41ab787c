package compose

// image is a picture in YUV 4:2:0 with 8 bits. Width and height are even.
type image struct {
	w, h int
	// data has the planes Y, U and V, one after the other.
	data []byte
}

func newImage(w, h int) *image { return &image{w, h, make([]byte, w*h*3/2)} }

// plane is one of an image's three.
type plane struct {
	w, h int
	data []byte
}

func (i *image) planes() [3]plane {
	n, c := i.w*i.h, i.w*i.h/4
	return [3]plane{{i.w, i.h, i.data[:n]}, {i.w / 2, i.h / 2, i.data[n : n+c]}, {i.w / 2, i.h / 2, i.data[n+c : n+2*c]}}
}

// color is a YUV color.
type color [3]byte

// fill paints an area.
func (i *image) fill(a area, c color) {
	for n, p := range i.planes() {
		b := a
		if n > 0 {
			b = area{a.x / 2, a.y / 2, a.w / 2, a.h / 2}
		}
		for y := b.y; y < b.y+b.h; y++ {
			row := p.data[y*p.w+b.x:][:b.w]
			for x := range row {
				row[x] = c[n]
			}
		}
	}
}

// draw paints the part from of src into the area to, scaled if the sizes differ. All areas are inside their images and even.
func (i *image) draw(src *image, from, to area) {
	in, out := src.planes(), i.planes()
	for n := range in {
		a, b := from, to
		if n > 0 {
			a = area{a.x / 2, a.y / 2, a.w / 2, a.h / 2}
			b = area{b.x / 2, b.y / 2, b.w / 2, b.h / 2}
		}
		if a.w == b.w && a.h == b.h {
			for y := range b.h {
				copy(out[n].data[(b.y+y)*out[n].w+b.x:][:b.w], in[n].data[(a.y+y)*in[n].w+a.x:])
			}
			continue
		}
		scale(&in[n], &out[n], a, b)
	}
}

// scale paints with bilinear interpolation, in fixed point with 8 bits.
func scale(in, out *plane, a, b area) {
	if a.w <= 0 || a.h <= 0 || b.w <= 0 || b.h <= 0 {
		return
	}
	left, share := make([]int, b.w), make([]int, b.w)
	for x := range b.w {
		at := max((2*x+1)*a.w*128/b.w-128, 0) // of the pixel's centre
		left[x], share[x] = min(at>>8, a.w-1), at&255
	}
	for y := range b.h {
		at := max((2*y+1)*a.h*128/b.h-128, 0)
		top, low := min(at>>8, a.h-1), at&255
		r0 := in.data[(a.y+top)*in.w+a.x:][:a.w]
		r1 := in.data[(a.y+min(top+1, a.h-1))*in.w+a.x:][:a.w]
		row := out.data[(b.y+y)*out.w+b.x:][:b.w]
		for x := range row {
			l, s := left[x], share[x]
			r := min(l+1, a.w-1)
			upper := int(r0[l])*(256-s) + int(r0[r])*s
			lower := int(r1[l])*(256-s) + int(r1[r])*s
			row[x] = byte((upper*(256-low) + lower*low + 1<<15) >> 16)
		}
	}
}

// fit returns the part of a picture of w by h that is shown in an area, and where. cover: the picture fills the area, and its edges
// are cut off. Otherwise all of it is shown.
func fit(w, h int, a area, cover bool) (from, to area) {
	from, to = area{0, 0, w, h}, a
	wide := w*a.h > h*a.w // the picture is wider than the area
	switch {
	case cover && wide:
		from.w = even(max(h*a.w/a.h, 2))
		from.x = even((w - from.w) / 2)
	case cover:
		from.h = even(max(w*a.h/a.w, 2))
		from.y = even((h - from.h) / 2)
	case wide:
		to.h = even(max(h*a.w/w, 2))
		to.y = a.y + even((a.h-to.h)/2)
	default:
		to.w = even(max(w*a.h/h, 2))
		to.x = a.x + even((a.w-to.w)/2)
	}
	return from, to
}

// scaled returns the size to which a picture of w by h is decoded for an area: it is never enlarged.
func scaled(w, h int, a area, cover bool) (int, int) {
	byWidth := w*a.h > h*a.w != cover // whether the width decides
	sw, sh := a.w, h*a.w/max(w, 1)
	if !byWidth {
		sw, sh = w*a.h/max(h, 1), a.h
	}
	if sw >= w || sh >= h {
		sw, sh = w, h
	}
	return max(even(sw+1), 2), max(even(sh+1), 2)
}

// covers reports whether a picture fills its tile. Screens, and cameras that are held upright, are shown whole.
func covers(w, h int, screen bool) bool { return !screen && w >= h }
