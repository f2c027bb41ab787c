package hls

import "sync/atomic"

// edition is one media playlist of a run with its files: the source's, or that of a rendition. The stream's feeder writes it;
// requests read the published state and the window.
type edition struct {
	name   string // a part of its URLs
	window *window
	state  atomic.Pointer[state]
}

// publish publishes a new state, and wakes all requests that wait for one.
func (e *edition) publish(fps float64, coded bool, others []report) {
	e.window.changed = false
	next := e.window.snapshot(fps)
	next.coded, next.listing.reports = coded, others
	if last := e.state.Swap(next); last != nil {
		close(last.changed)
	}
}

// report is the newest media of another edition of the run (RFC 8216bis, 4.4.5.4).
type report struct {
	name string
	msn  uint64
	part int // -1: the playlist has no parts
}

// report returns the edition's newest media; ok is false before there is some.
func (e *edition) report() (r report, ok bool) {
	st := e.state.Load()
	switch {
	case len(st.counts) == 0, st.open == st.first && !st.listing.lowLatency:
		return report{}, false
	case !st.listing.lowLatency:
		return report{e.name, st.open - 1, -1}, true
	case st.parts > 0:
		return report{e.name, st.open, st.parts - 1}, true
	}
	return report{e.name, st.open - 1, st.counts[len(st.counts)-1] - 1}, true
}
