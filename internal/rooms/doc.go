// Package rooms groups meetings and messages: sessions and their participants (session), calls
// (call), channels and messages (chat), the words of sessions (speech recognizes them, transcript keeps them, summary sums
// them up), and the adapter to the SFU and the realtime channel (roomgate).
//
//   - A session is a room: a conference, a webinar, a livestream or a call.
//   - A participant is a user of the tenant in a room, with a role and permissions.
//   - A channel holds the messages of a stream, a session, a group or two users.
//
// The group may import base, tenancy, events, pushes and publications; roomgate and speech also import the
// media engines, roomgate also mediagate.
package rooms
