//go:build !linux && !darwin

package diskspace

import "math"

// Measure can't measure on this system: there is always enough.
func Measure(string) (Space, error) { return Space{Free: math.MaxInt64, Total: math.MaxInt64}, nil }
