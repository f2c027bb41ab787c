package hls

import (
	"net/http"

	"showfloor/internal/media/mediahttp"
)

// notYet is mediahttp.NotFound for a file that may exist in a moment.
func notYet() *mediahttp.Problem {
	p := mediahttp.Refuse(http.StatusNotFound, "not_found", "there is no such file yet")
	p.Passing = true
	return p
}

func badReload() *mediahttp.Problem {
	return mediahttp.Refuse(http.StatusBadRequest, "bad_reload", "_HLS_msn and _HLS_part must be numbers, and _HLS_skip YES or v2")
}
