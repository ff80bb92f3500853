package mediatype

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	for name, mediaType := range offers {
		if len(name) > MaxLength || name != strings.ToLower(name) || strings.Count(mediaType, "/") != 1 || strings.Contains(mediaType, ";") {
			t.Errorf("%q: %q cannot be found, or is no type without parameters", name, mediaType)
		}
	}
}
