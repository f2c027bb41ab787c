// Package streams groups live streams: the streams of tenants (stream), the tokens of their playback
// URLs (playtoken), the adapter to the media engines (mediagate) and the figures over time (analytics).
//
//   - A stream is a channel with a stream key. It lives until it is deleted.
//   - A broadcast is one time on air, from the first packet to the end.
//
// The group may import base, tenancy and the events; mediagate also imports the media engines.
package streams
