// Package id makes identifiers in TypeID form: a type prefix, an underscore and
// a UUIDv7 in 26 characters of base32. They are opaque to callers and sort by
// time of creation.
package id

import (
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Prefix names a kind of resource.
type Prefix string

// The prefixes in use; each kind has one.
const (
	Tenant       Prefix = "ten"
	User         Prefix = "user"
	Admin        Prefix = "adm"
	APIKey       Prefix = "key"
	SigningKey   Prefix = "jwk"
	Token        Prefix = "jti"
	Stream       Prefix = "str"
	StreamKey    Prefix = "skey"
	Publisher    Prefix = "pub"
	DVRFile      Prefix = "dvr"
	Recording    Prefix = "rec"
	TextVersion  Prefix = "text"
	Transcode    Prefix = "tc"
	Package      Prefix = "pkg"
	Event        Prefix = "evt"
	Webhook      Prefix = "wh"
	Delivery     Prefix = "del"
	CaptureURL   Prefix = "cap"
	Capture      Prefix = "creq"
	Audit        Prefix = "aud"
	Request      Prefix = "req"
	Mail         Prefix = "mail"
	SignupForm   Prefix = "form"
	PasswordLink Prefix = "link"
	Node         Prefix = "node"
	Product      Prefix = "prod"
	Discount     Prefix = "disc"
	Auction      Prefix = "auc"
	Bid          Prefix = "bid"
	Order        Prefix = "ord"
	Refund       Prefix = "ref"
	Dispute      Prefix = "dsp"
	Subscription Prefix = "sub"
	Invoice      Prefix = "inv"
	// OverageReport is a report of a charge to the payment processor.
	OverageReport Prefix = "ovr"
	Session       Prefix = "sess"
	Broadcast     Prefix = "bc"
	// Guest is a made-up user of a room.
	Guest Prefix = "guest"
	// Connection is one participant's connection to a room.
	Connection Prefix = "conn"
	Channel    Prefix = "chan"
	Message    Prefix = "msg"
	Moderation Prefix = "mod"
	Pin        Prefix = "pin"
	// Line is a sentence of a session's transcript.
	Line Prefix = "line"
	// Utterance is a piece of speech that waits for its line.
	Utterance Prefix = "utt"
	// PushCredentials are a project's; Notification is a push to many users.
	PushCredentials Prefix = "pc"
	Notification    Prefix = "ntf"
	// RestreamTarget is another platform's address, RestreamRoute the forwarding of a broadcast to it.
	RestreamTarget Prefix = "rt"
	RestreamRoute  Prefix = "rr"
	// Ticket is a support request, TicketMessage one of its messages, TicketAttachment a file of a message.
	Ticket           Prefix = "tick"
	TicketMessage    Prefix = "tmsg"
	TicketAttachment Prefix = "tatt"
	Announcement     Prefix = "ann"
)

// Crockford's alphabet in lower case, as TypeID prescribes it.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// length of an id behind its prefix and underscore.
const length = 26

// New makes an id. It sorts after all ids that this process made before.
func New(p Prefix) string {
	u, err := uuid.NewV7()
	if err != nil {
		// The system's random source has failed; no id or secret would be safe.
		panic(fmt.Sprintf("make an id: %v", err))
	}
	return string(p) + "_" + encode(u)
}

// After makes an id like New that also sorts after last. Another process may have made
// last with a clock that is ahead of ours. An empty last has no effect.
func After(p Prefix, last string) string {
	fresh := New(p)
	if last < fresh {
		return fresh
	}
	next := []byte(last)
	for i := len(next) - 1; i >= len(next)-length && i >= 0; i-- {
		digit := strings.IndexByte(alphabet, next[i])
		if digit+1 < len(alphabet) {
			next[i] = alphabet[digit+1]
			break
		}
		next[i] = alphabet[0]
	}
	return string(next)
}

// At makes an id that sorts among others by this time, in milliseconds. Ids of the same millisecond are in no order.
func At(p Prefix, at time.Time) string {
	u, err := uuid.NewV7()
	if err != nil {
		panic(fmt.Sprintf("make an id: %v", err)) // as in New
	}
	putTime(&u, at)
	return string(p) + "_" + encode(u)
}

// Earliest returns an id that sorts before all ids that are made at this time or later,
// by the clock of the process that makes them.
func Earliest(p Prefix, at time.Time) string {
	var u uuid.UUID
	putTime(&u, at)
	return string(p) + "_" + encode(u)
}

// putTime writes the time into a UUIDv7 (RFC 9562, section 5.7).
func putTime(u *uuid.UUID, at time.Time) {
	ms := uint64(max(at.UnixMilli(), 0))
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
}

// Matches reports whether text has the form of an id with this prefix.
func (p Prefix) Matches(text string) bool {
	rest, ok := strings.CutPrefix(text, string(p)+"_")
	return ok && len(rest) == length && strings.Trim(rest, alphabet) == ""
}

// encode writes 128 bits as 26 characters. TypeID pads at the front (two zero bits),
// base32 at the end. Therefore four zero bytes are put in front: 20 bytes are 32
// characters without padding, and the first six are dropped.
func encode(u uuid.UUID) string {
	var padded [20]byte
	copy(padded[4:], u[:])
	return base32.NewEncoding(alphabet).EncodeToString(padded[:])[6:]
}
