package check

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/internal/load/script"
)

// Reply is a response that is examined, with the variables of its user. It decodes JSON at most once.
type Reply struct {
	*script.Response
	Vars func() map[string]string // may be nil

	decoded bool
	json    any
}

// JSON returns the body as a value of encoding/json, or nil if it is not JSON.
func (r *Reply) JSON() any {
	if !r.decoded {
		r.decoded = true
		if json.Unmarshal(r.Body, &r.json) != nil {
			r.json = nil
		}
	}
	return r.json
}

// header returns the first header with a name, in any case.
func (r *Reply) header(name string) (string, bool) {
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

// exampleBody is how many bytes of a body an example shows.
const exampleBody = 200

// Example describes the response: its head, if it was kept, and the beginning of the body.
func (r *Reply) Example() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(r.Status))
	for _, f := range r.Header {
		b.WriteString("\n" + f.Name + ": " + f.Value)
	}
	if body := r.Body[:min(len(r.Body), exampleBody)]; len(body) > 0 {
		b.WriteString("\n\n" + strings.ToValidUTF8(string(body), "\ufffd"))
	}
	return b.String()
}

// Text returns a JSON value as text: strings without quotes, null as nothing, objects and arrays as JSON.
func Text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	data, _ := json.Marshal(value) // it came from JSON
	return string(data)
}
