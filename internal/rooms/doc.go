// Package rooms groups meetings and messages: sessions and their participants (session), calls
// (call), channels and messages (chat), and the adapter to the SFU and the realtime channel (roomgate).
//
//   - A session is a room: a conference, a webinar, a livestream or a call.
//   - A participant is a user of the tenant in a room, with a role and permissions.
//   - A channel holds the messages of a stream, a session, a group or two users.
//
// The group may import base, tenancy, events, pushes and publications; roomgate also imports the media
// engines and mediagate.
package rooms
