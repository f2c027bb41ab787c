//go:build !linux

package transcoder

// restrict does nothing: only Linux can limit another process.
func restrict(int, limits) error { return nil }
