package conn

import (
	"crypto/tls"
	"errors"
	"net"
	"reflect"
	"sync"
	"time"
)

// TLSListener is tls.NewListener that keeps the deadline of the listener below.
type TLSListener struct {
	net.Listener
	Config *tls.Config
}

func (l *TLSListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(c, l.Config), nil
}

// SetDeadline bounds Accept, if the listener below can do that.
func (l *TLSListener) SetDeadline(t time.Time) error {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return errors.ErrUnsupported
	}
	return d.SetDeadline(t)
}

// stdTLSListener is the type of what tls.NewListener and tls.Listen return.
var stdTLSListener = sync.OnceValue(func() reflect.Type { return reflect.TypeOf(tls.NewListener(nil, nil)) })

// PartsOfTLSListener returns what a listener of crypto/tls consists of. It reports false for any other listener, and for all of
// them if a release of Go has another layout: then crypto/tls accepts the connections itself.
func PartsOfTLSListener(ln net.Listener) (below net.Listener, config *tls.Config, ok bool) {
	typ := reflect.TypeOf(ln)
	if typ != stdTLSListener() || !isTLSListenerLayout(typ) || reflect.ValueOf(ln).IsNil() {
		return nil, nil, false
	}
	parts := reflect.ValueOf(ln).Elem()
	below, _ = parts.FieldByName("Listener").Interface().(net.Listener)
	config = tlsConfigIn(parts.FieldByName("config"))
	return below, config, below != nil && config != nil
}

// isTLSListenerLayout reports whether typ is a pointer to a struct that consists of a listener and its configuration.
func isTLSListenerLayout(typ reflect.Type) bool {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct || typ.Elem().NumField() != 2 {
		return false
	}
	listener, ok := typ.Elem().FieldByName("Listener")
	config, also := typ.Elem().FieldByName("config")
	return ok && also && listener.Type == reflect.TypeFor[net.Listener]() && config.Type == reflect.TypeFor[*tls.Config]()
}
