package hub

import "time"

// Bounds of the group of pictures that a stream keeps for readers that subscribe later. A
// longer group isn't kept.
const (
	groupTime  = 2 * time.Second
	groupBytes = 1 << 20
)

// group holds the pictures since the last key picture. Its owner serializes access.
type group struct {
	units []*Unit // empty before the first key picture, or after a bound was exceeded
	bytes int
}

// add adds the next picture.
func (g *group) add(u *Unit) {
	if u.Key {
		g.clear()
	} else if len(g.units) == 0 {
		return
	}
	if g.bytes += u.Size(); g.bytes > groupBytes || len(g.units) > 0 && g.broken(u) {
		g.clear()
		return
	}
	g.units = append(g.units, u)
}

// broken reports whether a picture doesn't belong to the group, or is too far from its start.
func (g *group) broken(u *Unit) bool {
	first := g.units[0]
	return u.Epoch != first.Epoch || u.Track != first.Track || u.DTS-first.DTS > groupTime
}

func (g *group) clear() {
	clear(g.units)
	g.units, g.bytes = g.units[:0], 0
}
