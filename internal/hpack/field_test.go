package hpack

import (
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

// A Field has the same properties when it arrives as a literal and when it comes from the table.
func TestFieldProperties(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		id          field.ID
		pseudo      Pseudo
		form        Form
	}{
		{"content-type", "text/html", field.ContentType, Regular, 0},
		{"dnt", "1", field.DNT, Regular, 0},
		{"x-name", "a b\tc \xe9", field.Unknown, Regular, 0},
		{"!#$%&'*+-.^_`|~09", "", field.Unknown, Regular, 0},
		{":method", "PUT", field.Unknown, Method, 0},
		{":scheme", "ftp", field.Unknown, Scheme, 0},
		{":path", "/a", field.Unknown, Path, 0},
		{":authority", "a", field.Unknown, Authority, 0},
		{":status", "302", field.Unknown, Status, 0},
		{":protocol", "websocket", field.Unknown, Protocol, 0},
		{":odd", "a", field.Unknown, UnknownPseudo, 0},
		{":Method", "GET", field.Unknown, UnknownPseudo, 0},
		{":", "", field.Unknown, UnknownPseudo, 0},
		{"", "", field.Unknown, Regular, BadName},
		{"Content-Type", "a", field.ContentType, Regular, BadName},
		{"x-Name", "a", field.Unknown, Regular, BadName},
		{"a b", "c", field.Unknown, Regular, BadName},
		{"a:b", "c", field.Unknown, Regular, BadName},
		{"a\x00", "c", field.Unknown, Regular, BadName},
		{"\x7f", "c", field.Unknown, Regular, BadName},
		{"\xe9", "c", field.Unknown, Regular, BadName},
		{"a", "\x00", field.Unknown, Regular, BadValue},
		{"a", "b\rc", field.Unknown, Regular, BadValue},
		{"a", "b\nc", field.Unknown, Regular, BadValue},
		{"a", "b\x01c", field.Unknown, Regular, BadValue},
		{"a", "\x7f", field.Unknown, Regular, BadValue},
		{"a", " b", field.Unknown, Regular, BadValue},
		{"a", "b ", field.Unknown, Regular, BadValue},
		{"a", "\tb", field.Unknown, Regular, BadValue},
		{"a", "b\t", field.Unknown, Regular, BadValue},
		{":path", "/a\n", field.Unknown, Path, BadValue},
		{"A", " ", field.Unknown, Regular, BadName | BadValue},
	} {
		t.Run(tt.name+": "+tt.value, func(t *testing.T) {
			in := appendString(appendString([]byte{0x40}, tt.name, false), tt.value, false)
			in = append(in, 0xbe)                                       // the entry
			in = appendString(append(in, 0x7e), tt.value, true)         // its name, and the value
			in = appendString(append(in, 0x0f, 62-15), "another", true) // its name, another value
			d, b := newDecoder(), Block{}
			d.Start(&b, in, &generous)
			for i := range 4 {
				value, form := tt.value, tt.form
				if i == 3 {
					value, form = "another", tt.form&BadName
				}
				name := tt.name
				if tt.pseudo != Regular {
					name = ""
				}
				if !b.Next() || b.ID != tt.id || b.Pseudo != tt.pseudo || b.Form != form ||
					string(b.bytes(b.Name)) != name || string(b.bytes(b.Value)) != value {
					t.Errorf("field %d: %q, %q, %+v, %v", i, b.bytes(b.Name), b.bytes(b.Value), b.Field, b.Err())
				}
			}
		})
	}
}

// Every static entry by its index, and with another value.
func TestStaticTable(t *testing.T) {
	for i := 1; i <= lastStatic; i++ {
		e := statics[i]
		in := appendInt(nil, 0x80, 0x7f, i)
		in = appendString(appendInt(in, 0x10, 0x0f, i), "v", true)
		fields, b := decodeAll(newDecoder(), in, &generous)
		if want := e.name + ": " + e.value + "\n!" + e.name + ": v\n"; fields != want || b.Err() != nil {
			t.Errorf("index %d: %q, %v, want %q", i, fields, b.Err(), want)
		}
		if b.ID != field.Lookup(e.name) || b.Form != 0 || (b.Pseudo != Regular) != (e.name[0] == ':') {
			t.Errorf("index %d: %+v", i, b.Field)
		}
	}
}

// The fields of a block go into a field.List that borrows Out.
func TestBlockFillsList(t *testing.T) {
	var l field.List
	var b Block
	l.Borrow(nil)
	newDecoder().Start(&b, unhex("82 86 84 58 08 6e6f2d6361636865 00 01 61 01 62 90"), &generous)
	for b.Next() {
		if b.Pseudo == Regular {
			name, value := b.Name, b.Value
			l.AppendSpan(b.ID, int(name.Off), int(name.Off+name.Len), int(value.Off), int(value.Off+value.Len))
		}
	}
	l.Rebase(b.Out)
	if l.Len() != 3 || string(l.PeekID(field.CacheControl)) != "no-cache" || string(l.PeekID(field.AcceptEncoding)) != "gzip, deflate" {
		t.Errorf("%d fields in %q", l.Len(), b.Out)
	}
	if name, value := l.At(1); string(name) != "a" || string(value) != "b" {
		t.Errorf("%q: %q", name, value)
	}
}

func TestDecoderGeneration(t *testing.T) {
	d := newDecoder()
	for i, step := range []struct {
		in      string
		changes bool
	}{
		{"82 86 84", false}, {"4001 61 01 62", true}, {"be 82", false}, {"0001 61 01 62", false}, {"20", true}, {"4001 61 01 62", true},
	} {
		before := d.Generation()
		decodeAll(d, unhex(step.in), &generous)
		if changed := d.Generation() != before; changed != step.changes {
			t.Errorf("block %d changes it: %v", i, changed)
		}
	}
}
