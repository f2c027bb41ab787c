package browsertest

import (
	"context"
	"testing"
)

const phoneWidth, phoneHeight = 390, 844

// Appearance is a size of the page and a colour scheme.
type Appearance struct {
	// Name is phone-dark, desk-light, phone-light or desk-dark.
	Name          string
	Width, Height int64
	Dark          bool
}

// Appearances returns those in which a test checks a page: dark on a phone, and light on a desk of this size. If Pictures, the
// other two follow.
func Appearances(deskWidth, deskHeight int64) []Appearance {
	all := []Appearance{
		{"phone-dark", phoneWidth, phoneHeight, true}, {"desk-light", deskWidth, deskHeight, false},
		{"phone-light", phoneWidth, phoneHeight, false}, {"desk-dark", deskWidth, deskHeight, true},
	}
	if Pictures() {
		return all
	}

	return all[:2]
}

// Apply gives the page the appearance.
func (a Appearance) Apply(t testing.TB, ctx context.Context) {
	t.Helper()
	Look(t, ctx, a.Width, a.Height, a.Dark)
}
