package negotiate

import (
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// member is an element of the list in a header, such as "text/html;level=1;q=0.8" (RFC 9110 §12.5).
type member struct {
	name       string // a media range, charset, coding or language range
	parameters string // the text between the first semicolon and the weight
	quality    int    // the weight in thousandths
	position   int    // where the member begins in the header
}

// parseMember returns the member that begins at the given position, and the position of the next member. A member
// without a name is empty, which RFC 9110 §5.6.1.2 allows, or malformed. Both are ignored.
func parseMember(header string, position int) (m member, next int) {
	end := len(header)
	if comma := strings.IndexByte(header[position:], ','); comma >= 0 {
		end = position + comma
	}
	name := header[position:end]
	m = member{quality: maxQuality, position: position}
	if semicolon := strings.IndexByte(name, ';'); semicolon >= 0 {
		start := position + semicolon + 1
		name = name[:semicolon]
		if quality, ok := parseWeight(header[start:end]); ok {
			m.quality = quality // nearly always, the weight is the only parameter
		} else {
			if strings.IndexByte(header[start:end], '"') >= 0 {
				end = endOf(header, start, ',') // that comma may have been in a quoted string
			}
			m.parameters, m.quality = cutWeight(header[start:end])
		}
	}
	m.name = ascii.TrimOWS(name)
	return m, end + 1
}
