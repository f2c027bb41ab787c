// Package bridge joins rooms with broadcasts: what a host's browser sends becomes
// a stream of the hub, which every output of the hub carries, and a stream of the
// hub becomes RTP that a room forwards to browsers.
package bridge
