package raw

import (
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/load/script"
)

// response is what has arrived of a response.
type response struct {
	status int
	size   int64 // of the body on the wire
	body   []byte
	fields []script.Field
	text   []byte
	out    script.Response // given to the script
}

func (r *response) reset() {
	r.status, r.size, r.body, r.fields = 0, 0, r.body[:0], r.fields[:0]
}

// takeHead takes the final head. It copies the fields if the request asks for them.
func (r *response) takeHead(req *request, status int, fields *field.List) {
	r.status = status
	if !req.KeepHead {
		return
	}
	r.text = r.text[:0]
	for i := range fields.Len() {
		name, value := fields.At(i)
		r.text = append(append(r.text, name...), value...)
	}
	all := string(r.text)
	for i := range fields.Len() {
		name, value := fields.At(i)
		r.fields = append(r.fields, script.Field{Name: all[:len(name)], Value: all[len(name) : len(name)+len(value)]})
		all = all[len(name)+len(value):]
	}
}

// takeBody takes bytes of the body, and keeps up to limit bytes if the request asks for all of them.
func (r *response) takeBody(req *request, p []byte, limit int) {
	r.size += int64(len(p))
	if req.KeepBody == 0 {
		return
	}
	keep := limit
	if req.KeepBody > 0 {
		keep = min(keep, req.KeepBody)
	}
	if room := keep - len(r.body); room > 0 {
		r.body = append(r.body, p[:min(room, len(p))]...)
	}
}
