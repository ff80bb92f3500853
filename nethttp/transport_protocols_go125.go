//go:build !go1.26

package nethttp

import "net/http"

// isStrict returns false, since http.HTTP2Config has no such field before Go 1.26.
func isStrict(*http.HTTP2Config) bool { return false }
