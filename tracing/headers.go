package tracing

import (
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// header is a header to capture.
type header struct {
	name string
	key  attribute.Key
}

// secretHeaders are never captured.
var secretHeaders = []string{"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"}

// captured returns the headers to capture. It panics if a name is a secret.
func captured(names []string, prefix string) []header {
	list := make([]header, 0, len(names))
	for _, name := range names {
		lower := strings.ToLower(name)
		if slices.Contains(secretHeaders, lower) || lower == "" {
			panic(fmt.Sprintf("tracing: the header %q cannot be captured, because it has secrets", name))
		}
		list = append(list, header{name, attribute.Key(prefix + lower)})
	}
	return list
}

const (
	maxHeaderValues = 16
	maxHeaderValue  = 256 // bytes
)

// appendHeaders appends the attributes for the headers of a message.
func appendHeaders(attrs []attribute.KeyValue, list []header, peek func(name string) [][]byte) []attribute.KeyValue {
	for _, h := range list {
		lines := peek(h.name)
		if len(lines) == 0 {
			continue
		}
		values := make([]string, 0, min(len(lines), maxHeaderValues))
		for _, line := range lines[:min(len(lines), maxHeaderValues)] {
			values = append(values, bounded(string(line), maxHeaderValue))
		}
		attrs = append(attrs, h.key.StringSlice(values))
	}
	return attrs
}

// redactQuery returns a query in which only some parameters have their values.
func redactQuery(query string, shown []string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(bounded(query, maxText), "&") {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		name, _, valued := strings.Cut(part, "=")
		switch {
		case slices.Contains(shown, name):
			b.WriteString(part)
		case valued:
			b.WriteString(name + "=REDACTED")
		default: // a value without a name, perhaps
			b.WriteString("REDACTED")
		}
	}
	return b.String()
}
