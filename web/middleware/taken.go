package middleware

import "github.com/gallop-http/gallop"

// isTaken reports whether the answer is out of the middleware's hands: it is being sent, or the connection is somebody
// else's.
func isTaken(r *gallop.RequestCtx) bool {
	h, silent := r.HijackHandler()
	return h != nil || silent || r.Streaming()
}
