// Package outflow groups the ways in which changes leave the server: events and their deliveries to
// webhook endpoints (event, webhook), publications to connected browsers (realtime), pushes to devices
// (push), requests to the operator's models (ai), and the guarded HTTP client for addresses that tenants
// choose (outbound). The tester captures requests, so that tenants can look at the webhooks that they receive.
//
//   - An event is a row that is written in the transaction of its change.
//   - Fan-out writes the deliveries of committed events. event owns the events, webhook the deliveries.
//   - A delivery is one event for one endpoint, with all its attempts.
//   - A publication reaches only the clients that are connected at the moment; it may be lost.
//
// The group may import base and tenancy. It knows no area whose events it delivers.
package outflow
