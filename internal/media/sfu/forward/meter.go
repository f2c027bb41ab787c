package forward

import "time"

const (
	temporalLayers = 4
	// repeatedLayer is the index at which the repeated part of RED is measured; plain audio is at
	// 0.
	repeatedLayer = 1
	meterWindow   = 500 * time.Millisecond
	// meterWeight is the weight of a new window in the rate.
	meterWeight = 0.4
)

// meter measures the rate of each temporal layer of a layer.
type meter struct {
	since instant
	bytes [temporalLayers]int
	rates [temporalLayers]float64 // bits per second, each without the lower ones
	top   uint8                   // the highest temporal layer seen
}

func (m *meter) add(size int, temporal uint8, now instant) {
	temporal %= temporalLayers
	m.top = max(m.top, temporal)
	switch passed := now.since(m.since); {
	case m.since == 0 || passed > 4*meterWindow:
		// After a pause, the window is meaningless.
		m.since, m.bytes = now, [temporalLayers]int{}
	case passed >= meterWindow:
		first := m.rate(temporalLayers-1) == 0
		for i, n := range m.bytes {
			r := float64(n) * 8 / passed.Seconds()
			if first {
				m.rates[i] = r
			} else {
				m.rates[i] += (r - m.rates[i]) * meterWeight
			}
		}
		m.since, m.bytes = now, [temporalLayers]int{}
	}
	m.bytes[temporal] += size
}

// rate returns the rate up to a temporal layer, in bits per second; 0 while it is unknown.
func (m *meter) rate(temporal uint8) int {
	sum := 0.0
	for _, r := range m.rates[:min(int(temporal)+1, temporalLayers)] {
		sum += r
	}
	return int(sum)
}
