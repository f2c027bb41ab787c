// Package document groups the packages that read the API document itself: the callers of operations (access),
// values made from its examples (sample), and the test that compares the document with the service's
// description (contract).
//
// The group may import the roles and scopes of tenancy and console.
package document
