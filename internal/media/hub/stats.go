package hub

import "time"

// statsWindow is the time over which Stats averages, in seconds: long enough to smooth a GOP,
// short enough that a failing encoder shows within seconds.
const statsWindow = 5

// Stats describes the current media of a stream.
type Stats struct {
	// VideoKbps and AudioKbps are averages over statsWindow, in kilobits per second.
	VideoKbps, AudioKbps int
	// FPS is the number of pictures per second that arrived, averaged in the same way.
	FPS float64
	// Width and Height of the picture, in pixels; 0 without video.
	Width, Height int
	// VideoCodec and AudioCodec are empty for a missing kind.
	VideoCodec, AudioCodec Codec
	// BFrames: pictures don't arrive in presentation order.
	BFrames bool
	// KeyInterval is the time between key pictures; 0 while it is unknown.
	KeyInterval time.Duration
	// Ladder says whether the stream's renditions are encoded; empty for a stream without renditions.
	Ladder LadderState
	// Viewers is the number of players.
	Viewers int
	// Publishing is false while the stream waits for its publisher to reconnect.
	Publishing bool
}

// meter sums the received units in buckets of one second. Its owner serializes access.
type meter struct {
	buckets [statsWindow + 1]bucket
	first   int64
}

type bucket struct {
	second       int64
	video, audio int
	pictures     int
}

func (m *meter) add(u *Unit) {
	now := u.Arrived.Unix()
	if m.first == 0 {
		m.first = now
	}
	b := &m.buckets[uint64(now)%uint64(len(m.buckets))]
	if b.second != now {
		*b = bucket{second: now}
	}
	if u.Track.Codec.Video() {
		b.video += len(u.Data)
		b.pictures++
	} else {
		b.audio += len(u.Data)
	}
}

// rates averages over the complete seconds of the window before now.
func (m *meter) rates(now time.Time) (videoKbps, audioKbps int, fps float64) {
	end := now.Unix()
	from := max(end-statsWindow, m.first)
	if from == m.first && end-from > 1 {
		from++ // the first second is incomplete and would lower the average
	}
	seconds := end - from
	if m.first == 0 || seconds <= 0 {
		return 0, 0, 0
	}
	var sum bucket
	for i := range m.buckets {
		if b := &m.buckets[i]; b.second >= from && b.second < end {
			sum.video += b.video
			sum.audio += b.audio
			sum.pictures += b.pictures
		}
	}
	kbps := func(bytes int) int { return int(int64(bytes) * 8 / 1000 / seconds) }
	return kbps(sum.video), kbps(sum.audio), float64(sum.pictures) / float64(seconds)
}
