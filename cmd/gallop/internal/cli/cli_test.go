package cli

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop/internal/serve"
)

var update = flag.Bool("update", false, "write what is printed to testdata")

// printed runs a command line and returns its two outputs and what it exits with.
func printed(args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = Main(args, Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
	return out.String(), errs.String(), status
}

func TestHelp(t *testing.T) {
	for golden, lines := range map[string][]string{
		"help.txt":         {"", "help", "--help", "-h", "help help", "help --help"},
		"help-serve.txt":   {"help serve", "serve --help", "serve -h", "serve dir --echo --help"},
		"help-version.txt": {"help version", "version --help"},
	} {
		file := filepath.Join("testdata", golden)
		for _, line := range lines {
			stdout, stderr, status := printed(strings.Fields(line)...)
			if stderr != "" || status != 0 {
				t.Errorf("gallop %s: status %d, %q", line, status, stderr)
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
				t.Errorf("gallop %s:\n%s\nis not %s; run go test with -update if it should be", line, stdout, file)
			}
			for _, l := range strings.Split(stdout, "\n") {
				if len(l) > 100 {
					t.Errorf("gallop %s: too wide: %s", line, l)
				}
			}
		}
	}
}

func TestEveryCommandHasExamples(t *testing.T) {
	for _, c := range commands() {
		if len(c.examples) == 0 || c.short == "" || strings.HasSuffix(c.short, ".") {
			t.Errorf("%s lacks examples or a short text without a full stop", c.name)
		}
	}
}

func TestMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ line, wrong, next string }{
		{"serv", `there is no command "serv"`, `Did you mean "serve"?`},
		{"xyzzy", `there is no command "xyzzy"`, `Run "gallop help"`},
		{"help xyzzy", `there is no command "xyzzy"`, `Run "gallop help"`},
		{"serve --adr :80", "there is no flag --adr for serve", "Did you mean --addr?"},
		{"serve -xyzzy", "there is no flag --xyzzy for serve", `Run "gallop help serve"`},
		{"serve --addr", "--addr needs a value", `Run "gallop help serve"`},
		{"serve --grace soon", `--grace: is a time such as 30s, 1m30s or 500ms, not "soon"`, `Run "gallop help serve"`},
		{"serve --grace -1s", "--grace: is a time", ""},
		{"serve --max-body 4x", `--max-body: is a size below 2 GiB such as 500k, 4MiB or 1G, not "4x"`, ""},
		{"serve --max-body 0", "--max-body: is a size", ""},
		{"serve --max-body 2GiB", `--max-body: is a size below 2 GiB such as 500k, 4MiB or 1G, not "2GiB"`, ""},
		{"serve --log xml", `--log: is one of text, json, off, not "xml"`, ""},
		{"serve --echo=perhaps", "--echo is on or off", ""},
		{"serve a b", `"b" is a second one`, "run gallop once for each"},
		{"serve -- --echo", `there is no directory "--echo"`, ""},
		{"serve nowhere", `there is no directory "nowhere"`, "Check the spelling"},
		{"serve " + file, "is a file", "the directory that it is in"},
		{"serve --tls-cert x", "--tls-cert and --tls-key need each other", "Give both"},
		{"version 2", `version takes no argument, not "2"`, ""},
	} {
		stdout, stderr, status := printed(strings.Fields(tc.line)...)
		if status != exitUsage || stdout != "" {
			t.Errorf("gallop %s: status %d, %q", tc.line, status, stdout)
		}
		if lines := strings.Count(stderr, "\n"); lines != 2 {
			t.Errorf("gallop %s: %d lines, want what was wrong and what to do:\n%s", tc.line, lines, stderr)
		}
		if !strings.HasPrefix(stderr, "gallop: ") || !strings.Contains(stderr, tc.wrong) || !strings.Contains(stderr, tc.next) {
			t.Errorf("gallop %s: got\n%swant %q and %q", tc.line, stderr, tc.wrong, tc.next)
		}
	}
}

// Without an address it would listen on any port, for everybody.
func TestAddressIsGiven(t *testing.T) {
	for _, echo := range []bool{false, true} {
		var usage *usageError
		if err := checkServe(&serve.Config{Dir: ".", EchoAll: echo}, nil); !errors.As(err, &usage) {
			t.Errorf("echo %v: %v", echo, err)
		}
		if err := checkServe(&serve.Config{Dir: ".", EchoAll: echo, Addr: ":0"}, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"serve --addr 127.0.0.1:99999", "cannot listen on 127.0.0.1:99999"},
		{"serve --addr nonsense", "Choose another address with --addr"},
		{"serve --tls-cert cli.go --tls-key cli.go", "cannot use the certificate"},
	} {
		_, stderr, status := printed(strings.Fields(tc.line)...)
		if status != exitFailed || !strings.Contains(stderr, tc.want) {
			t.Errorf("gallop %s: status %d, %q", tc.line, status, stderr)
		}
	}
}

func TestAddress(t *testing.T) {
	for given, want := range map[string]string{"8080": ":8080", ":8080": ":8080", "localhost:1": "localhost:1", "[::1]:0": "[::1]:0", "70000": "70000"} {
		if got := address(given); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, line := range []string{"version", "--version", "-v"} {
		stdout, _, status := printed(line)
		if f := strings.Fields(stdout); status != 0 || len(f) != 4 || f[0] != "gallop" || !strings.HasPrefix(f[2], "go1.") {
			t.Errorf("%s: %q", line, stdout)
		}
	}
}

func TestUnits(t *testing.T) {
	for s, want := range map[string]int{
		"1": 1, "1500": 1500, "1k": 1000, "1K": 1000, "1kB": 1000, "4Ki": 4096, "4KiB": 4096, "4 MiB": 4 << 20,
		"1.5M": 1_500_000, "1g": 1e9, "1GiB": 1 << 30, "0.5KiB": 512,
	} {
		var f sizeFlag
		if err := f.Set(s); err != nil || int(f) != want {
			t.Errorf("%s is %d, %v, want %d", s, f, err, want)
		}
		if again := sizeFlag(0); again.Set(f.String()) != nil || again != f {
			t.Errorf("%s is shown as %s", s, f.String())
		}
	}
	for s, want := range map[string]time.Duration{"30s": 30 * time.Second, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "2": 2 * time.Second, "0.5": 500 * time.Millisecond} {
		var f durationFlag
		if err := f.Set(s); err != nil || time.Duration(f) != want {
			t.Errorf("%s is %v, %v", s, time.Duration(f), err)
		}
		if again := durationFlag(0); again.Set(f.String()) != nil || again != f {
			t.Errorf("%s is shown as %s", s, f.String())
		}
	}
}

func TestFlagsMayFollowArguments(t *testing.T) {
	var echo boolFlag
	var addr stringFlag
	c := &command{name: "x", flags: []option{{"echo", "", "", &echo}, {"addr", "A", "", &addr}}}
	rest, err := c.parse([]string{"dir", "--echo", "-addr=:1", "more", "--", "--echo", "-x"})
	if got := strings.Join(rest, " "); err != nil || got != "dir more --echo -x" || !bool(echo) || addr != ":1" {
		t.Errorf("%q, %v, %v, %q", got, err, echo, addr)
	}
}
