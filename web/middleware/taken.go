package middleware

import "github.com/gallop-http/gallop"

// isTaken reports whether middleware can no longer change the response: it is already being sent, or the handler has hijacked
// the connection.
func isTaken(r *gallop.RequestCtx) bool {
	h, silent := r.HijackHandler()
	return h != nil || silent || r.Streaming()
}
