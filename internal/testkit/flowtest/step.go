// Package flowtest divides a long test into named steps.
package flowtest

import "testing"

// Step runs a part of a test as a subtest. If it fails, the test ends, because later steps build on
// earlier ones. Cleanups that do registers run at the end of the step.
func Step(t *testing.T, name string, do func(t *testing.T)) {
	t.Helper()
	if !t.Run(name, do) {
		t.FailNow()
	}
}
