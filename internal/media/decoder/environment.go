// Package decoder holds what all starts of ffmpeg share.
package decoder

import "os"

// Environment is the environment of a program that decodes untrusted media: it has no secrets.
func Environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
}
