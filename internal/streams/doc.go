// Package streams groups live streams: the streams of tenants (stream), the tokens of their playback
// URLs (playtoken), their recordings (recording), other
// files of recordings (transcode), the adapters to the media engines (mediagate, recordgate) and the figures over
// time (analytics).
//
//   - A stream is a channel with a stream key. It lives until it is deleted.
//   - A broadcast is one time on air, from the first packet to the end.
//   - A recording is one broadcast, or a part of one, as stored files.
//
// The group may import base, tenancy and the events; mediagate and recordgate also import the media engines.
package streams
