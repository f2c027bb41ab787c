package webhook

import "time"

// SetLineTime replaces lineTime, so that a test doesn't depend on the machine's pace.
func (s *Service) SetLineTime(d time.Duration) { s.lineTime = d }

// FillBatchSlots occupies all slots of DeliverBatch. Nothing frees them.
func (s *Service) FillBatchSlots() {
	for range cap(s.batchSlots) {
		s.batchSlots <- struct{}{}
	}
}
