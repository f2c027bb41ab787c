package diskspace

import "math"

// Level says how little space is left.
type Level int

// The levels, from the best to the worst.
const (
	Enough Level = iota
	// Low is below Marks.Low: writes that can wait are refused.
	Low
	// VeryLow is below Marks.VeryLow.
	VeryLow
)

// String returns the level as the database and the log show it.
func (l Level) String() string {
	switch l {
	case Enough:
		return "enough"
	case Low:
		return "low"
	case VeryLow:
		return "very low"
	default:
		return "unknown"
	}
}

// recovery is how far above a mark the free space must rise before the level
// improves, in percent of the mark. Otherwise the level would change with each file.
const recovery = 10

// Marks are the free space below which a level begins.
type Marks struct{ Low, VeryLow Mark }

// Space is a file system's space in bytes. Free is the space that unprivileged users can fill.
type Space struct{ Free, Total uint64 }

// next returns the new level of a file system with the level current.
func (m Marks) next(current Level, s Space) Level {
	level := Enough
	for _, step := range []struct {
		level Level
		mark  Mark
	}{{Low, m.Low}, {VeryLow, m.VeryLow}} {
		mark := step.mark.Of(s.Total)
		if current >= step.level {
			mark += uint64(math.Ceil(float64(mark) * recovery / 100))
		}
		if s.Free < mark {
			level = step.level
		}
	}
	return level
}
