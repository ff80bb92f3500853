package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
)

var update = flag.Bool("update", false, "write what is printed to testdata")

// printed runs a command line and returns its standard output, its standard error and its exit status.
func printed(args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = Main(args, commandline.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
	return out.String(), errs.String(), status
}

func TestHelp(t *testing.T) {
	for golden, lines := range map[string][]string{
		"help.txt":         {"", "help", "--help", "-h", "help help", "help --help"},
		"help-load.txt":    {"help load", "load --help", "-c 3 --help", "http://x -h"},
		"help-run.txt":     {"help run", "run -h", "run x.yml --help"},
		"help-merge.txt":   {"help merge", "merge --help"},
		"help-compare.txt": {"help compare", "compare -h"},
		"help-version.txt": {"help version", "version --help"},
	} {
		file := filepath.Join("testdata", golden)
		for _, line := range lines {
			stdout, stderr, status := printed(strings.Fields(line)...)
			if stderr != "" || status != 0 {
				t.Errorf("gallop-load %s: status %d, %q", line, status, stderr)
			}
			if *update {
				if err := os.WriteFile(file, []byte(stdout), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if stdout != string(want) {
				t.Errorf("gallop-load %s:\n%s\nis not %s; run go test with -update if it should be", line, stdout, file)
			}
			for l := range strings.Lines(stdout) {
				if len(l) > 100 {
					t.Errorf("gallop-load %s: too wide: %s", line, l)
				}
			}
		}
	}
}

func TestEveryCommandHasExamples(t *testing.T) {
	for _, c := range program.Commands() {
		if len(c.Examples) == 0 || c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s lacks examples or a short text without a full stop", c.Name)
		}
	}
}

// TestFlagsAndKeysHaveTheSameNames compares the flags of a load with the keys of scenario files.
func TestFlagsAndKeysHaveTheSameNames(t *testing.T) {
	onlyFlags := []string{"from-curl", "output", "summary", "repeat", "versus", "prometheus", "plain", "quiet"}
	onlyKeys := []string{"name", "target", "url", "body-file", "requests", "steps", "scenarios", "tags", "start-time"}
	plural := map[string]string{"header": "headers", "check": "checks", "stage": "stages", "threshold": "thresholds", "var": "vars"}
	keys := plan.Keys()
	for _, o := range newSettings().flags() {
		name := o.Name
		if p := plural[name]; p != "" {
			name = p
		}
		if i := slices.Index(keys, name); i >= 0 {
			keys = slices.Delete(keys, i, i+1)
		} else if !slices.Contains(onlyFlags, name) {
			t.Errorf("the flag --%s is no key of scenario files", o.Name)
		}
	}
	for _, k := range keys {
		if !slices.Contains(onlyKeys, k) {
			t.Errorf("the key %s of scenario files is no flag", k)
		}
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yml")
	if err := os.WriteFile(bad, []byte("target: http://127.0.0.1:1\nvuss: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text.json")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"rnu", "x.yml"}, "\"rnu\" is neither a command nor a URL\nDid you mean \"run\"?"},
		{[]string{"xyzzy"}, "Run \"gallop-load help\""},
		{[]string{"help", "xyzzy"}, "neither a command"},
		{[]string{"--vu", "3", "http://x"}, "load has no flag --vu\nDid you mean --vus?"},
		{[]string{"http://x", "-c"}, "-c needs a value: -c N"},
		{[]string{"-d", "soon", "http://x"}, "-d must be a duration such as 30s, 1m30s or 500ms, not \"soon\""},
		{[]string{"-c", "many", "http://x"}, "-c must be a whole number"},
		{[]string{"--threshold", "latency:p(95)", "http://x"}, "--threshold is wrong: threshold latency"},
		{[]string{"--stage", "30s", "http://x"}, "--stage must be stages"},
		{[]string{"-H", "nothing", "http://x"}, "-H must be NAME:VALUE"},
		{[]string{"-b", "@missing", "http://x"}, "-b names a file that cannot be read"},
		{[]string{"--summary", "long", "http://x"}, "--summary must be one of full, compact, off"},
		{[]string{"--repeat", "0", "http://x"}, "--repeat must be a whole number from 1 on"},
		{[]string{"-o", "xml", "http://x"}, "-o must be json"},
		{[]string{"-o", "json", "-o", "text", "http://127.0.0.1:1"}, "only one format can go to standard output"},
		{[]string{"-o", "json=/no/such/dir/x", "http://127.0.0.1:1"}, "there is no directory \"/no/such/dir\""},
		{[]string{"http://a", "http://b"}, "\"http://b\" is a second one"},
		{[]string{"-c", "3"}, "there is no URL"},
		{[]string{"--from-curl", "curl", ""}, "--from-curl: the command has no URL"},
		{[]string{"ftp://x"}, "begins with http:// or https://"},
		{[]string{"--check", "1 +", "http://x"}, "check \"1 +\""},
		{[]string{"--engine", "raw", "--proxy", "http://p:1", "http://x"}, "the engine raw cannot run this, because there is a proxy"},
		{[]string{"--engine", "client", "--pipeline", "4", "http://127.0.0.1:1"}, "pipeline, per-conn, streams and threads need the engine raw"},
		{[]string{"run"}, "there is no scenario file"},
		{[]string{"run", "a", "b", "c"}, "\"c\" is a third argument"},
		{[]string{"run", "missing.yml"}, "open missing.yml"},
		{[]string{"missing.yml"}, "open missing.yml"},
		{[]string{"run", bad}, "bad.yml: line 2: unknown key \"vuss\"; did you mean vus?"},
		{[]string{"merge"}, "there is no result to merge"},
		{[]string{"merge", text}, "text.json: report: result 1 of the file"},
		{[]string{"compare"}, "there is no result to compare"},
		{[]string{"compare", "a"}, "open a: no such file"},
		{[]string{"version", "2"}, "version takes no arguments"},
	} {
		stdout, stderr, status := printed(tc.args...)
		if status != exitInvalid || stdout != "" || !strings.HasPrefix(stderr, "gallop-load: ") || !strings.Contains(stderr, tc.want) {
			t.Errorf("gallop-load %s: status %d, %q\n%swant %q", strings.Join(tc.args, " "), status, stdout, stderr, tc.want)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, line := range []string{"version", "--version", "-v"} {
		stdout, _, status := printed(line)
		if f := strings.Fields(stdout); status != 0 || len(f) != 4 || f[0] != "gallop-load" || !strings.HasPrefix(f[2], "go1.") {
			t.Errorf("%s: %q", line, stdout)
		}
	}
}

// TestExamples builds the scenario files in examples.
func TestExamples(t *testing.T) {
	files, _ := filepath.Glob("../../examples/*.yml")
	if len(files) == 0 {
		t.Fatal("there are no examples")
	}
	for _, file := range files {
		f, err := plan.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := f.Build(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
