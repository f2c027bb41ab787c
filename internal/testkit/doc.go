// Package testkit groups the servers, databases, browsers and clients that tests run against. Only
// tests and the benchmarks import it.
package testkit
