// Package bridge connects rooms with broadcasts: the media of a host's browser becomes a stream
// of the hub, for all outputs of the hub, and a stream of the hub becomes RTP, which a room
// forwards to browsers.
package bridge
