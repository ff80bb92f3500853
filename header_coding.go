package gallop

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
)

// acceptedCodings is the content of Accept-Encoding (RFC 9110 §12.5.3). For each coding it has a quality from
// 0, which means not acceptable, to 1000, or unlisted. The header may have several lines; call add for each of
// them.
type acceptedCodings struct {
	quality [coding.Zstd + 1]int16
	others  int16 // of "*"
}

const unlisted = -1

func (a *acceptedCodings) reset() {
	for c := range a.quality {
		a.quality[c] = unlisted
	}
	a.others = unlisted
}

// add adds one line of the header. If a coding is listed twice, the lower quality counts. A coding with a
// malformed quality is not acceptable, because only a coding that the client clearly accepts may be used.
func (a *acceptedCodings) add(line []byte) {
	for len(line) > 0 {
		var member []byte
		member, line = ascii.Cut(line, ',')
		name, parameters := ascii.Cut(member, ';')
		name = ascii.TrimOWS(name)
		to := &a.others
		if string(name) != "*" {
			c, ok := coding.Parse(name)
			if !ok {
				continue
			}
			to = &a.quality[c]
		}
		if q := weight(parameters); *to == unlisted || q < *to {
			*to = q
		}
	}
}

// choose returns the coding in offers that the client likes best, and the first one among equals. It returns
// Identity if the client prefers no coding.
func (a *acceptedCodings) choose(offers []coding.Coding) coding.Coding {
	best, most := coding.Identity, int16(0)
	for _, c := range offers {
		q := a.quality[c]
		if q == unlisted {
			q = a.others
		}
		if q > most && q >= a.quality[coding.Identity] {
			best, most = c, q
		}
	}
	return best
}

// weight returns the quality in the parameters of a member, in thousandths. It is 1000 if there is none, and 0
// if it is malformed (RFC 9110 §12.4.2).
func weight(parameters []byte) int16 {
	for len(parameters) > 0 {
		var p []byte
		p, parameters = ascii.Cut(parameters, ';')
		name, q := ascii.Cut(p, '=')
		if ascii.EqualFold(ascii.TrimOWS(name), "q") {
			return parseQuality(ascii.TrimOWS(q))
		}
	}
	return 1000
}

// parseQuality parses a number from 0 to 1 with at most three decimals and returns it in thousandths. It
// returns 0 for anything else.
func parseQuality(s []byte) int16 {
	if len(s) == 0 || len(s) > len("0.123") || s[0] > '1' || len(s) > 1 && s[1] != '.' {
		return 0
	}
	q := int16(0)
	for i, unit := range [...]int16{1000, 0, 100, 10, 1} {
		if i >= len(s) || i == 1 {
			continue
		}
		if !ascii.IsDigit(s[i]) {
			return 0
		}
		q += unit * int16(s[i]-'0')
	}
	if q > 1000 {
		return 0
	}
	return q
}

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
