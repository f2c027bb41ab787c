// Package shows groups what viewers and buyers see: streams and recordings with their products, and the
// host's acts (show); carts, checkouts, bids and figures (shop).
//
//   - A show is a stream with its products, auctions and discount codes.
//   - A replay is a READY recording with the products that were pinned.
//   - A host is a participant with the role host in the stream's room.
//
// The group stands on streams, rooms and commerce, and may import their areas; none of them imports it.
package shows
