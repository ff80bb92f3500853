package tracing

import (
	"strconv"
	"strings"
	"sync"

	"github.com/gallop-http/gallop/web"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The attributes of OpenTelemetry's conventions for HTTP, version 1.43.
const (
	schema = "https://opentelemetry.io/schemas/1.43.0"
	scope  = "github.com/gallop-http/gallop/tracing"

	keyMethod         = attribute.Key("http.request.method")
	keyMethodOriginal = attribute.Key("http.request.method_original")
	keyResend         = attribute.Key("http.request.resend_count")
	keyStatus         = attribute.Key("http.response.status_code")
	keyRoute          = attribute.Key("http.route")
	keyScheme         = attribute.Key("url.scheme")
	keyPath           = attribute.Key("url.path")
	keyQuery          = attribute.Key("url.query")
	keyFull           = attribute.Key("url.full")
	keyTemplate       = attribute.Key("url.template")
	keyServer         = attribute.Key("server.address")
	keyServerPort     = attribute.Key("server.port")
	keyClient         = attribute.Key("client.address")
	keyAgent          = attribute.Key("user_agent.original")
	keyVersion        = attribute.Key("network.protocol.version")
	keyError          = attribute.Key("error.type")
)

// Options that are the same for all spans.
var (
	serverKind = trace.WithSpanKind(trace.SpanKindServer)
	clientKind = trace.WithSpanKind(trace.SpanKindClient)
)

// maxText is how many bytes of a text from another party a span gets.
const maxText = 2048

// bounded returns at most the first n bytes of a text.
func bounded(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

func tracerOf(p trace.TracerProvider) trace.Tracer {
	if p == nil {
		p = otel.GetTracerProvider()
	}
	return p.Tracer(scope, trace.WithSchemaURL(schema))
}

// methods are the known methods. "HTTP" stands for all others in the names of spans.
var methods = [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "QUERY", "HTTP"}

const (
	otherIndex  = len(methods) - 1
	otherMethod = "_OTHER"
)

// methodIndex returns the index of a method in methods.
func methodIndex(name string) int {
	for i, known := range methods[:otherIndex] {
		if name == known {
			return i
		}
	}
	return otherIndex
}

// methodAttrs are the attributes http.request.method, by index.
var methodAttrs = func() (attrs [len(methods)]attribute.KeyValue) {
	for i, name := range methods {
		attrs[i] = keyMethod.String(name)
	}
	attrs[otherIndex] = keyMethod.String(otherMethod)
	return attrs
}()

// routeNames are the names of the spans of a route, by method.
type routeNames struct {
	names [len(methods)]string
	attr  attribute.KeyValue
}

// routes has a *routeNames for each *web.Route that was requested. Routes live as long as their App.
type routes struct{ known sync.Map }

func (r *routes) of(route *web.Route) *routeNames {
	if names, ok := r.known.Load(route); ok {
		return names.(*routeNames)
	}
	names := &routeNames{attr: keyRoute.String(route.Pattern())}
	for i, method := range methods {
		names.names[i] = method + " " + route.Pattern()
	}
	r.known.Store(route, names)
	return names
}

// versionOf returns the value of network.protocol.version.
func versionOf(protocol []byte) string {
	switch string(protocol) {
	case "HTTP/2.0", "HTTP/2":
		return "2"
	case "HTTP/1.0":
		return "1.0"
	}
	return "1.1"
}

// statusTexts are the statuses as texts, for error.type.
var statusTexts = func() (texts [600]string) {
	for status := range texts {
		texts[status] = strconv.Itoa(status)
	}
	return texts
}()

func statusText(status int) string {
	if status >= 0 && status < len(statusTexts) {
		return statusTexts[status]
	}
	return strconv.Itoa(status)
}

// appendHost appends the attributes for a host with an optional port. The port is left out if the scheme implies it.
func appendHost(attrs []attribute.KeyValue, host, scheme string) []attribute.KeyValue {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		name, port = host[:i], host[i+1:]
	}
	if name = strings.Trim(name, "[]"); name == "" {
		return attrs
	}
	attrs = append(attrs, keyServer.String(bounded(name, 255)))
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && !(scheme == "http" && n == 80 || scheme == "https" && n == 443) {
		attrs = append(attrs, keyServerPort.Int(int(n)))
	}
	return attrs
}
