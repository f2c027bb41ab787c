package sfu

// measure reports to the meter how many members are in the room: participants of a session, or the
// audience of a stream's room while the stream is shown. Hosts and guests of a stream's room aren't
// counted: the stream is.
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
