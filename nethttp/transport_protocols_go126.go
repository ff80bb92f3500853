//go:build go1.26

package nethttp

import "net/http"

// isStrict returns a field that http.HTTP2Config has since Go 1.26.
func isStrict(c *http.HTTP2Config) bool { return c.StrictMaxConcurrentRequests }
