package mediagate

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"time"

	"showfloor/internal/media/rtmp"
)

// recallTime limits RecallKeys.
const recallTime = 30 * time.Second

// RecallKeys gives an ingest that has just started the stream keys with which encoders published
// during the last day. Without it, after a restart, many encoders at one address must wait for
// each other while a client at that address tries random keys.
func (r *Reports) RecallKeys(ctx context.Context, ingest *rtmp.Server) {
	ctx, cancel := context.WithTimeout(ctx, recallTime)
	defer cancel()
	list, err := r.streams.AcceptedKeys(ctx, rtmp.AcceptedLife, rtmp.MaxAcceptedPerIP, rtmp.MaxAccepted)
	if err != nil {
		if ctx.Err() == nil {
			r.log.WarnContext(ctx, "the ingest doesn't know the stream keys of the last day", "error", err)
		}
		return
	}
	keys := make([]rtmp.AcceptedKey, 0, len(list))
	for _, k := range list {
		if ip, err := netip.ParseAddr(k.Network); err == nil && len(k.Hash) == sha256.Size {
			keys = append(keys, rtmp.AcceptedKey{RemoteIP: ip, Hash: [sha256.Size]byte(k.Hash), UsedAt: k.UsedAt})
		}
	}
	ingest.Recall(keys)
}
