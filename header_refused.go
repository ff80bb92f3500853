package gallop

import (
	"sync"

	"github.com/gallop-http/gallop/internal/field"
)

// Setters have no error to return. A name that they refuse is a mistake in the program, which the author learns from a
// log line, once for each name.

// refusedNames are the names that were logged.
var refusedNames struct {
	sync.Mutex
	seen map[string]struct{}
}

const (
	// maxRefusedNames is how many names are logged: a program may make names of what its clients send.
	maxRefusedNames = 64

	// maxRefusedName is how much of a name is logged.
	maxRefusedName = 64
)

// noteRefused logs that a setter has refused a field, if its name is the reason.
func noteRefused(id field.ID, name []byte) {
	if id != field.Unknown || isFieldName(name) {
		return
	}
	short := string(name[:min(len(name), maxRefusedName)])
	refusedNames.Lock()
	defer refusedNames.Unlock()
	if _, seen := refusedNames.seen[short]; seen || len(refusedNames.seen) >= maxRefusedNames {
		return
	}
	if refusedNames.seen == nil {
		refusedNames.seen = map[string]struct{}{}
	}
	refusedNames.seen[short] = struct{}{}
	defaultLogger.Printf("header field not set: %q is not a valid name (RFC 9110, section 5.1)", short)
}
