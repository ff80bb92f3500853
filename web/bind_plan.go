package web

import (
	"encoding"
	"errors"
	"fmt"
	"mime/multipart"
	"reflect"
	"strings"
	"sync"
	"time"
)

// source is the index of a Source that has struct tags.
type source uint8

const (
	pathSource source = iota
	querySource
	headerSource
	cookieSource
	formSource
	sourceCount
)

// sourceNames are the names of the sources, which are also the struct tags.
var sourceNames = [sourceCount]Source{SourcePath, SourceQuery, SourceHeader, SourceCookie, SourceForm}

// tagOf returns the tag of a source on a field. "uri" means the same as "path", and "path" takes precedence.
func (s source) tagOf(sf reflect.StructField) (text string, ok bool) {
	if text, ok = sf.Tag.Lookup(string(sourceNames[s])); !ok && s == pathSource {
		text, ok = sf.Tag.Lookup("uri")
	}
	return text, ok
}

// nests reports whether the names of the source have parts.
func (s source) nests() bool { return s == querySource || s == formSource }

// plan is the parsed tags of a struct type. It is made once for each type and does not change.
type plan struct {
	fields []field
	has    [sourceCount]bool // which sources have a tag on one of the fields
	err    error             // why structs of the type cannot be filled
}

// field is a field with a tag for a source, in the struct or in a struct embedded in it.
type field struct {
	index     []int
	names     [sourceCount]string // "" for sources without a tag
	shape     *shape
	required  bool
	comma     bool   // one value holds several members of a list, separated by commas
	unix      bool   // a time is a number of seconds
	otherwise string // the default, or ""
	json, xml bool   // the field has a tag of this name
}

// bodyTag reports whether a body in this format may set the field.
func (f *field) bodyTag(format Source) bool {
	return f.json && format == SourceJSON || f.xml && format == SourceXML
}

// shape says how values of a type are set.
type shape struct {
	kind  shapeKind
	t     reflect.Type
	set   setter // for a leaf
	empty bool   // for a leaf: an empty text is a valid value
	elem  *shape // for a pointer, a list or a table
	plan  *plan  // for a struct
}

type shapeKind uint8

const (
	leafShape    shapeKind = iota // one text
	fileShape                     // a *multipart.FileHeader
	pointerShape                  // new memory for its element
	listShape                     // a slice
	tableShape                    // a map with string keys
	structShape
)

// flat reports whether values can be set from names of one part.
func (s *shape) flat() bool {
	switch s.kind {
	case structShape, tableShape:
		return false
	case pointerShape:
		return s.elem.flat()
	case listShape:
		return s.elem.kind == leafShape || s.elem.kind == pointerShape && s.elem.elem.kind == leafShape
	}
	return true
}

// isList reports whether values are lists or pointers to lists.
func (s *shape) isList() bool {
	return s.kind == listShape || s.kind == pointerShape && s.elem.kind == listShape
}

var (
	plans    sync.Map // of reflect.Type to *plan
	plansMu  sync.Mutex
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	fileType = reflect.TypeFor[*multipart.FileHeader]()
	timeType = reflect.TypeFor[time.Time]()
)

// planOf returns the struct that v points to and its plan.
func planOf(v any) (target reflect.Value, p *plan, err error) {
	target = reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Type().Elem().Kind() != reflect.Struct {
		return target, nil, fmt.Errorf("web: Binder cannot fill %T: pass a pointer to a struct", v)
	}
	target = target.Elem()
	if known, ok := plans.Load(target.Type()); ok {
		p = known.(*plan)
	} else {
		p = newPlan(target.Type())
	}
	return target, p, p.err
}

// wants returns an error if no field has a tag for the source, because then nothing would ever be filled.
func (p *plan) wants(s source, t reflect.Type) error {
	if p.has[s] {
		return nil
	}
	name := sourceNames[s]
	text := fmt.Sprintf("web: Binder cannot fill %s from the %s: no field has the tag %q", t, name, name)
	for other, has := range p.has {
		if has {
			text += fmt.Sprintf(", but one has the tag %q", sourceNames[other])
			break
		}
	}
	return fmt.Errorf("%s: add tags such as `%s:\"name\"`", text, name)
}

// newPlan makes the plans of a struct type and of the struct types in it.
func newPlan(t reflect.Type) *plan {
	plansMu.Lock()
	defer plansMu.Unlock()
	m := planner{}
	p := m.plan(t)
	for t, p := range m {
		plans.Store(t, p)
	}
	return p
}

// planner holds the plans in the making. A recursive type finds its own incomplete plan here.
type planner map[reflect.Type]*plan

