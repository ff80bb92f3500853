package web

import "reflect"

// keep returns the values of the fields that a body in source's format must not set.
func (p *plan) keep(v reflect.Value, source Source) (values []reflect.Value) {
	for i := range p.fields {
		if f := &p.fields[i]; !f.bodyTag(source) {
			value, ok := fieldIfThere(v, f.index)
			if ok {
				saved := reflect.New(value.Type()).Elem()
				saved.Set(value)
				value.SetZero() // decoding must not write into what it refers to
				value = saved
			}
			values = append(values, value)
		}
	}
	return values
}

// restore undoes what became of the fields of keep.
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
