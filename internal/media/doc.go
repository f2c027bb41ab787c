// Package media groups the engines for audio and video: RTMP input (rtmp), HLS output
// (hls), rooms over WebRTC (sfu), and between them one live stream in memory (hub). A segmenter gives a stream's
// media one timeline and cuts it into segments. The recorder stores them, and vod serves them; mp4file makes one file of
// them, thumbnail pictures, and transcoder files of other sizes and bitrates. A room's voices are cut at pauses
// (utterance), and oggopus writes their files. The engines count the usage (metering) and share one UDP socket (udp).
//
//   - A unit is one access unit of video or one frame of audio, with its time.
//   - A publisher sends units to a hub.Stream, and a viewer or subscriber receives them.
//
// The engines know no tenant, no HTTP route of the API and no SQL. They ask and report through small
// interfaces that they declare; mediagate and roomgate implement them. Of our packages they may import only
// base/fairshare, base/netaddr and each other.
package media
