package forward

// lookAV1 finds key pictures by the aggregation header's N bit (a new coded video sequence begins),
// or by the dependency descriptor: that of a key picture contains the template structure.
func lookAV1(b, dependency []byte) (v picture) {
	const continues, newSequence = 0x80, 0x08
	v.key = b[0]&newSequence != 0 && b[0]&continues == 0
	v.begins = v.key
	if d, ok := lookDependency(dependency); ok {
		v.begins = d.starts
		v.key = d.starts && (v.key || d.structure)
	}
	v.sync = v.key
	return v
}

// dependency holds the fields of a dependency descriptor that are used here.
type dependency struct {
	starts, ends bool
	structure    bool // contains the template structure
	number       uint16
}

// lookDependency parses the descriptor's mandatory fields and its first flag.
func lookDependency(b []byte) (d dependency, ok bool) {
	if len(b) < 3 {
		return d, false
	}
	d.starts, d.ends = b[0]&0x80 != 0, b[0]&0x40 != 0
	d.number = uint16(b[1])<<8 | uint16(b[2])
	d.structure = len(b) > 3 && b[3]&0x80 != 0
	return d, true
}
