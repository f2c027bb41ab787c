//go:build !linux

package decoder

// restrict does nothing: only Linux can limit another process.
func restrict(int, Limits) error { return nil }
