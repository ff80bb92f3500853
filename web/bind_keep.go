package web

import "reflect"

// keep saves and clears the fields that a body in the format of source must not set.
func (p *plan) keep(v reflect.Value, source Source) (values []reflect.Value) {
	for i := range p.fields {
		if f := &p.fields[i]; !f.bodyTag(source) {
			value, ok := fieldIfThere(v, f.index)
			if ok {
				saved := reflect.New(value.Type()).Elem()
				saved.Set(value)
				value.SetZero() // so that decoding cannot write through a pointer, slice or map
				value = saved
			}
			values = append(values, value)
		}
	}
	return values
}

// restore sets the fields that keep saved back to their values.
func (p *plan) restore(v reflect.Value, source Source, values []reflect.Value) {
	for i := range p.fields {
		f := &p.fields[i]
		if f.bodyTag(source) {
			continue
		}
		if now, ok := fieldIfThere(v, f.index); ok && values[0].IsValid() {
			now.Set(values[0])
		} else if ok {
			now.SetZero()
		}
		values = values[1:]
	}
}
