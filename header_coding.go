package gallop

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// dropCoding deletes Content-Encoding, unless it is "identity": with that a handler switches compression off for
// the new body, too.
func (h *header) dropCoding() {
	if !ascii.EqualFold(h.head.Fields.PeekID(field.ContentEncoding), "identity") {
		h.Del(HeaderContentEncoding)
	}
}

// hasDigest reports whether the head contains a digest of the body or announces one as a trailer.
func (h *header) hasDigest() bool {
	for _, digest := range digestFields {
		if field.Find(&h.head.Fields, field.Unknown, digest) >= 0 || h.announces(UnsafeBytes(digest)) {
			return true
		}
	}
	return false
}

var digestFields = [...]string{"Content-Digest", "Repr-Digest", "Digest", "Content-MD5"}

func (h *header) forbidsTransform() bool {
	return anyLineHasToken(&h.head.Fields, field.CacheControl, "no-transform")
}

func anyLineHasToken(fields *field.List, id field.ID, token string) bool {
	for i := fields.FindID(id); i >= 0; i = field.Next(fields, i, id, "") {
		if ascii.HasToken(fields.Value(i), token) {
			return true
		}
	}
	return false
}
