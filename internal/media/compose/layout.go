package compose

// gap is the space between tiles, in pixels.
const gap = 4

func even(n int) int { return n &^ 1 }

func withArea(t tile, a area) tile {
	t.area = a
	return t
}

// inGrid arranges tiles of equal size. The last row is centred.
func inGrid(tiles []tile, size area) []tile {
	n := len(tiles)
	columns := 1
	for columns*columns < n {
		columns++
	}
	rows := (n + columns - 1) / columns
	w, h := even((size.w-gap*(columns-1))/columns), even((size.h-gap*(rows-1))/rows)
	if rows < columns { // such as two people: 16:9 tiles beside each other
		h = min(h, even(w*9/16))
	}
	top := even((size.h - rows*h - (rows-1)*gap) / 2)
	list := make([]tile, 0, n)
	for i, t := range tiles {
		row, column := i/columns, i%columns
		inRow := min(columns, n-row*columns)
		left := even((size.w - inRow*w - (inRow-1)*gap) / 2)
		list = append(list, withArea(t, area{left + column*(w+gap), top + row*(h+gap), w, h}))
	}
	return list
}

// beside arranges a large tile with a column of small ones on its right.
func beside(large tile, small []tile, size area) []tile {
	if len(small) == 0 {
		return []tile{withArea(large, size)}
	}
	w := even(size.w / 5)
	h := even(min(w*9/16, (size.h-gap*(maxSmall-1))/maxSmall))
	list := []tile{withArea(large, area{0, 0, size.w - w - gap, size.h})}
	top := even((size.h - len(small)*h - (len(small)-1)*gap) / 2)
	for i, t := range small {
		list = append(list, withArea(t, area{size.w - w, top + i*(h+gap), w, h}))
	}
	return list
}

// above arranges a large tile with a row of small ones below it.
func above(large tile, small []tile, size area) []tile {
	if len(small) == 0 {
		return []tile{withArea(large, size)}
	}
	w := even((size.w - gap*(maxSmall-1)) / maxSmall)
	h := even(w * 9 / 16)
	list := []tile{withArea(large, area{0, 0, size.w, size.h - h - gap})}
	left := even((size.w - len(small)*w - (len(small)-1)*gap) / 2)
	for i, t := range small {
		list = append(list, withArea(t, area{left + i*(w+gap), size.h - h, w, h}))
	}
	return list
}
