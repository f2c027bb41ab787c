// Package base groups packages that any Go server needs and that contain no rule of the product: the
// database (postgres), values that were read a moment ago (cache), counts of stored bytes (stored), files
// (blob, durable), jobs (queue, batch), errors (problem), limits (ratelimit, connlimit, fairshare, loglimit,
// diskspace), clients' addresses (netaddr) and values (id, secret, timestamp, metadata).
//
// It may import drivers and libraries, and no other group.
package base
