package multipart

import (
	"bytes"
	"iter"
	"mime"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Head returns the header lines of a part, each with its CRLF. b begins with the CRLF of the delimiter. n is the length
// of b up to the CRLF of the empty line after the headers. If b is too short, n is zero. The lines are not checked, see
// CheckHead.
func Head(b []byte) (head string, n int, err error) {
	n = bytes.Index(b, []byte("\r\n\r\n"))
	switch {
	case n > MaxHead || n < 0 && len(b) >= MaxHead+4:
		return "", 0, ErrLargeHead
	case n < 0:
		return "", 0, nil
	}
	return string(b[2 : n+2]), n + 2, nil
}

// CheckHead returns ErrHead if a line of head is not a header.
func CheckHead(head string) error {
	for head != "" {
		var line string
		line, head, _ = strings.Cut(head, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !ascii.IsToken(name) || !ascii.IsFieldValue(ascii.TrimOWS(value)) {
			return ErrHead
		}
	}
	return nil
}

// Fields returns an iterator over the names and values in head.
func Fields(head string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for head := head; head != ""; {
			var line string
			line, head, _ = strings.Cut(head, "\r\n")
			if name, value, _ := strings.Cut(line, ":"); !yield(name, ascii.TrimOWS(value)) {
				return
			}
		}
	}
}

// Disposition returns the name of a part's form field and the name of its file, both from the Content-Disposition in
// head (RFC 7578 §4.2). The name of the file has no directories. Disposition refuses two such headers, and a parameter
// that occurs twice, because they are ambiguous. It also refuses control characters, which the encoding of RFC 2231
// could put into a name.
func Disposition(head string) (formName, fileName string, err error) {
	seen := false
	for name, value := range Fields(head) {
		if !ascii.EqualFold(name, "Content-Disposition") {
			continue
		}
		if seen {
			return "", "", ErrHead
		}
		seen = true
		disposition, params, err := mime.ParseMediaType(value)
		if err != nil || !ascii.IsFieldValue(params["name"]) || !ascii.IsFieldValue(params["filename"]) {
			return "", "", ErrHead
		}
		if disposition == "form-data" {
			formName = params["name"]
		}
		file := params["filename"]
		fileName = file[strings.LastIndexAny(file, `/\`)+1:]
	}
	return formName, fileName, nil
}

// IsName reports whether mime/multipart can write name as the name of a form field, so that Disposition reads it.
func IsName(name string) bool { return ascii.IsFieldValue(withoutLineEnds.Replace(name)) }

// withoutLineEnds removes the characters that mime/multipart escapes in names, as browsers do.
var withoutLineEnds = strings.NewReplacer("\r", "", "\n", "")

// IsHeader reports whether the names and values in header may be written as the header of a part.
func IsHeader(header map[string][]string) bool {
	for name, values := range header {
		if !ascii.IsToken(name) {
			return false
		}
		for _, value := range values {
			if !ascii.IsFieldValue(value) {
				return false
			}
		}
	}
	return true
}
