package gallop

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Client, HostClient and PipelineClient have many fields in common. A field with the same name is the same option in
// each of them, with the same type and the same first sentence of its documentation. An option of a Client or a
// PipelineClient reaches the HostClient that makes the connections, and the HostClient's settings.

// fieldsApart are the fields that a client does not share with a HostClient.
var fieldsApart = map[string][]string{
	"Client": {"AllowRedirectToPlain", "ConfigureClient", "Jar", "MaxRedirects"},
	"PipelineClient": {"MaxBatchDelay", "MaxConns", "MaxPendingRequests", "Logger", "PipelineNonIdempotent", "ReadTimeout",
		"Trace", "WriteBufferSize", "WriteTimeout"},
}

// fieldsRenamed are the fields of a Client that a HostClient names differently.
var fieldsRenamed = map[string]string{"MaxConnsPerHost": "MaxConns", "MaxIdleConnsPerHost": "MaxIdleConns"}

// setDistinct sets a field to a value that is not its zero value and that no field with another number gets.
func setDistinct(t *testing.T, field reflect.Value, number int) {
	t.Helper()
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(true)
	case reflect.Int, reflect.Int64:
		field.SetInt(int64(20_000 + number))
	case reflect.String:
		field.SetString(fmt.Sprintf("name-%d", number))
	case reflect.Func:
		field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Interface:
		value := reflect.ValueOf(DefaultTransport)
		if !value.Type().Implements(field.Type()) {
			value = reflect.ValueOf(defaultLogger)
		}
		field.Set(value)
	default:
		t.Fatalf("no value for the type %v", field.Type())
	}
}

// same reports whether two fields have the same value. Functions are the same if both are set or both are nil.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Func {
		return a.IsNil() == b.IsNil()
	}
	return a.Equal(b)
}

// exportedFields returns the exported fields of a struct type.
func exportedFields(t reflect.Type) (fields []reflect.StructField) {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return !f.IsExported() })
}

// arrivals sets one field of the client T after the other, and returns what is wrong with the HostClient that gets its
// options.
func arrivals[T any](t *testing.T, apart []string, renamed map[string]string, hostOf func(*T) *HostClient) (wrong []string) {
	unset := reflect.ValueOf(hostOf(new(T))).Elem()
	for number, field := range exportedFields(reflect.TypeFor[T]()) {
		c := new(T)
		set := reflect.ValueOf(c).Elem().FieldByIndex(field.Index)
		setDistinct(t, set, number)
		host := reflect.ValueOf(hostOf(c)).Elem()
		want := field.Name
		if other, ok := renamed[want]; ok {
			want = other
		}
		if slices.Contains(apart, want) {
			want = ""
		}
		found := want == ""
		for _, at := range exportedFields(unset.Type()) {
			got := host.FieldByIndex(at.Index)
			switch {
			case at.Name == want:
				if found = true; !same(got, set) {
					wrong = append(wrong, fmt.Sprintf("%s does not arrive in HostClient.%s", field.Name, want))
				}
			case !same(got, unset.FieldByIndex(at.Index)):
				wrong = append(wrong, fmt.Sprintf("%s changes HostClient.%s", field.Name, at.Name))
			}
		}
		if !found {
			wrong = append(wrong, fmt.Sprintf("%s is no field of a HostClient", field.Name))
		}
	}
	return wrong
}

func TestOptionsArriveInHostClients(t *testing.T) {
	for _, complaint := range arrivals(t, fieldsApart["Client"], fieldsRenamed, func(c *Client) *HostClient {
		return c.newHost("example.com", false)
	}) {
		t.Errorf("Client: %s", complaint)
	}
	for _, complaint := range arrivals(t, fieldsApart["PipelineClient"], nil, func(c *PipelineClient) *HostClient {
		c.init()
		return &c.host
	}) {
		t.Errorf("PipelineClient: %s", complaint)
	}
}

