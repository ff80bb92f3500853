package gallop

import (
	"sync"

	"github.com/gallop-http/gallop/internal/field"
)

// Setters return no error. If a setter refuses a name, that is a mistake in the program. It is logged once for
// each name, so that the author notices.

// refusedNames are the names that were logged.
var refusedNames struct {
	sync.Mutex
	seen map[string]struct{}
}

const (
	// maxRefusedNames is how many names are logged. A program may make header names from data that clients send.
	maxRefusedNames = 64

	// maxRefusedName is how many bytes of a name are logged.
	maxRefusedName = 64
)

// noteRefused logs that a setter refused a field because of its name.
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
