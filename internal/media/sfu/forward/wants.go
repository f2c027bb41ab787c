package forward

import (
	"sync"
	"time"
)

// fallDelay is how long a layer without subscribers still counts as wanted: a subscriber that
// comes back to it, or others that follow in turn, needn't wait for a key frame.
const fallDelay = 4 * time.Second

// wants counts the subscribers of each layer and notifies the publisher's side.
type wants struct {
	// mu is held while LayersWanted runs, so that its calls are in order.
	mu        sync.Mutex
	track     *Track
	counts    [maxLayers]int
	falls     [maxLayers]instant // when a layer without subscribers stops being wanted
	announced uint8
	timer     *time.Timer
	ended     bool
}

// begin is called for a new track: its publisher sends all layers at first.
func (w *wants) begin(t *Track) {
	w.track = t
	if t.config.LayersWanted == nil {
		w.ended = true
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.announced = uint8(1<<len(t.layers) - 1)
	for i := range w.falls {
		w.falls[i] = at(t.config.Now()) + instant(fallDelay)
	}
	w.timer = time.AfterFunc(fallDelay, w.settle)
}

// change records that one sink wants other layers than before.
func (w *wants) change(from, to uint8) {
	if from == to {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	rises, falls := to&^from, from&^to
	falling := false
	for i := range w.track.layers {
		bit := uint8(1) << i
		if rises&bit != 0 {
			w.counts[i]++
		}
		if falls&bit != 0 {
			w.counts[i]--
			if w.counts[i] == 0 {
				falling = true
				w.falls[i] = at(w.track.config.Now()) + instant(fallDelay)
			}
		}
	}
	if falling {
		w.later(fallDelay)
	}
	w.announce(w.announced | rises)
}

// settle drops the layers that have had no subscriber for fallDelay.
func (w *wants) settle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	now := at(w.track.config.Now())
	mask := w.announced
	var next time.Duration
	for i := range w.track.layers {
		if w.counts[i] > 0 || mask&(1<<i) == 0 {
			continue
		}
		if left := w.falls[i].since(now); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		mask &^= 1 << i
	}
	if next > 0 {
		w.later(next)
	}
	w.announce(mask)
}

func (w *wants) later(d time.Duration) {
	if w.timer != nil { // nil in tests
		w.timer.Reset(d)
	}
}

func (w *wants) announce(mask uint8) {
	if mask == w.announced {
		return
	}
	w.announced = mask
	w.track.config.LayersWanted(mask)
}

func (w *wants) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