func (m planner) plan(t reflect.Type) *plan {
	if p := m[t]; p != nil {
		return p
	}
	p := new(plan)
	m[t] = p
	m.addFields(p, t, nil, map[reflect.Type]bool{t: true})
	return p
}

// addFields adds the fields of t, which is embedded at index, to p. around holds the types that t is embedded in.
func (m planner) addFields(p *plan, t reflect.Type, index []int, around map[reflect.Type]bool) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		f, tagged := readTags(sf)
		switch {
		case tagged && !sf.IsExported():
			p.fail(fmt.Errorf("web: field %s.%s has a tag but is not exported", t, sf.Name))
		case tagged:
			f.index = at
			if err := m.complete(&f, sf); err != nil {
				p.fail(fmt.Errorf("web: field %s.%s %w", t, sf.Name, err))
			}
			p.fields = append(p.fields, f)
			for s, name := range f.names {
				p.has[s] = p.has[s] || name != ""
			}
		case sf.Anonymous:
			m.addEmbedded(p, sf, at, around)
		}
	}
}

// addEmbedded adds the fields of an embedded struct. It skips pointers to unexported types, which reflect cannot set, and types that
// embed themselves.
func (m planner) addEmbedded(p *plan, sf reflect.StructField, at []int, around map[reflect.Type]bool) {
	t := sf.Type
	if t.Kind() == reflect.Pointer && sf.IsExported() {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || around[t] {
		return
	}
	around[t] = true
	m.addFields(p, t, at, around)
	delete(around, t)
}

// fail keeps the first error.
func (p *plan) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// readTags reads the tags of a field. tagged reports whether there is a tag for a source.
func readTags(sf reflect.StructField) (f field, tagged bool) {
	for s := range sourceCount {
		text, ok := s.tagOf(sf)
		name, options, _ := strings.Cut(text, ",")
		if !ok || name == "-" {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			f.required = f.required || option == "required"
			f.comma = f.comma || option == "comma"
			f.unix = f.unix || option == "unix"
		}
		if s.nests() {
			name = dottedTag(name)
		}
		f.names[s], tagged = name, true
	}
	f.otherwise = sf.Tag.Get("default")
	_, f.json = sf.Tag.Lookup("json")
	_, f.xml = sf.Tag.Lookup("xml")
	return f, tagged
}

// dottedTag returns a name of a tag in the form of request names: "ids[]" becomes "ids", and "filter[name]" becomes "filter.name".
func dottedTag(name string) string {
	dotted, err := new(filler).dotted([]byte(name))
	if err != nil { // a name with too many parts, which no request can have
		return name
	}
	return strings.TrimSuffix(string(dotted), ".")
}

// complete sets the shape of a field and checks that its sources and its default fit.
func (m planner) complete(f *field, sf reflect.StructField) (err error) {
	layout := sf.Tag.Get("layout")
	if f.unix {
		layout = layoutUnix
	}
	if f.shape, err = m.shape(sf.Type, layout); err != nil {
		return err
	}
	f.comma = f.comma && f.shape.isList()
	for s, name := range f.names {
		if name != "" && !source(s).nests() && !f.shape.flat() {
			return fmt.Errorf("of type %s cannot be filled from a %s", sf.Type, sourceNames[s])
		}
	}
	if f.otherwise != "" {
		if err := f.shape.fromText(reflect.New(sf.Type).Elem(), []byte(f.otherwise)); err != nil {
			return fmt.Errorf("cannot have the default %q: %w", f.otherwise, err)
		}
	}
	return nil
}

// shape returns the shape of a type. layout is the layout of times; "" means RFC 3339.
func (m planner) shape(t reflect.Type, layout string) (*shape, error) {
	s := &shape{t: t}
	if t == fileType {
		s.kind = fileShape
		return s, nil
	}
	if s.set, s.empty = setterOf(t, layout); s.set != nil {
		return s, nil
	}
	var err error
	switch {
	case t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Pointer:
		s.kind = pointerShape
		s.elem, err = m.shape(t.Elem(), layout)
	case t.Kind() == reflect.Slice:
		s.kind = listShape
		s.elem, err = m.shape(t.Elem(), layout)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		s.kind = tableShape
		s.elem, err = m.shape(t.Elem(), layout)
	case t.Kind() == reflect.Struct:
		s.kind = structShape
		s.plan = m.plan(t)
		err = s.plan.err
	default:
		err = errShape(t)
	}
	return s, err
}

func errShape(t reflect.Type) error {
	return errors.New("has the type " + t.String() + ", which cannot be read from text: give it an UnmarshalText method, or use another type")
}
