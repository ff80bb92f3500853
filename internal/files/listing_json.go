package files

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// AppendListingJSON appends a list of files as a JSON object. Its member "entries" has an object for each file or
// directory, with the members name, type, size and modified. The size is that of a file, in bytes. The member modified is
// missing if the modification time is unknown. The member "truncated" exists only if the directory has more names.
func AppendListingJSON(dst []byte, list []Entry, more bool) []byte {
	dst = append(dst, `{"entries":[`...)
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendEntryJSON(dst, &list[i])
	}
	dst = append(dst, ']')
	if more {
		dst = append(dst, `,"truncated":true`...)
	}
	return append(dst, "}\n"...)
}

func appendEntryJSON(dst []byte, e *Entry) []byte {
	dst = appendStringJSON(append(dst, `{"name":`...), e.Name)
	if e.Dir {
		dst = append(dst, `,"type":"directory"`...)
	} else {
		dst = append(dst, `,"type":"file","size":`...)
		dst = strconv.AppendInt(dst, e.Size, 10)
	}
	if HasTime(e.Modified) {
		dst = append(dst, `,"modified":"`...)
		dst = append(e.Modified.UTC().AppendFormat(dst, time.RFC3339), '"')
	}
	return append(dst, '}')
}

// appendStringJSON appends s as a JSON string (RFC 8259 §7). Invalid UTF-8 becomes U+FFFD.
func appendStringJSON(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == '<' || r == '>' || r == '&' || r == 0x7f: // some programs put JSON into pages
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
