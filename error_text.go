package gallop

import "strings"

// errorText returns the text of err without the prefix of this package.
func errorText(err error) string { return strings.TrimPrefix(err.Error(), "gallop: ") }

// The phases of a call.
const (
	phasePrepare  = "preparing the request"
	phaseConn     = "waiting for a connection"
	phaseDial     = "dialing"
	phaseProxy    = "connecting through the proxy"
	phaseTLS      = "TLS handshake"
	phaseWrite    = "writing the request"
	phaseSource   = "reading the request body"
	phaseWait     = "waiting for the response"
	phaseHead     = "reading the response head"
	phaseBody     = "reading the response body"
	phaseRedirect = "following a redirect"
)
