package sfu

// measure tells the meter how many are in the room: participants of a session, or those who
// watch a stream in its room. Hosts and guests of a stream's room aren't counted: the stream is.
func (r *room) measure() {
	switch {
	case r.kind != StreamRoom:
		r.account.Participants(r.inside)
	case r.screening != nil:
		r.account.Viewers(r.audience)
	default:
		r.account.Viewers(0)
	}
}
