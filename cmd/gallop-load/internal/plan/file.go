package plan

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// File is a scenario file, or the flags of a command line. Zero values are not set. Names of keys are those of the flags.
type File struct {
	Name       string `yaml:"name"`
	Target     string `yaml:"target"` // URL; its path is that of a request without one
	Shape      `yaml:",inline"`
	Request    `yaml:",inline"`
	Connection `yaml:",inline"`
	Content    `yaml:",inline"`

	Scenarios  Scenarios  `yaml:"scenarios"`
	Thresholds Thresholds `yaml:"thresholds"`
	Vars       Pairs      `yaml:"vars"` // variables for templates

	AbortOnFail    bool     `yaml:"abort-on-fail"`    // any threshold that is violated ends the run
	DelayAbortEval Duration `yaml:"delay-abort-eval"` // how long violations cannot end the run
	WarmUp         Duration `yaml:"warm-up"`
	ServerPID      Count    `yaml:"server-pid"`
	Seed           Count    `yaml:"seed"`
	Engine         string   `yaml:"engine"`

	dir string // of the file, for the files that it names
}

// Shape is how a scenario starts iterations.
type Shape struct {
	Executor     string   `yaml:"executor"`
	VUs          Count    `yaml:"vus"`
	MaxVUs       Count    `yaml:"max-vus"`
	Iterations   Count    `yaml:"iterations"`
	Duration     Duration `yaml:"duration"`
	Rate         Rate     `yaml:"rate"`
	TimeUnit     Duration `yaml:"time-unit"`
	Stages       Stages   `yaml:"stages"`
	Arrivals     string   `yaml:"arrivals"`
	StartTime    Duration `yaml:"start-time"`
	GracefulStop Duration `yaml:"graceful-stop"`
}

// Request is a request. On the level of a file or of a scenario, it has defaults for all requests below.
type Request struct {
	Method   string   `yaml:"method"`
	URL      string   `yaml:"url"` // path, or a whole URL
	Headers  Pairs    `yaml:"headers"`
	Body     Body     `yaml:"body"`
	BodyFile string   `yaml:"body-file"`
	Expect   Strings  `yaml:"expect"`
	Checks   Strings  `yaml:"checks"`
	Pause    Span     `yaml:"pause"`
	Timeout  Duration `yaml:"timeout"`
	Tags     Pairs    `yaml:"tags"`
}

// Content is what the iterations of a scenario consist of: one of requests, or all steps in order.
type Content struct {
	Requests []Item   `yaml:"requests"`
	Steps    []Item   `yaml:"steps"`
	Data     DataFile `yaml:"data"`
	Cookies  bool     `yaml:"cookies"`
}

// Item is a request of a scenario, or a sequence of requests.
type Item struct {
	Name    string `yaml:"name"`
	Request `yaml:",inline"`
	Weight  Rate   `yaml:"weight"`
	Capture Pairs  `yaml:"capture"`
	Steps   []Item `yaml:"steps"`
}

// Scenario is one of several scenarios.
type Scenario struct {
	Name    string `yaml:"-"`
	Shape   `yaml:",inline"`
	Request `yaml:",inline"`
	Content `yaml:",inline"`
}

// Scenarios are scenarios in the order of the file.
type Scenarios []*Scenario

func (s *Scenarios) UnmarshalYAML(n ast.Node) error {
	all, err := entries(n)
	for _, e := range all {
		one := &Scenario{}
		if one.Name, err = key(e); err != nil {
			return err
		}
		if _, null := e.Value.(*ast.NullNode); !null {
			if err := yaml.NodeToValue(e.Value, one, yaml.Strict()); err != nil {
				return explained(err)
			}
		}
		*s = append(*s, one)
	}
	return err
}

// Connection is how connections are made.
type Connection struct {
	Proto       string   `yaml:"proto"`
	Conns       Count    `yaml:"conns"`
	Streams     Count    `yaml:"streams"`
	Pipeline    Count    `yaml:"pipeline"`
	PerConn     Count    `yaml:"per-conn"`
	Hold        Count    `yaml:"hold"`
	Unix        string   `yaml:"unix"`
	ConnectTo   string   `yaml:"connect-to"`
	Resolve     string   `yaml:"resolve"`
	Local       Strings  `yaml:"local"`
	Insecure    bool     `yaml:"insecure"`
	Cert        string   `yaml:"cert"`
	Key         string   `yaml:"key"`
	CA          string   `yaml:"ca"`
	ServerName  string   `yaml:"server-name"`
	Proxy       string   `yaml:"proxy"`
	Redirects   Count    `yaml:"redirects"`
	DialTimeout Duration `yaml:"dial-timeout"`
	Threads     Count    `yaml:"threads"`
	Grain       Duration `yaml:"grain"`
}

// ReadFile reads a scenario file.
func ReadFile(name string) (*File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.dir = dirOf(name)
	return f, nil
}

// maxFile bounds the size of scenario files, because aliases multiply what is read.
const maxFile = 4 << 20

// Parse parses a scenario file in YAML, of which JSON is a part. Unknown keys are errors.
func Parse(data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("a scenario file has at most %d bytes; put data into data files", maxFile)
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, explained(err)
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return nil, errors.New("a scenario file is one YAML document with names and values")
	}
	root := tree.Docs[0].Body
	if _, err := entries(root); err != nil {
		return nil, err
	}
	if anchored(root) {
		return nil, errors.New("anchors and aliases are not supported")
	}
	rename(root)
	f := &File{}
	if err := yaml.NodeToValue(root, f, yaml.Strict()); err != nil {
		return nil, explained(err)
	}
	return f, nil
}

// anchors looks for anchors and aliases.
type anchors struct{ found bool }

func (a *anchors) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		a.found = true
	}
	return a
}

func anchored(n ast.Node) bool {
	var a anchors
	ast.Walk(&a, n)
	return a.found
}

// explained returns an error of the YAML library as one line, with the line of the file.
func explained(err error) error {
	var unknown *yaml.UnknownFieldError
	var known *lineError
	var y yaml.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &unknown):
		line, name := unknown.Token.Position.Line, unknown.Token.Value
		return &lineError{line, fmt.Errorf("unknown key %q%s", name, suggestion(name))}
	case errors.As(err, &y) && y.GetToken() != nil:
		return &lineError{y.GetToken().Position.Line, errors.New(y.GetMessage())}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(first)
}

// Override replaces the values of f by those that flags have set.
func (f *File) Override(flags *File) {
	override(reflect.ValueOf(f).Elem(), reflect.ValueOf(flags).Elem())
}

func override(to, from reflect.Value) {
	for i := range to.NumField() {
		field := to.Type().Field(i)
		switch {
		case field.Anonymous:
			override(to.Field(i), from.Field(i))
		case field.IsExported() && !from.Field(i).IsZero():
			to.Field(i).Set(from.Field(i))
		}
	}
}

// keys returns the names of the keys of a struct.
func keys(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			names = append(names, keys(field.Type)...)
		} else if name, ok := field.Tag.Lookup("yaml"); ok && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Keys returns the names of the keys on the level of a file.
func Keys() []string { return keys(reflect.TypeFor[File]()) }

// override replaces the values of a shape by those that are set in another one.
func (s *Shape) override(by *Shape) {
	override(reflect.ValueOf(s).Elem(), reflect.ValueOf(by).Elem())
}
