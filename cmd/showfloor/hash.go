package main

import "showfloor/internal/tenancy/passwordhash"

// hashCommand hashes passwords for a server, which starts it and writes to its standard input.
type hashCommand struct{}

func (hashCommand) Run(e environment) error { return passwordhash.Serve(e.in, e.out) }

// hashPasswords is the command line of hashCommand in this binary, also after its file was replaced by an upgrade.
func hashPasswords() []string { return []string{"/proc/self/exe", "hash-passwords"} }
