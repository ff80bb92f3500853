package gallop

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// dropCoding deletes Content-Encoding, because the body that it describes is replaced. It keeps "identity", with which
// the handler has turned compression off.
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

// digestFields are the names of headers that contain a digest of the body.
var digestFields = [...]string{"Content-Digest", "Repr-Digest", "Digest", "Content-MD5"}

// forbidsTransform reports whether Cache-Control contains no-transform.
func (h *header) forbidsTransform() bool {
	return anyLineHasToken(&h.head.Fields, field.CacheControl, "no-transform")
}

// anyLineHasToken reports whether one of the headers with this ID contains token.
func anyLineHasToken(fields *field.List, id field.ID, token string) bool {
	for i := fields.FindID(id); i >= 0; i = field.Next(fields, i, id, "") {
		if ascii.HasToken(fields.Value(i), token) {
			return true
		}
	}
	return false
}
