// Package web holds the web pages: the landing page, the API reference, the
// player, the room, the pages for links in mails, and the development mailbox.
// They are embedded in the server and load no files from other servers.
//
// `make web` builds dist. A server that is built without dist answers 404 for the
// pages; all other functions work.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built pages, such as index.html, with their files in assets.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // can't happen: dist is a valid path, checked at compile time
	}

	return files
}
