package conn

import (
	"crypto/tls"
	"net"
	"reflect"
	"testing"
)

// A listener of crypto/tls is taken apart, also in the present release of Go. Any other type is left alone.
func TestPartsOfTLSListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	config := &tls.Config{}
	type lookalike struct {
		net.Listener
		config *tls.Config
	}
	for _, row := range []struct {
		name string
		ln   net.Listener
		ok   bool
	}{
		{"of crypto/tls", tls.NewListener(ln, config), true},
		{"without a listener", tls.NewListener(nil, config), false},
		{"without a configuration", tls.NewListener(ln, nil), false},
		{"another type with the same fields", &lookalike{ln, config}, false},
		{"around one of crypto/tls", &lookalike{tls.NewListener(ln, config), config}, false},
		{"TCP", ln, false},
		{"nil", nil, false},
	} {
		below, of, ok := PartsOfTLSListener(row.ln)
		if ok != row.ok || ok && (below != ln || of != config) {
			t.Errorf("%s: %v, %v, %v", row.name, below, of, ok)
		}
	}
}

func TestTLSListenerLayout(t *testing.T) {
	for name, row := range map[string]struct {
		typ  reflect.Type
		want bool
	}{
		"as expected": {reflect.TypeFor[*struct {
			net.Listener
			config *tls.Config
		}](), true},
		"no pointer": {reflect.TypeFor[struct {
			net.Listener
			config *tls.Config
		}](), false},
		"a value": {reflect.TypeFor[*struct {
			net.Listener
			config uintptr
		}](), false},
		"another name": {reflect.TypeFor[*struct {
			net.Listener
			settings *tls.Config
		}](), false},
		"another listener": {reflect.TypeFor[*struct {
			Listener *net.TCPListener
			config   *tls.Config
		}](), false},
		"one field more": {reflect.TypeFor[*struct {
			net.Listener
			config *tls.Config
			more   int
		}](), false},
		"no struct": {reflect.TypeFor[*int](), false},
	} {
		if got := isTLSListenerLayout(row.typ); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if tlsConfigIn(reflect.ValueOf(new(int))) != nil {
		t.Error("another pointer is taken for a configuration")
	}
}
