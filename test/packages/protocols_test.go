package packages_test

import (
	"errors"
	"net/http"
	"reflect"
	"testing"

	"github.com/gallop-http/gallop"
)

// Protocols has the methods of http.Protocols, and they do the same.
func TestProtocolsAreThoseOfNetHTTP(t *testing.T) {
	for set := range 8 {
		var ours gallop.Protocols
		var theirs http.Protocols
		for range 2 { // setting twice is setting once
			ours.SetHTTP1(set&1 != 0)
			ours.SetHTTP2(set&2 != 0)
			ours.SetUnencryptedHTTP2(set&4 != 0)
			theirs.SetHTTP1(set&1 != 0)
			theirs.SetHTTP2(set&2 != 0)
			theirs.SetUnencryptedHTTP2(set&4 != 0)
		}
		if ours.HTTP1() != theirs.HTTP1() || ours.HTTP2() != theirs.HTTP2() || ours.UnencryptedHTTP2() != theirs.UnencryptedHTTP2() {
			t.Errorf("set %03b is %v, want %v", set, ours, theirs)
		}
		if ours.String() != theirs.String() {
			t.Errorf("set %03b prints %q, want %q", set, ours, theirs)
		}
	}
	ours, theirs := reflect.TypeFor[*gallop.Protocols](), reflect.TypeFor[*http.Protocols]()
	for i := range theirs.NumMethod() {
		if m := theirs.Method(i); m.IsExported() {
			if _, ok := ours.MethodByName(m.Name); !ok {
				t.Errorf("Protocols has no method %s", m.Name)
			}
		}
	}
}

// HTTP2Config has the fields of http.HTTP2Config, with their types.
func TestHTTP2ConfigHasTheFieldsOfNetHTTP(t *testing.T) {
	ours, theirs := reflect.TypeFor[gallop.HTTP2Config](), reflect.TypeFor[http.HTTP2Config]()
	for i := range ours.NumField() {
		f := ours.Field(i)
		if g, ok := theirs.FieldByName(f.Name); ok && f.Type != g.Type {
			t.Errorf("field %s is %v, want %v", f.Name, f.Type, g.Type)
		} else if !ok {
			t.Errorf("field %s is not one of http.HTTP2Config", f.Name)
		}
	}
}

func TestErrProtocolsIsErrUnsupported(t *testing.T) {
	if !errors.Is(gallop.ErrProtocols, errors.ErrUnsupported) {
		t.Error("ErrProtocols is not errors.ErrUnsupported")
	}
}