func TestOptionsAreCopiedWithoutAllocations(t *testing.T) {
	c, host := &Client{Name: "name", Transport: DefaultTransport}, new(HostClient)
	if allocs := testing.AllocsPerRun(100, func() { clientOptions().copy(host, c) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestOptionsArriveInHostClients notices an option that is not copied, one that is copied to a wrong field, and one without a field.
func TestOptionsThatDoNotArriveAreNoticed(t *testing.T) {
	type client struct {
		ReadTimeout, WriteTimeout int64
		Name, Nickname            string
	}
	got := arrivals(t, nil, nil, func(c *client) *HostClient {
		return &HostClient{ReadTimeout: 0, WriteBufferSize: int(c.WriteTimeout), Name: c.Name}
	})
	want := []string{
		"ReadTimeout does not arrive in HostClient.ReadTimeout",
		"WriteTimeout does not arrive in HostClient.WriteTimeout", "WriteTimeout changes HostClient.WriteBufferSize",
		"Nickname is no field of a HostClient",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Each field of a HostClient either arrives in the settings or is used directly.
func TestOptionsArriveInSettings(t *testing.T) {
	direct := []string{"Addr", "IsTLS", "IsProxy", "TLSConfig", "DialContext", "DialTimeout", "Dial", "DialDualStack", "Proxy",
		"Protocols", "HTTP2", "RetryIf", "RetryIfErr", "RetryIfErrUpstream", "Transport", "DisablePathNormalizing",
		"WriteBufferSize", "SecureErrorLogMessage"}
	resolved := map[string]func(s *clientSettings) any{
		"Name":                          func(s *clientSettings) any { return s.agent },
		"NoDefaultUserAgentHeader":      func(s *clientSettings) any { return s.agent == "" },
		"MaxConns":                      func(s *clientSettings) any { return s.maxConns },
		"MaxIdleConns":                  func(s *clientSettings) any { return s.maxIdle },
		"MaxIdleConnDuration":           func(s *clientSettings) any { return s.maxIdleTime },
		"MaxConnDuration":               func(s *clientSettings) any { return s.maxConnTime },
		"MaxConnWaitTimeout":            func(s *clientSettings) any { return s.connWait },
		"ConnPoolStrategy":              func(s *clientSettings) any { return s.strategy },
		"ReadTimeout":                   func(s *clientSettings) any { return s.readTimeout },
		"WriteTimeout":                  func(s *clientSettings) any { return s.writeTimeout },
		"TLSHandshakeTimeout":           func(s *clientSettings) any { return s.handshake },
		"ExpectContinueTimeout":         func(s *clientSettings) any { return s.continueWait },
		"ReadBufferSize":                func(s *clientSettings) any { return s.readBuf },
		"MaxResponseHeaderBytes":        func(s *clientSettings) any { return s.head.Head },
		"MaxResponseBodySize":           func(s *clientSettings) any { return int(s.maxBody) },
		"StreamResponseBody":            func(s *clientSettings) any { return s.stream },
		"OnInterim":                     func(s *clientSettings) any { return s.onInterim != nil },
		"MaxIdemponentCallAttempts":     func(s *clientSettings) any { return s.attempts },
		"DetailedErrors":                func(s *clientSettings) any { return s.detailed },
		"DisableHeaderNamesNormalizing": func(s *clientSettings) any { return s.names == namesAsGiven },
	}
	alsoChanged := map[string][]string{
		"ReadBufferSize": {"head"}, // the default of MaxResponseHeaderBytes
		"WriteTimeout":   {"handshake"},
	}
	unset := reflect.ValueOf(new(HostClient).resolve()).Elem()
	for number, field := range exportedFields(reflect.TypeFor[HostClient]()) {
		c := new(HostClient)
		set := reflect.ValueOf(c).Elem().FieldByIndex(field.Index)
		setDistinct(t, set, number)
		settings := c.resolve()
		var changed []string
		for i := range unset.NumField() {
			if name := unset.Type().Field(i).Name; !same(unset.Field(i), reflect.ValueOf(settings).Elem().Field(i)) &&
				!slices.Contains(alsoChanged[field.Name], name) {
				changed = append(changed, name)
			}
		}
		get, isResolved := resolved[field.Name]
		switch {
		case isResolved == slices.Contains(direct, field.Name):
			t.Errorf("%s has to be in one of the two tables of this test", field.Name)
		case !isResolved && len(changed) > 0:
			t.Errorf("%s changes %q of the settings", field.Name, changed)
		case isResolved && len(changed) != 1:
			t.Errorf("%s changes %q of the settings, want one field", field.Name, changed)
		case isResolved && set.Kind() == reflect.Func:
			if get(settings) != true {
				t.Errorf("%s does not arrive", field.Name)
			}
		case isResolved && get(settings) != set.Interface():
			t.Errorf("%s is %v, the setting is %v", field.Name, set, get(settings))
		}
	}
}

// declaredField is a field as its struct declares it.
type declaredField struct{ typ, tag, doc string }

// declaredFields returns the exported fields of the struct type in the source of a file.
func declaredFields(t *testing.T, src, name string) map[string]declaredField {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]declaredField{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			declared := declaredField{typ: types.ExprString(field.Type), doc: strings.Join(strings.Fields(field.Doc.Text()), " ")}
			if field.Tag != nil {
				declared.tag = field.Tag.Value
			}
			for _, name := range field.Names {
				if name.IsExported() {
					fields[name.Name] = declared
				}
			}
		}
		return false
	})
	if len(fields) == 0 {
		t.Fatalf("no struct type %s", name)
	}
	return fields
}

// elsewhere finds a reference to the field's documentation in another client.
var elsewhere = regexp.MustCompile(`\[(Client|HostClient|PipelineClient)\.(\w+)\]`)

// drifts returns what differs between the fields of a client and those of a HostClient.
func drifts(fields, host map[string]declaredField, apart []string, renamed map[string]string) (drifts []string) {
	for name, field := range fields {
		inHost := name
		if other, ok := renamed[name]; ok {
			inHost = other
		}
		for _, reference := range elsewhere.FindAllStringSubmatch(field.doc, -1) {
			if reference[2] == name {
				drifts = append(drifts, name+": is documented elsewhere")
			}
		}
		if slices.Contains(apart, name) {
			continue
		}
		other, there := host[inHost]
		switch {
		case !there:
			drifts = append(drifts, name+": a HostClient has no such field")
		case field.typ != other.typ:
			drifts = append(drifts, fmt.Sprintf("%s: the types are %s and %s", name, field.typ, other.typ))
		case field.tag != other.tag:
			drifts = append(drifts, fmt.Sprintf("%s: the tags are %s and %s", name, field.tag, other.tag))
		case strings.Contains(field.doc, "Deprecated: ") != strings.Contains(other.doc, "Deprecated: "):
			drifts = append(drifts, name+": only one of them is deprecated")
		case inHost == name:
			sentence := firstSentence(field.doc)
			for was, is := range renamed {
				sentence = strings.ReplaceAll(sentence, was, is)
			}
			if want := firstSentence(other.doc); sentence != want {
				drifts = append(drifts, fmt.Sprintf("%s: the documentation begins with\n\t%s\n\t%s", name, sentence, want))
			}
		}
	}
	slices.Sort(drifts)
	return drifts
}

// firstSentence returns the first sentence of a text.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text+" ", ". ")
	return first
}

func TestOptionsDoNotDrift(t *testing.T) {
	read := func(file string) string {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(src)
	}
	host := declaredFields(t, read("client_host.go"), "HostClient")
	for name, file := range map[string]string{"Client": "client.go", "PipelineClient": "client_pipeline.go"} {
		fields := declaredFields(t, read(file), name)
		for _, drift := range drifts(fields, host, fieldsApart[name], fieldsRenamed) {
			t.Errorf("%s and HostClient: %s", name, drift)
		}
		for _, field := range fieldsApart[name] {
			if _, there := fields[field]; !there {
				t.Errorf("%s has no field %s", name, field)
			}
		}
	}
}

// TestOptionsDoNotDrift notices each kind of drift.
func TestOptionsThatDriftAreNoticed(t *testing.T) {
	src := func(name, fields string) string { return "package p\ntype " + name + " struct {\n" + fields + "\n}\n" }
	host := src("HostClient", "// Name is a name. It is short.\nName string")
	for _, tc := range []struct{ name, fields, want string }{
		{"equal", "// Name is a name. It is long.\nName string", ""},
		{"a field of its own", "// Name is a name.\nName string\n// Own is new.\nOwn int", ""},
		{"another name", "// Names is a name.\nNames string", "a HostClient has no such field"},
		{"another type", "// Name is a name.\nName []byte", "the types are []byte and string"},
		{"another tag", "// Name is a name.\nName string `json:\"name\"`", "the tags are"},
		{"another first sentence", "// Name is an alias. It is short.\nName string", "the documentation begins with"},
		{"no documentation", "Name string", "the documentation begins with"},
		{"a mark", "// Name is a name.\n//\n// Deprecated: use Own.\nName string", "only one of them is deprecated"},
		{"a reference", "// Name is a name. See [HostClient.Name].\nName string", "is documented elsewhere"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := drifts(declaredFields(t, src("Client", tc.fields), "Client"), declaredFields(t, host, "HostClient"), []string{"Own"}, nil)
			if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
