package mediahttp

import "net/http"

// Serve answers OPTIONS, and refuses methods that don't read. For GET and HEAD it calls serve and
// writes the refusal that serve returns; nil means that serve has answered. Scripts of pages on
// other origins may read every answer.
func Serve(w http.ResponseWriter, r *http.Request, serve func() *Problem) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Content-Length, Content-Range, Date, Retry-After")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if p := serve(); p != nil {
			p.Write(w)
		}
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		h.Set("Access-Control-Allow-Headers", "*, Range")
		h.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		Refuse(http.StatusMethodNotAllowed, "method_not_allowed", "media can only be read; the Allow header lists how").Write(w)
	}
}
