package plan

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// spellings are other names of keys: those of k6, and the names of flags that may be given several times.
var spellings = map[string]string{
	"preAllocatedVUs": "vus", "startVUs": "vus", "maxVUs": "max-vus", "startRate": "rate", "timeUnit": "time-unit", "maxDuration": "duration",
	"startTime": "start-time", "gracefulStop": "graceful-stop", "gracefulRampDown": "graceful-stop", "grace": "graceful-stop",
	"abortOnFail": "abort-on-fail", "delayAbortEval": "delay-abort-eval", "bodyFile": "body-file", "warmUp": "warm-up",
	"header": "headers", "check": "checks", "tag": "tags", "stage": "stages", "threshold": "thresholds", "path": "url", "captures": "capture", "var": "vars",
}

// rename replaces other spellings of the keys of a file, its scenarios and their requests.
func rename(n ast.Node) {
	all, err := entries(n)
	if err != nil {
		return
	}
	for _, e := range all {
		k, ok := e.Key.(*ast.StringNode)
		if !ok {
			continue
		}
		if name := spellings[k.Value]; name != "" {
			k.Value, k.Token.Value = name, name
		}
		switch k.Value {
		case "requests", "steps":
			for _, item := range items(e.Value) {
				rename(item)
			}
		case "scenarios":
			scenarios, _ := entries(e.Value)
			for _, s := range scenarios {
				rename(s.Value)
			}
		}
	}
}

// suggestion returns which key may have been meant.
func suggestion(name string) string {
	known := slices.Concat(Keys(), keys(reflect.TypeFor[Item]()))
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	for _, k := range known {
		if a, b := plain(name), plain(k); a == b || a+"s" == b || a == b+"s" || len(a) > 2 && oneOff(a, b) {
			return "; did you mean " + k + "?"
		}
	}
	return ""
}

// oneOff reports whether two words differ by one letter that is missing, added, replaced or swapped with its neighbour.
func oneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(b)-len(a) > 1:
		return false
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i >= len(a) || a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func dirOf(file string) string { return filepath.Dir(file) }
